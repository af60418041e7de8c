/**
 * The account's spending, summed by day, and its ledger: by cursor, newest first. Both only for keys that may read
 * them.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { LedgerKind } from '@darkroom/api/facts/ledger-kinds';
import type { LedgerEntrySchema, WireLedger } from '@darkroom/api/tasks/ledger';
import type { UsageSchema } from '@darkroom/api/tasks/usage';
import { ACCOUNT_QUERY } from './account.ts';
import { ApiError, api, isRetryable } from './api.ts';
import { retryDelayMs } from './query-client.ts';

export type Usage = Static<typeof UsageSchema>;
export type LedgerEntry = Static<typeof LedgerEntrySchema>;

/** The schema's "minimum: 1, maximum: 100". */
const EXPORT_PAGE_SIZE = 100;
const PAGE_SIZE = 50;
const SUMS_EVERY_MS = 60_000;
/** Consecutive failures of one page before an export gives up: about half a minute. */
const MOST_FAILURES = 5;

const USAGE_QUERY = ['usage'] as const;
const LEDGER_QUERY = ['ledger'] as const;

/** UTC days, `2026-11-22`; without a last one: until today. */
export interface Period {
  readonly from: string;
  readonly to?: string | undefined;
}

export interface LedgerFilter {
  readonly kind?: LedgerKind | undefined;
  readonly keyId?: string | undefined;
  readonly reference?: string | undefined;
  /** Undefined: all time. */
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

/** The ledger, as far as it has been read. */
export function useLedger(filter: LedgerFilter) {
  return useInfiniteQuery({
    queryKey: [...LEDGER_QUERY, filter],
    queryFn: ({ pageParam, signal }) => readPage(filter, PAGE_SIZE, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    // A refetch reads every page again: only on request of the user.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** Reads all data of this page again. */
export function useRefresh(): () => void {
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
      // Entries of the last day are included.
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
  /** Called when it has to wait: because of the rate limit, or because the service did not answer. */
  readonly onWait: (seconds: number, isLimit: boolean) => void;
}

/**
 * Every page of the ledger. A request that did not reach the service is retried, a few times in a row; a rate limit is
 * waited for however long it takes.
 *
 * @throws {ApiError}
 * @throws {UnreachableError}
 * @throws the reason with which the signal was aborted.
 */
export async function* readLedger(
  filter: LedgerFilter,
  options: ReadingOptions,
): AsyncGenerator<readonly LedgerEntry[]> {
  let cursor: string | undefined;
  do {
    const page = await readPagePatiently(filter, cursor, options);
    yield page.entries;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function readPagePatiently(
  filter: LedgerFilter,
  cursor: string | undefined,
  { signal, onWait }: ReadingOptions,
): Promise<WireLedger> {
  for (let failures = 0; ;) {
    signal.throwIfAborted();
    try {
      return await readPage(filter, EXPORT_PAGE_SIZE, cursor, signal);
    } catch (error) {
      const isLimit = error instanceof ApiError && error.kind === 'rate_limited';
      if (signal.aborted || !isRetryable(error) || (!isLimit && failures === MOST_FAILURES)) throw error;
      const waitMs = retryDelayMs(failures, error);
      if (!isLimit) failures++;
      onWait(Math.ceil(waitMs / 1000), isLimit);
      await passed(waitMs, signal);
    }
  }
}

/** @throws the reason with which the signal was aborted. */
function passed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
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
