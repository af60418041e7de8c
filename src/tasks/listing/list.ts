/**
 * Lists of an account's tasks, newest first, by filter, by page or after a cursor (contract §3).
 */
import type { Queryable } from '../../database/database.ts';
import { leadsOf, normalised } from './list-filter.ts';
import type { Lead, TaskFilter } from './list-filter.ts';
import { PROBED, pageCall, probeCall } from './list-statements.ts';
import type { Range } from './list-statements.ts';
import { createTotalCounter } from './list-total.ts';
import type { ListTotal } from './list-total.ts';
import { detailOf } from '../record/read.ts';
import type { TaskDetail, TaskRow } from '../record/read.ts';

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
