/**
 * What the account spent, summed by day, and its books: by cursor, newest first. Both only for keys that may read them.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { LedgerKind } from '../../../src/billing/ledger-list.ts';
import type { LedgerEntrySchema, WireLedger } from '../../../src/wire/ledger.ts';
import type { UsageSchema } from '../../../src/wire/usage.ts';
import { ACCOUNT_QUERY } from './account.ts';
import { ApiError, api } from './api.ts';

export type Usage = Static<typeof UsageSchema>;
export type LedgerEntry = Static<typeof LedgerEntrySchema>;

/** The schema's "minimum: 1, maximum: 100". */
const EXPORT_PAGE_SIZE = 100;
const PAGE_SIZE = 50;
const SUMS_EVERY_MS = 60_000;
/** Where a refusal for too many requests does not say how long to wait. */
const WAIT_SECONDS = 10;

const USAGE_QUERY = ['usage'] as const;
const LEDGER_QUERY = ['ledger'] as const;

/** UTC days, `2026-11-22`; no last one: today. */
export interface Period {
  readonly from: string;
  readonly to?: string | undefined;
}

export interface LedgerFilter {
  readonly kind?: LedgerKind | undefined;
  readonly keyId?: string | undefined;
  readonly reference?: string | undefined;
  /** Undefined: whenever it was. */
  readonly period?: Period | undefined;
}

/** Sums by day and model, or by day and key. */
export function useUsage({ from, to }: Period, by: 'model' | 'key') {
  return useQuery({
    queryKey: [...USAGE_QUERY, from, to, by],
    queryFn: ({ signal }) =>
      api.call<Usage>('GET', '/v1/account/usage', {
        query: { from, to, groupBy: by === 'model' ? 'day,model' : 'day,keyId' },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: SUMS_EVERY_MS,
  });
}

/** The books, as far as they have been read. */
export function useLedger(filter: LedgerFilter) {
  return useInfiniteQuery({
    queryKey: [...LEDGER_QUERY, filter],
    queryFn: ({ pageParam, signal }) => readPage(filter, PAGE_SIZE, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    // Reading again reads every page again: that is for whoever asks for it.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** Reads everything of this page again. */
export function useReadAgain(): () => void {
  const client = useQueryClient();
  return () => {
    for (const queryKey of [ACCOUNT_QUERY, USAGE_QUERY, LEDGER_QUERY]) void client.invalidateQueries({ queryKey });
  };
}

const DAY_SECONDS = 86_400;

function readPage(
  { kind, keyId, reference, period }: LedgerFilter,
  size: number,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<WireLedger> {
  return api.call<WireLedger>('GET', '/v1/account/ledger', {
    query: {
      size,
      cursor,
      kind,
      keyId,
      reference,
      from: period === undefined ? undefined : startOf(period.from),
      // What is booked on the last day counts too.
      to: period?.to === undefined ? undefined : startOf(period.to) + DAY_SECONDS,
    },
    signal,
  });
}

function startOf(day: string): number {
  return Date.parse(day) / 1000;
}

interface ReadingOptions {
  readonly signal: AbortSignal;
  /** Called when the limit of requests is reached and it has to wait. */
  readonly onWait: (seconds: number) => void;
}

/** Every page of the books. Waits where there are too many requests. @throws {ApiError} @throws {UnreachableError} */
export async function* readLedger(
  filter: LedgerFilter,
  { signal, onWait }: ReadingOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  let cursor: string | undefined;
  do {
    try {
      const page = await readPage(filter, EXPORT_PAGE_SIZE, cursor, signal);
      yield page.entries;
      cursor = page.nextCursor;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      const seconds = error.retryAfterSeconds ?? WAIT_SECONDS;
      onWait(seconds);
      await passed(seconds, signal);
      continue;
    }
    if (cursor === undefined) return;
  } while (!signal.aborted);
}

/** @throws what the signal was aborted with. */
function passed(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}
