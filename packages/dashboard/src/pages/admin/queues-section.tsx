/** Waiting and running tasks, by account, and the outbox pending for Temporal. */
import { Anchor, Badge, Box, Group, Stack, Table, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { useQueues } from '../../api/admin.ts';
import type { Queues } from '../../api/admin.ts';
import { formatSeconds } from '../../components/quantities.ts';
import { texts as accountTexts } from '../../texts/admin.ts';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { queues: words } = texts;

export function QueuesSection() {
  return (
    <PartState title={words.title} read={useQueues()}>
      {({ accounts, outbox }) => (
        <Stack gap="lg">
          <Box>
            <Title order={3} size="h6" mb="xs">
              {words.accounts}
            </Title>
            <AccountQueues accounts={accounts} />
          </Box>
          <Box>
            <Title order={3} size="h6" mb="xs">
              {words.outbox}
            </Title>
            <Outbox outbox={outbox} />
          </Box>
        </Stack>
      )}
    </PartState>
  );
}

function AccountQueues({ accounts }: { readonly accounts: Queues['accounts'] }) {
  if (accounts.length === 0) return <Text size="sm">{words.idle}</Text>;
  const { columns } = words;
  const of = (used: number, limit: number) =>
    accountTexts.account.ofLimit(used.toLocaleString('en'), limit.toLocaleString('en'));
  return (
    <DataTable
      label={words.accounts}
      minWidth={520}
      columns={[
        { name: columns.account },
        { name: columns.running, isNumber: true },
        { name: columns.queued, isNumber: true },
        { name: columns.oldest, isNumber: true },
      ]}
    >
      {accounts.map((account) => (
        <Table.Tr key={account.accountId}>
          <Table.Td>
            <Group gap={6}>
              <Anchor component={Link} href={`/accounts/${account.accountId}`} size="sm">
                {account.name}
              </Anchor>
              {account.isSuspended ? (
                <Badge variant="light" color="red" tt="none">
                  {words.suspended}
                </Badge>
              ) : null}
            </Group>
          </Table.Td>
          <Table.Td ta="end">{of(account.running, account.runningCap)}</Table.Td>
          <Table.Td ta="end">{of(account.queued, account.queueCap)}</Table.Td>
          <Table.Td ta="end">
            {account.oldestQueuedSeconds === null ? words.noneQueued : formatSeconds(account.oldestQueuedSeconds)}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function Outbox({ outbox }: { readonly outbox: Queues['outbox'] }) {
  if (outbox.length === 0) return <Text size="sm">{words.outboxIdle}</Text>;
  const { outboxColumns: columns } = words;
  return (
    <DataTable
      label={words.outbox}
      minWidth={420}
      columns={[
        { name: columns.kind },
        { name: columns.pending, isNumber: true },
        { name: columns.due, isNumber: true },
        { name: columns.oldest, isNumber: true },
      ]}
    >
      {outbox.map(({ kind, waiting, due, oldestDueSeconds }) => (
        <Table.Tr key={kind}>
          <Table.Td>{words.kinds[kind] ?? kind}</Table.Td>
          <Table.Td ta="end">{waiting.toLocaleString('en')}</Table.Td>
          <Table.Td ta="end">{due.toLocaleString('en')}</Table.Td>
          <Table.Td ta="end">{oldestDueSeconds === null ? words.noneDue : formatSeconds(oldestDueSeconds)}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
