/** All repairs that were done, by any process: the number of each kind, and each one. */
import { Box, Group, NativeSelect, Stack, Table, Text, Title } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import { useRepairs } from '../../api/admin.ts';
import type { Repair, RepairKind, RepairSummary } from '../../api/admin.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { TaskCell } from './task-cell.tsx';

const { repairs: words } = texts;

/** @param done as counted by the summary. */
export function RepairsDone({ done }: Pick<RepairSummary, 'done'>) {
  const [kind, setKind] = useState<RepairKind>();
  const kinds = done.map((count) => ({ value: count.kind, label: words.kinds[count.kind] }));
  return (
    <Box>
      <Title order={3} size="h6">
        {words.done}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {words.doneHint}
      </Text>
      <Stack gap="md">
        <Counts done={done} />
        <NativeSelect
          label={words.kind}
          value={kind ?? ''}
          onChange={({ currentTarget: { value } }) => setKind(kinds.find((each) => each.value === value)?.value)}
          data={[{ value: '', label: words.allKinds }, ...kinds]}
          maw="20rem"
        />
        <Log kind={kind} />
      </Stack>
    </Box>
  );
}

function Counts({ done }: Pick<RepairSummary, 'done'>) {
  const { countColumns: columns } = words;
  return (
    <Box maw="36rem">
      <DataTable
        label={words.counts}
        minWidth={300}
        columns={[
          { name: columns.kind },
          { name: columns.day, isNumber: true },
          { name: columns.month, isNumber: true },
        ]}
      >
        {done.map(({ kind, day, month }) => (
          <Table.Tr key={kind}>
            <Table.Td>{words.kinds[kind]}</Table.Td>
            <Table.Td ta="end">{day.toLocaleString('en')}</Table.Td>
            <Table.Td ta="end">{month.toLocaleString('en')}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </Box>
  );
}

function Log({ kind }: { readonly kind: RepairKind | undefined }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useRepairs(kind);
  if (data === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const repairs = data.pages.flatMap((page) => page.repairs);
  const { logColumns: columns } = words;
  return (
    <Stack gap="sm">
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {repairs.length === 0 ? (
        <Text size="sm">{kind === undefined ? words.noneDone : words.noneOfKind}</Text>
      ) : (
        <DataTable
          label={words.log}
          minWidth={560}
          isUnbroken
          columns={[{ name: columns.at }, { name: columns.kind }, { name: columns.found }, { name: columns.task }]}
        >
          {repairs.map((repair) => (
            <Row key={repair.id} repair={repair} />
          ))}
        </DataTable>
      )}
      {hasNextPage ? (
        <Group>
          <BusyButton variant="default" size="xs" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {words.more}
          </BusyButton>
        </Group>
      ) : null}
    </Stack>
  );
}

function Row({ repair: { at, kind, found, taskId, accountId, model } }: { readonly repair: Repair }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Time seconds={at} />
      </Table.Td>
      <Table.Td>{words.kinds[kind]}</Table.Td>
      <Table.Td>
        {found === undefined ? (
          '–'
        ) : (
          <Box w="max-content">
            <StatusBadge status={found} />
          </Box>
        )}
      </Table.Td>
      <Table.Td>
        <TaskCell taskId={taskId} accountId={accountId} model={model} />
      </Table.Td>
    </Table.Tr>
  );
}
