/** The ledger: date, purpose and amount of each entry. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { IconBook, IconFilterOff } from '@tabler/icons-react';
import { useMemo, useRef } from 'react';
import { useLedger } from '../../api/usage.ts';
import type { LedgerFilter, Period } from '../../api/usage.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/usage.ts';
import { Section } from '../tasks/section.tsx';
import { StaleContent } from './stale-content.tsx';
import { CsvExport } from './csv-export.tsx';
import { LedgerFilters, NO_FILTER, isNarrowed } from './ledger-filters.tsx';
import { LedgerTable } from './ledger-table.tsx';
import type { UsageView } from './usage-address.ts';

const { ledger: words } = texts;

interface LedgerProps {
  readonly period: Period;
  readonly view: UsageView;
  readonly onChange: (change: Partial<UsageView>) => void;
}

export function Ledger({ period, view, onChange }: LedgerProps) {
  const { kind, keyId, reference, isAlways } = view;
  const filter = useMemo<LedgerFilter>(
    () => ({ kind, keyId, reference, period: isAlways ? undefined : period }),
    [kind, keyId, reference, isAlways, period],
  );
  const { data, error, refetch, isPlaceholderData, isFetchNextPageError, ...next } = useLedger(filter);
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <Section title={words.title} actions={<CsvExport filter={filter} isDisabled={entries.length === 0} />}>
      <Stack gap="sm">
        <LedgerFilters view={view} onChange={onChange} />
        {error === null || isFetchNextPageError ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          error === null ? (
            <LoadingState />
          ) : null
        ) : (
          <StaleContent isStale={isPlaceholderData} words={words.loading}>
            {entries.length === 0 ? (
              <Nothing view={view} onChange={onChange} />
            ) : (
              <>
                <LedgerTable entries={entries} />
                <Older {...next} error={isFetchNextPageError ? error : null} shown={entries.length} />
              </>
            )}
          </StaleContent>
        )}
      </Stack>
    </Section>
  );
}

type OlderProps = Pick<
  ReturnType<typeof useLedger>,
  'error' | 'hasNextPage' | 'fetchNextPage' | 'isFetchingNextPage'
> & { readonly shown: number };

/**
 * The number of entries shown, and the button for more. If there are no more, the focus moves to the text that states
 * so.
 */
function Older({ error, shown, hasNextPage, fetchNextPage, isFetchingNextPage }: OlderProps) {
  const sum = useRef<HTMLParagraphElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const showMore = async (): Promise<void> => {
    const { hasNextPage: isMore } = await fetchNextPage();
    const { activeElement, body } = document;
    if (!isMore && (activeElement === button.current || activeElement === body)) sum.current?.focus();
  };
  return (
    <>
      {error === null || isFetchingNextPage ? null : <ErrorState error={error} />}
      <Group justify="space-between" mt="sm">
        <Text size="sm" role="status" ref={sum} tabIndex={-1}>
          {isFetchingNextPage ? words.moreLoading : words.shown(shown, !hasNextPage)}
        </Text>
        {hasNextPage ? (
          <BusyButton
            variant="default"
            size="xs"
            ref={button}
            isBusy={isFetchingNextPage}
            onClick={() => void showMore()}
          >
            {words.more}
          </BusyButton>
        ) : null}
      </Group>
    </>
  );
}

function Nothing({ view, onChange }: Pick<LedgerProps, 'view' | 'onChange'>) {
  if (!isNarrowed(view)) {
    return (
      <EmptyState
        icon={<IconBook size={32} aria-hidden />}
        title={view.isAlways ? words.noneEver : words.none}
        action={
          view.isAlways ? null : (
            <Button variant="default" onClick={() => onChange({ isAlways: true })}>
              {words.always}
            </Button>
          )
        }
      >
        {view.isAlways ? words.noneEverHint : words.noneHint}
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
