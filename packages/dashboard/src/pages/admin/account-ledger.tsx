/** The ledger entries of an account. */
import { Anchor, Code, Group, Stack, Table, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { Link } from 'wouter';
import { useLedger } from '../../api/admin.ts';
import { formatUsd } from '../../components/money.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin.ts';
import { Section } from '../tasks/section.tsx';
import { DataTable } from './data-table.tsx';

const { ledger: words } = texts;

export function AccountLedger({ accountId }: { readonly accountId: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useLedger(accountId);
  if (data === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const entries = data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <EmptyState title={words.none}>{words.noneHint}</EmptyState>;
  const { columns } = words;
  return (
    <Section title={words.title}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {words.about}
        </Text>
        <DataTable
          label={words.label}
          isUnbroken
          minWidth={760}
          columns={[
            { name: columns.at },
            { name: columns.kind },
            { name: columns.reference },
            { name: columns.change, isNumber: true },
            { name: columns.available, isNumber: true },
            { name: columns.after, isNumber: true },
          ]}
        >
          {entries.map((entry) => (
            <Table.Tr key={entry.id}>
              <Table.Td>
                <Time seconds={entry.at} />
              </Table.Td>
              <Table.Td>{words.kinds[entry.kind]}</Table.Td>
              <Table.Td>
                <Reference reference={entry.reference} />
              </Table.Td>
              <Table.Td ta="end">{changeOf(entry.balanceChange)}</Table.Td>
              <Table.Td ta="end">{changeOf(entry.availableChange)}</Table.Td>
              <Table.Td ta="end">{formatUsd(entry.available)}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
        {hasNextPage ? (
          <Group>
            <BusyButton variant="default" size="xs" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              {words.more}
            </BusyButton>
          </Group>
        ) : null}
      </Stack>
    </Section>
  );
}

function Reference({ reference }: { readonly reference: string }) {
  if (!reference.startsWith('tk-svc-')) return <Code>{reference}</Code>;
  return (
    <Anchor component={Link} href={`/service/tasks/${reference}`} size="sm" ff="monospace">
      {reference}
    </Anchor>
  );
}

/** A change of zero is shown in muted text. */
function changeOf(amount: string): string {
  if (amount === '0') return '–';
  return amount.startsWith('-') ? formatUsd(amount) : `+${formatUsd(amount)}`;
}
