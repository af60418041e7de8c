/**
 * How many tasks a list has: exact as far as pages reach, capped beyond (contract §3). The total of an account is
 * kept with its counters. Other totals are counted, and a set found to be above the cap is remembered: one that tasks
 * leave only by being pruned stays above it for long, and a count up to the cap costs ten times as much as a page.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../../database/database.ts';
import { TERMINAL_STATUSES } from '@darkroom/api/facts/task-status';
import { MAX_PAGED_TASKS } from '@darkroom/api/facts/limits';
import type { Lead, TaskFilter } from './list-filter.ts';
import { countCall } from './list-statements.ts';
import type { Range } from './list-statements.ts';

export interface ListTotal {
  readonly total: number;
  readonly isCapped: boolean;
}

export interface TotalCounter {
  /** @param filter normalised. @param range without the page's position. */
  count(accountId: string, filter: TaskFilter, lead: Lead, range: Range): Promise<ListTotal>;
}

/** The maximum number of counted filters in memory, some 200 B each. An evicted one is counted again. */
const REMEMBERED_FILTERS = 10_000;
/** How long a set is assumed to have more tasks than are counted, in milliseconds: pruned tasks leave it. */
const REMEMBERED_MS = 3_600_000;
/**
 * How long a metadata filter is assumed to match more tasks than are counted, in milliseconds: erased tasks no longer
 * match it.
 */
const METADATA_REMEMBERED_MS = 60_000;

const selectTotal: Statement = {
  name: 'select_tasks_total',
  text: 'SELECT tasks_total AS total FROM account_counters WHERE account_id = $1',
};

/** @param now milliseconds since 1970. */
export function createTotalCounter(database: Queryable, now: () => number): TotalCounter {
  /** Sets above the cap, and until when that is assumed. */
  const capped = new LRUCache<string, number>({ max: REMEMBERED_FILTERS });

  return {
    async count(accountId, filter, lead, range) {
      if (Object.keys(filter).length === 0) {
        const [row] = await database.query<{ total: bigint }>(selectTotal, [accountId]);
        return totalOf(Number(row?.total ?? 0n));
      }
      const name = nameOf(accountId, lastingPart(filter));
      if ((capped.get(name) ?? 0) > now()) return totalOf(Infinity);
      const { statement, values } = countCall(accountId, filter, lead, range);
      const [row] = await database.query<{ stay: number; leave: number }>(statement, values);
      const { stay, leave } = row ?? { stay: 0, leave: 0 };
      if (stay > MAX_PAGED_TASKS) {
        capped.set(name, now() + (filter.metadata === undefined ? REMEMBERED_MS : METADATA_REMEMBERED_MS));
      }
      return totalOf(stay + leave);
    },
  };
}

function totalOf(count: number): ListTotal {
  return { total: Math.min(count, MAX_PAGED_TASKS), isCapped: count > MAX_PAGED_TASKS };
}

/** The part of a set that tasks leave only by being pruned: tasks that are over never change their status, others do. */
function lastingPart({ statuses, ...filter }: TaskFilter): TaskFilter {
  if (statuses === undefined) return filter;
  return { ...filter, statuses: TERMINAL_STATUSES.filter((status) => statuses.includes(status)) };
}

/** Of fixed length, whatever the filter contains. */
function nameOf(accountId: string, { model, keyId, statuses, metadata, ids, ...times }: TaskFilter): string {
  const parts = [
    accountId,
    model,
    keyId,
    statuses,
    Object.entries(metadata ?? {}),
    ids,
    times.createdAfter,
    times.createdBefore,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}
