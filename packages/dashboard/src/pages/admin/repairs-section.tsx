/** What the repair is working on now, and everything that it has done. */
import { Box, Stack, Table, Text, Title } from '@mantine/core';
import { useRepairSummary } from '../../api/admin.ts';
import type { RepairSummary } from '../../api/admin.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';
import { RepairsDone } from './repairs-done.tsx';
import { TaskCell } from './task-cell.tsx';

const { repairs: words } = texts;

export function RepairsSection() {
  return (
    <PartState title={words.title} read={useRepairSummary()}>
      {({ overdue, restarted, done }) => (
        <Stack gap="lg">
          <Tasks title={words.overdue} none={words.overdueNone} tasks={overdue} />
          <Tasks title={words.restarted} none={words.restartedNone} tasks={restarted} />
          <RepairsDone done={done} />
        </Stack>
      )}
    </PartState>
  );
}

function Tasks(props: { readonly title: string; readonly none: string; readonly tasks: RepairSummary['overdue'] }) {
  const { title, none, tasks } = props;
  const { columns } = words;
  return (
    <Box>
      <Title order={3} size="h6" mb="xs">
        {title}
      </Title>
      {tasks.length === 0 ? (
        <Text size="sm">{none}</Text>
      ) : (
        <DataTable
          label={title}
          minWidth={480}
          isUnbroken
          columns={[{ name: columns.at }, { name: columns.status }, { name: columns.task }]}
        >
          {tasks.map(({ taskId, accountId, model, status, at }) => (
            <Table.Tr key={taskId}>
              <Table.Td>
                <Time seconds={at} />
              </Table.Td>
              <Table.Td>
                <Box w="max-content">
                  <StatusBadge status={status} />
                </Box>
              </Table.Td>
              <Table.Td>
                <TaskCell taskId={taskId} accountId={accountId} model={model} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Box>
  );
}
