/** All accounts, with a search by name or id, and a button to create one. */
import { Anchor, Badge, Button, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useDebouncedValue } from '@mantine/hooks';
import { IconPlus, IconSearch, IconUsers } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useAccounts } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { Amount } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin.ts';
import { CreateAccountDialog } from './create-account-dialog.tsx';
import { DataTable } from './data-table.tsx';

const { accounts: words } = texts;
const SEARCH_AFTER_MS = 250;

export function AccountsPage() {
  const [search, setSearch] = useState('');
  const [searched] = useDebouncedValue(search.trim(), SEARCH_AFTER_MS);
  const [isCreating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {words.create}
    </Button>
  );
  return (
    <>
      <PageHeader title={words.title} actions={create}>
        {words.about}
      </PageHeader>
      <TextInput
        type="search"
        label={words.search}
        description={words.searchHint}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        maxLength={100}
        maw="28rem"
        mb="md"
      />
      <AccountList search={searched} />
      {isCreating ? <CreateAccountDialog onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function AccountList({ search }: { readonly search: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useAccounts(search);
  if (data === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const accounts = data.pages.flatMap((page) => page.accounts);
  if (accounts.length === 0) {
    return (
      <EmptyState icon={<IconUsers size={32} aria-hidden />} title={search === '' ? words.none : words.noMatch}>
        {search === '' ? words.noneHint : words.noMatchHint}
      </EmptyState>
    );
  }
  const { columns } = words;
  return (
    <Stack gap="sm">
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      <DataTable
        label={words.list}
        minWidth={720}
        columns={[
          { name: columns.name },
          { name: columns.status },
          { name: columns.available, isNumber: true },
          { name: columns.held, isNumber: true },
          { name: columns.tasks },
          { name: columns.created },
        ]}
      >
        {accounts.map((account) => (
          <AccountRow key={account.accountId} account={account} />
        ))}
      </DataTable>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {words.shown(accounts.length)}
        </Text>
        {hasNextPage ? (
          <BusyButton variant="default" size="xs" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {words.more}
          </BusyButton>
        ) : null}
      </Group>
    </Stack>
  );
}

function AccountRow({ account }: { readonly account: Account }) {
  const { accountId, name, available, held, usage, created, suspensionReason } = account;
  return (
    <Table.Tr>
      <Table.Td miw={180}>
        <Anchor component={Link} href={`/accounts/${accountId}`} fw={500}>
          {name}
        </Anchor>
        <Text size="xs" c="dimmed" ff="monospace" style={{ whiteSpace: 'nowrap' }}>
          {accountId}
        </Text>
      </Table.Td>
      <Table.Td>
        <AccountBadge account={account} />
        {suspensionReason === undefined ? null : (
          <Text size="xs" maw={240} lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
            {suspensionReason}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="end">
        <Amount of={available} />
      </Table.Td>
      <Table.Td ta="end">
        <Amount of={held} />
      </Table.Td>
      <Table.Td>{words.tasks(usage.runningTasks, usage.queuedTasks)}</Table.Td>
      <Table.Td>
        <Time seconds={created} />
      </Table.Td>
    </Table.Tr>
  );
}

export function AccountBadge({ account: { status } }: { readonly account: Account }) {
  return (
    <Badge variant="light" tt="none" color={status === 'active' ? 'teal' : 'red'}>
      {texts.account.status[status]}
    </Badge>
  );
}
