/** What the repair is about at this moment, and what the process that answers has mended. */
import { Anchor, Box, Stack, Table, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { useRepairs } from '../../api/admin.ts';
import type { Repairs } from '../../api/admin.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin.ts';
import { Fact, Facts } from '../tasks/section.tsx';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { repairs: words } = texts;
const COUNTS = ['settled', 'timedOut', 'restarted', 'callbacks'] as const;

export function RepairsSection() {
  return (
    <PartState title={words.title} read={useRepairs()}>
      {({ overdue, restarted, done }) => (
        <Stack gap="lg">
          <Tasks title={words.overdue} none={words.overdueNone} tasks={overdue} />
          <Tasks title={words.restarted} none={words.restartedNone} tasks={restarted} />
          <Box maw="28rem">
            <Title order={3} size="h6" mb={4}>
              {words.done}
            </Title>
            <Text size="sm" c="dimmed" mb="xs">
              {words.doneHint} ({words.doneSince} <Time seconds={done.since} />)
            </Text>
            <Facts>
              {COUNTS.map((count) => (
                <Fact key={count} name={words.counts[count]}>
                  {done[count].toLocaleString('en')}
                </Fact>
              ))}
            </Facts>
          </Box>
        </Stack>
      )}
    </PartState>
  );
}

function Tasks(props: { readonly title: string; readonly none: string; readonly tasks: Repairs['overdue'] }) {
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
          minWidth={720}
          columns={[
            { name: columns.task },
            { name: columns.account },
            { name: columns.model },
            { name: columns.status },
            { name: columns.at },
          ]}
        >
          {tasks.map(({ taskId, accountId, model, status, at }) => (
            <Table.Tr key={taskId}>
              <Table.Td>
                <Anchor component={Link} href={`/service/tasks/${taskId}`} size="sm" ff="monospace">
                  {taskId}
                </Anchor>
              </Table.Td>
              <Table.Td>
                <Anchor component={Link} href={`/accounts/${accountId}`} size="sm" ff="monospace">
                  {accountId}
                </Anchor>
              </Table.Td>
              <Table.Td>{model}</Table.Td>
              <Table.Td>
                <StatusBadge status={status} />
              </Table.Td>
              <Table.Td>
                <Time seconds={at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Box>
  );
}
