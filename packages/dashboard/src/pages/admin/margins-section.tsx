/** What tasks and text calls cost the operator, and what is left of their price. */
import { Button, Group, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { WireMargins } from '@darkroom/api/admin/margins';
import { marginsCsv } from '@darkroom/api/facts/margins-csv';
import { useState } from 'react';
import { useMargins } from '../../api/admin.ts';
import { Amount } from '../../components/figures.tsx';
import { saveFile } from '../../components/save-file.ts';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { margins: words } = texts;
type Sums = WireMargins['total'];

export function MarginsSection() {
  const [days, setDays] = useState('30');
  const [groupBy, setGroupBy] = useState('model');
  return (
    <PartState title={words.title} read={useMargins(Number(days), groupBy)}>
      {(margins) => (
        <Stack gap="sm">
          <Group gap="sm" align="flex-end">
            <NativeSelect
              label={words.period}
              value={days}
              onChange={({ currentTarget }) => setDays(currentTarget.value)}
              data={words.periods.map(([value, label]) => ({ value, label }))}
            />
            <NativeSelect
              label={words.groupBy}
              value={groupBy}
              onChange={({ currentTarget }) => setGroupBy(currentTarget.value)}
              data={words.groups.map(([value, label]) => ({ value, label }))}
            />
            <Button
              variant="default"
              leftSection={<IconDownload size={16} aria-hidden />}
              disabled={margins.rows.length === 0}
              onClick={() => save(margins)}
            >
              {words.save}
            </Button>
          </Group>
          <Text size="sm" c="dimmed">
            {words.about(margins.from, margins.to)}
          </Text>
          {margins.rows.length === 0 ? <Text size="sm">{words.none}</Text> : <Report margins={margins} />}
        </Stack>
      )}
    </PartState>
  );
}

function save(margins: WireMargins): void {
  const content = new Blob([marginsCsv(margins)], { type: 'text/csv;charset=utf-8' });
  saveFile(content, words.fileName(margins.from, margins.to));
}

function Report({ margins: { groupBy, rows, total } }: { readonly margins: WireMargins }) {
  const { columns } = words;
  // While another sum is loading the previous one is shown, labelled as such.
  const shown = groupBy[0] ?? 'model';
  const numbers = ['tasks', 'textCalls', 'captured', 'cost', 'margin', 'below', 'unknown'] as const;
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {words.loss(rows.filter(isLoss).length)}
      </Text>
      <DataTable
        label={words.label}
        minWidth={720}
        columns={[{ name: columns[shown] }, ...numbers.map((name) => ({ name: columns[name], isNumber: true }))]}
      >
        {rows.map((row) => (
          <Table.Tr key={row[shown]}>
            <Table.Td>{row[shown]}</Table.Td>
            <Numbers sums={row} />
          </Table.Tr>
        ))}
        <Table.Tr fw={600}>
          <Table.Td>{words.total}</Table.Td>
          <Numbers sums={total} />
        </Table.Tr>
      </DataTable>
    </Stack>
  );
}

function Numbers({ sums }: { readonly sums: Sums }) {
  return (
    <>
      <Table.Td ta="end">{sums.tasks.toLocaleString('en')}</Table.Td>
      <Table.Td ta="end">{sums.textCalls.toLocaleString('en')}</Table.Td>
      <Table.Td ta="end">
        <Amount of={sums.captured} />
      </Table.Td>
      <Table.Td ta="end">
        <Known amount={sums.cost} />
      </Table.Td>
      <Table.Td ta="end" {...(isLoss(sums) ? { fw: 600 } : {})}>
        <Known amount={sums.margin} />
      </Table.Td>
      <Table.Td ta="end">{sums.tasksBelowCost.toLocaleString('en')}</Table.Td>
      <Table.Td ta="end">{sums.unknownTasks.toLocaleString('en')}</Table.Td>
    </>
  );
}

function Known({ amount }: { readonly amount: string | null }) {
  return amount === null ? words.unknownAmount : <Amount of={amount} />;
}

function isLoss({ margin }: Sums): boolean {
  return margin?.startsWith('-') === true;
}
