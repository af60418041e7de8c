/**
 * Lists of an account's tasks, newest first, by filter, by page or after a cursor, with their totals (contract §3).
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { PROBED, countCall, pageCall, probeCall } from './list-statements.ts';
import type { Range } from './list-statements.ts';
import { detailOf } from '../record/read.ts';
import type { TaskDetail, TaskRow } from '../record/read.ts';
import { TASK_STATUSES, TERMINAL_STATUSES } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { MAX_PAGED_TASKS } from '@darkroom/api/facts/limits';

/** Which tasks are requested; an absent field does not restrict them. All fields that are present must match. */
export interface TaskFilter {
  readonly statuses?: readonly TaskStatus[];
  /** The resolved full name. */
  readonly model?: string;
  readonly keyId?: string;
  readonly ids?: readonly string[];
  /** Each name with the value that it must have. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Unix seconds. Both are exclusive, and compared with the time as the detail shows it: in whole seconds. */
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

/** A filter whose index is walked; the other filters are checked for each task on the way. */
export type Lead =
  | { readonly by: 'account' }
  | { readonly by: 'ids'; readonly ids: readonly string[] }
  | { readonly by: 'metadata'; readonly name: string; readonly value: string }
  | { readonly by: 'key'; readonly keyId: string }
  | { readonly by: 'model'; readonly model: string }
  | { readonly by: 'status'; readonly statuses: readonly TaskStatus[] };

/** A task's position in the list, newest first: microseconds since 1970, and its id. */
export interface ListPosition {
  readonly createdMicros: bigint;
  readonly id: string;
}

export interface TaskListRequest {
  readonly accountId: string;
  readonly filter: TaskFilter;
  /** The page begins after this position; default: at the start. */
  readonly after?: ListPosition;
  /** How many tasks are then skipped. With `size` at most `MAX_PAGED_TASKS`. */
  readonly offset: number;
  /** 1 to `MAX_PAGE_SIZE`. */
  readonly size: number;
}

export interface TaskList extends ListTotal {
  readonly tasks: readonly TaskDetail[];
  /** The position of the last one, where there are more. */
  readonly next: ListPosition | undefined;
}

export interface TaskLister {
  list(request: TaskListRequest): Promise<TaskList>;
}

/** @param now milliseconds since 1970. */
export function createTaskLister(database: Queryable, now: () => number): TaskLister {
  const totals = createTotalCounter(database, now);
  return {
    async list({ accountId, filter: requested, after, offset, size }) {
      const filter = normalised(requested);
      const whole = rangeOf(filter, undefined);
      const lead = await chooseLead(database, accountId, filter, whole);
      const page = { offset, rows: size + 1 };
      const { statement, values } = pageCall(accountId, filter, lead, rangeOf(filter, after), page);
      const [rows, total] = await Promise.all([
        database.query<TaskRow & { readonly createdMicros: bigint }>(statement, values),
        totals.count(accountId, filter, lead, whole),
      ]);
      const shown = rows.slice(0, size);
      const last = rows.length > size ? shown.at(-1) : undefined;
      return {
        ...total,
        tasks: shown.map((row) => detailOf(row)),
        next: last === undefined ? undefined : { createdMicros: last.createdMicros, id: last.id },
      };
    },
  };
}

/** The same filter in its one normal form: nothing twice, nothing that is always true. */
function normalised({ statuses, ids, metadata, ...filter }: TaskFilter): TaskFilter {
  const wanted = TASK_STATUSES.filter((status) => statuses?.includes(status) ?? true);
  const pairs = Object.entries(metadata ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...filter,
    ...(wanted.length === TASK_STATUSES.length ? {} : { statuses: wanted }),
    ...(ids === undefined ? {} : { ids: [...new Set(ids)].toSorted() }),
    // `fromEntries` defines: a pair named `__proto__` stays a pair.
    ...(pairs.length === 0 ? {} : { metadata: Object.fromEntries(pairs) }),
  };
}

/**
 * The leads that a filter offers, those first that usually have few tasks; at least one. Most tasks succeed, most
 * accounts use few keys and models, and open or failed tasks are rare.
 */
export function leadsOf({ ids, metadata, keyId, model, statuses }: TaskFilter): readonly [Lead, ...Lead[]] {
  // At most a hundred tasks: no other lead can be better.
  if (ids !== undefined) return [{ by: 'ids', ids }];
  const byStatus: readonly Lead[] = statuses === undefined ? [] : [{ by: 'status', statuses }];
  const isRare = statuses?.includes('success') === false;
  const [first, ...others]: Lead[] = [
    ...Object.entries(metadata ?? {}).map(([name, value]) => ({ by: 'metadata' as const, name, value })),
    ...(isRare ? byStatus : []),
    ...(keyId === undefined ? [] : [{ by: 'key' as const, keyId }]),
    ...(model === undefined ? [] : [{ by: 'model' as const, model }]),
    ...(isRare ? [] : byStatus),
  ];
  return first === undefined ? [{ by: 'account' }] : [first, ...others];
}

/** The filter with the fewest tasks leads: the walk of any other lead passes all tasks that do not match. */
async function chooseLead(database: Queryable, accountId: string, filter: TaskFilter, range: Range): Promise<Lead> {
  const [first, ...others] = leadsOf(filter);
  if (others.length === 0) return first;
  let best = first;
  let fewest = PROBED + 1;
  for (const lead of [first, ...others]) {
    const { statement, values } = probeCall(accountId, lead, range);
    const [row] = await database.query<{ found: number }>(statement, values);
    if (row === undefined || row.found >= fewest) continue;
    best = lead;
    fewest = row.found;
  }
  return best;
}

/** `created` is shown in whole seconds, and both bounds are exclusive: a task that shows either of them is outside. */
function rangeOf({ createdAfter, createdBefore }: TaskFilter, after: ListPosition | undefined): Range {
  const from = createdAfter === undefined ? '-infinity' : timestamp(BigInt(createdAfter + 1) * 1_000_000n);
  const end = createdBefore === undefined ? undefined : BigInt(createdBefore) * 1_000_000n;
  if (after !== undefined && (end === undefined || after.createdMicros < end)) {
    return { from, before: { createdAt: timestamp(after.createdMicros), id: after.id } };
  }
  return { from, before: { createdAt: end === undefined ? 'infinity' : timestamp(end), id: '' } };
}

/** Formats a time for PostgreSQL, including its microseconds. */
function timestamp(micros: bigint): string {
  const milliseconds = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${milliseconds}${String(micros % 1_000n).padStart(3, '0')}Z`;
}

interface ListTotal {
  readonly total: number;
  readonly isCapped: boolean;
}

interface TotalCounter {
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

/**
 * How many tasks a list has: exact as far as pages reach, capped beyond (contract §3). The total of an account is
 * kept with its counters. Other totals are counted, and a set found to be above the cap is remembered: one that tasks
 * leave only by being pruned stays above it for long, and a count up to the cap costs ten times as much as a page.
 *
 * @param now milliseconds since 1970.
 */
function createTotalCounter(database: Queryable, now: () => number): TotalCounter {
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
