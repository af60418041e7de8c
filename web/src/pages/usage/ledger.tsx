/** The books: what was booked when, what for, and what it changed. */
import { Anchor, Badge, Button, Code, Group, Stack, Table, Text } from '@mantine/core';
import { IconBook, IconFilterOff } from '@tabler/icons-react';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useFilterChoices } from '../../api/filter-choices.ts';
import { useLedger } from '../../api/usage.ts';
import type { LedgerEntry, LedgerFilter, Period } from '../../api/usage.ts';
import { formatUsd } from '../../components/money.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/usage.ts';
import { DataTable } from '../admin/data-table.tsx';
import { Section } from '../tasks/section.tsx';
import { CsvExport } from './csv-export.tsx';
import { LedgerFilters, NO_FILTER, isNarrowed } from './ledger-filters.tsx';
import type { UsagePlace } from './usage-address.ts';

const { ledger: words } = texts;

interface LedgerProps {
  readonly period: Period;
  readonly place: UsagePlace;
  readonly onChange: (change: Partial<UsagePlace>) => void;
}

export function Ledger({ period, place, onChange }: LedgerProps) {
  const { kind, keyId, reference, isAlways } = place;
  const filter = useMemo<LedgerFilter>(
    () => ({ kind, keyId, reference, period: isAlways ? undefined : period }),
    [kind, keyId, reference, isAlways, period],
  );
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useLedger(filter);
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <Section title={words.title} actions={<CsvExport filter={filter} isDisabled={entries.length === 0} />}>
      <Stack gap="sm">
        <LedgerFilters place={place} onChange={onChange} />
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          error === null ? (
            <LoadingState />
          ) : null
        ) : entries.length === 0 ? (
          <Nothing place={place} onChange={onChange} />
        ) : (
          <>
            <Entries entries={entries} />
            <Group justify="space-between">
              <Text size="sm" role="status">
                {words.shown(entries.length, !hasNextPage)}
              </Text>
              {hasNextPage ? (
                <Button variant="default" size="xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  {words.more}
                </Button>
              ) : null}
            </Group>
          </>
        )}
      </Stack>
    </Section>
  );
}

function Nothing({ place, onChange }: Pick<LedgerProps, 'place' | 'onChange'>) {
  if (!isNarrowed(place)) {
    return (
      <EmptyState
        icon={<IconBook size={32} aria-hidden />}
        title={place.isAlways ? words.noneEver : words.none}
        action={
          place.isAlways ? null : (
            <Button variant="default" onClick={() => onChange({ isAlways: true })}>
              {words.always}
            </Button>
          )
        }
      >
        {place.isAlways ? words.noneEverHint : words.noneHint}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<IconFilterOff size={32} aria-hidden />}
      title={words.noneMatch}
      action={
        <Button variant="default" onClick={() => onChange(NO_FILTER)}>
          {words.clear}
        </Button>
      }
    >
      {words.noneMatchHint}
    </EmptyState>
  );
}

function Entries({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  const { keys } = useFilterChoices();
  const { columns } = words;
  return (
    <DataTable
      label={words.label}
      minWidth={900}
      columns={[
        { name: columns.at },
        { name: columns.kind },
        { name: columns.reference },
        { name: columns.by },
        { name: columns.available, isNumber: true },
        { name: columns.balance, isNumber: true },
        { name: columns.after, isNumber: true },
      ]}
    >
      {entries.map((entry) => (
        <Table.Tr key={entry.id}>
          <Table.Td>
            <Time seconds={entry.at} />
          </Table.Td>
          <Table.Td>
            {words.kinds[entry.kind]}
            {entry.isEstimated === true ? (
              <Badge variant="default" size="sm" tt="none" ml={6}>
                {words.estimated}
              </Badge>
            ) : null}
          </Table.Td>
          <Table.Td>
            <Reference reference={entry.reference} />
          </Table.Td>
          <Table.Td>
            <Text size="sm">{entry.model ?? '–'}</Text>
            {entry.keyId === null ? null : (
              <Text size="xs" c="dimmed">
                {keys.find(({ value }) => value === entry.keyId)?.label ?? entry.keyId}
              </Text>
            )}
          </Table.Td>
          <Table.Td ta="end">{changeOf(entry.availableChange)}</Table.Td>
          <Table.Td ta="end">{changeOf(entry.balanceChange)}</Table.Td>
          <Table.Td ta="end">{formatUsd(entry.available)}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function Reference({ reference }: { readonly reference: string }) {
  if (!reference.startsWith('tk-svc-')) return <Code>{reference}</Code>;
  return (
    <Anchor
      component={Link}
      href={`/tasks/${encodeURIComponent(reference)}`}
      size="xs"
      ff="monospace"
      c="inherit"
      underline="always"
    >
      {reference}
    </Anchor>
  );
}

/** A change of nothing says so quietly. */
function changeOf(amount: string): string {
  if (amount === '0') return '–';
  return amount.startsWith('-') ? formatUsd(amount) : `+${formatUsd(amount)}`;
}
