/** The charges of an account, summed. */
import { Group, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { useUsage } from '../../api/admin.ts';
import { Amount } from '../../components/figures.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/admin.ts';
import { Section } from '../tasks/section.tsx';
import { DataTable } from './data-table.tsx';

const { usage: words } = texts;
const GROUPS = ['day', 'model', 'keyId'] as const;

export function AccountUsage({ accountId }: { readonly accountId: string }) {
  const [days, setDays] = useState('30');
  const [chosen, setChosen] = useState<string>('day');
  const groupBy = GROUPS.find((each) => each === chosen) ?? 'day';
  const { data: usage, error, refetch } = useUsage(accountId, Number(days), groupBy);
  const choices = (
    <Group gap="sm">
      <NativeSelect
        label={words.period}
        value={days}
        onChange={({ currentTarget }) => setDays(currentTarget.value)}
        data={words.periods.map(([value, label]) => ({ value, label }))}
      />
      <NativeSelect
        label={words.groupBy}
        value={groupBy}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        data={words.groups.map(([value, label]) => ({ value, label }))}
      />
    </Group>
  );
  if (usage === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  // While another sum is loading the previous one is shown, labelled as such.
  const shown = usage.groupBy[0] ?? 'day';
  return (
    <Section title={words.title}>
      <Stack gap="sm">
        {choices}
        <Text size="sm" c="dimmed" role="status">
          {words.about(usage.from, usage.to)}
        </Text>
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
        {usage.rows.length === 0 ? (
          <EmptyState title={words.none}>{words.noneHint}</EmptyState>
        ) : (
          <DataTable
            label={words.label}
            minWidth={360}
            columns={[
              { name: words.columns[shown] },
              { name: words.columns.count, isNumber: true },
              { name: words.columns.captured, isNumber: true },
            ]}
          >
            {usage.rows.map((row) => (
              <Table.Tr key={row[shown] ?? ''}>
                <Table.Td>{row[shown] ?? words.storage}</Table.Td>
                <Table.Td ta="end">{row.count.toLocaleString('en')}</Table.Td>
                <Table.Td ta="end">
                  <Amount of={row.captured} />
                </Table.Td>
              </Table.Tr>
            ))}
            <Table.Tr fw={600}>
              <Table.Td>{words.total}</Table.Td>
              <Table.Td ta="end">{usage.total.count.toLocaleString('en')}</Table.Td>
              <Table.Td ta="end">
                <Amount of={usage.total.captured} />
              </Table.Td>
            </Table.Tr>
          </DataTable>
        )}
      </Stack>
    </Section>
  );
}
