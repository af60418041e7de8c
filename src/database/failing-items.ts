/**
 * Single items that a pass could not process: an object that cannot be deleted, a task whose repair throws. A pass
 * continues without such an item, which is retried with backoff, counted, and listed for operators until it is
 * resolved. One mechanism for all passes, because each of them would otherwise stop for ever at its first bad item.
 */
import type { FailingKind } from '../domain/failing-kind.ts';
import { unlessAborted } from '../domain/waits.ts';
import type { Logger } from '../telemetry/log.ts';
import type { PassMetrics } from '../telemetry/metrics-work.ts';
import { DatabaseUnavailableError } from './database.ts';
import type { Database, Queryable, Statement } from './database.ts';

/** The delay of the first retry of a failing item. Each further delay is twice as long, up to an hour. */
const FIRST_RETRY_SECONDS = 60;
const LAST_RETRY_SECONDS = 3_600;
/** Stored errors are truncated to this length. */
const MAX_ERROR_LENGTH = 300;

export interface IsolationOptions {
  readonly database: Pick<Database, 'query' | 'check'>;
  readonly logger: Logger;
  readonly metrics: PassMetrics;
  /**
   * Ends every pass when it fires. Work in progress is not waited for, because a statement may take longer than a
   * worker may take to end: it ends by itself, counts neither as done nor as failed, and is processed again.
   */
  readonly signal?: AbortSignal;
}

/** A pass over items of one kind. */
export interface Pass<Item> {
  readonly kind: FailingKind;
  readonly items: readonly Item[];
  readonly idOf: (item: Item) => string;
  readonly work: (item: Item) => Promise<void>;
  /** How many are processed at once; default: 1. */
  readonly atOnce?: number;
  /** No item is started after it, by `performance.now()`; those that are left are in neither list. */
  readonly endAt?: number;
  /** Called once with what was done, however the pass ends, so that nothing has to be done again. */
  readonly onDone?: (items: readonly Item[]) => Promise<void>;
  /**
   * Called when something failed, which is recorded by then: whatever its result, the next pass begins with other
   * items. It throws if those would fail as well, which ends the pass.
   */
  readonly requireSurroundings?: () => Promise<void>;
}

/** The results of a pass. Items whose retry is not due, or for which no time was left, are in neither list. */
export interface PassResult<Item> {
  readonly done: readonly Item[];
  readonly failed: readonly Item[];
}

/** Processes items, each by itself: one that fails stops no other. */
export type Isolation = <Item>(pass: Pass<Item>) => Promise<PassResult<Item>>;

/** Processes items without isolation: the first item that fails ends the pass. */
export const inOrder: Isolation = async ({ items, work }) => {
  for (const item of items) await work(item);
  return { done: items, failed: [] };
};

const selectKnown: Statement = {
  name: 'select_known_failing_items',
  text: `SELECT subject_id AS id, retry_at > now() AS "isHeldBack" FROM failing_items
          WHERE kind = $1 AND subject_id = ANY ($2)`,
};

const recordStatement: Statement = {
  name: 'record_failing_items',
  text: `INSERT INTO failing_items AS f (kind, subject_id, retry_at, error)
         SELECT $1, i.id, now() + make_interval(secs => ${FIRST_RETRY_SECONDS}), i.error
           FROM unnest($2::text[], $3::text[]) AS i (id, error)
         ON CONFLICT (kind, subject_id) DO UPDATE
            SET failures = f.failures + 1, last_failed_at = now(), error = excluded.error,
                retry_at = now() + make_interval(secs =>
                  least(${LAST_RETRY_SECONDS}, ${FIRST_RETRY_SECONDS} * power(2, least(f.failures, 10)))::float8)`,
};

const forgetStatement: Statement = {
  name: 'forget_failing_items',
  text: 'DELETE FROM failing_items WHERE kind = $1 AND subject_id = ANY ($2)',
};

/**
 * An item may be why the database is not available to it: a row that another transaction has locked, a statement
 * that takes too long, a page that cannot be read. If the database responds otherwise, that item has failed like any
 * other.
 *
 * @throws {DatabaseUnavailableError} from a pass, if the database does not respond: no item is the cause of that. And
 *   what a pass's own `requireSurroundings` throws, and the signal's reason.
 */
export function createIsolation({ database, logger, metrics, signal }: IsolationOptions): Isolation {
  return async ({ kind, items, idOf, work, atOnce = 1, endAt = Infinity, onDone, requireSurroundings }) => {
    const known = await database.query<{ id: string; isHeldBack: boolean }>(selectKnown, [kind, items.map(idOf)]);
    const heldBack = new Set(known.filter(({ isHeldBack }) => isHeldBack).map(({ id }) => id));
    const due = items.filter((item) => !heldBack.has(idOf(item)));
    const done: (typeof items)[number][] = [];
    const failed: (typeof items)[number][] = [];
    try {
      for (let first = 0; first < due.length && performance.now() < endAt; first += atOnce) {
        signal?.throwIfAborted();
        const group = due.slice(first, first + atOnce);
        const results = await unlessAborted(Promise.allSettled(group.map((item) => work(item))), signal);
        const errors = new Map<string, unknown>();
        for (const [index, item] of group.entries()) {
          const result = results[index];
          if (result?.status !== 'rejected') {
            done.push(item);
            continue;
          }
          failed.push(item);
          errors.set(idOf(item), result.reason);
        }
        if (errors.size === 0) continue;
        if ([...errors.values()].some((error) => error instanceof DatabaseUnavailableError)) await database.check();
        for (const [id, err] of errors) logger.warn({ err, kind, id }, 'item failed; the pass continues without it');
        metrics.itemsFailed(kind, errors.size);
        await database.query(recordStatement, [kind, [...errors.keys()], [...errors.values()].map(textOf)]);
        await requireSurroundings?.();
      }
    } finally {
      if (done.length > 0) await onDone?.(done);
      const failedIds = new Set(failed.map(idOf));
      const worked = new Set(done.map(idOf));
      const recovered = known.flatMap(({ id }) => (worked.has(id) && !failedIds.has(id) ? [id] : []));
      if (recovered.length > 0) await database.query(forgetStatement, [kind, recovered]);
    }
    return { done, failed };
  };
}

/** Records one item that could not be processed and is retried by other means than a pass. */
export async function recordFailingItem(
  { database, metrics }: { readonly database: Queryable; readonly metrics: PassMetrics },
  kind: FailingKind,
  id: string,
  error: unknown,
): Promise<void> {
  metrics.itemsFailed(kind, 1);
  await database.query(recordStatement, [kind, [id], [textOf(error)]]);
}

/**
 * Name and message only: a stack is in the log. What the database reports for an item explains why it was not
 * available.
 */
function textOf(error: unknown): string {
  const { cause } = error instanceof DatabaseUnavailableError ? error : {};
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  const text = error instanceof Error ? `${error.name}: ${error.message}${reason}` : 'an unknown error';
  return text.slice(0, MAX_ERROR_LENGTH);
}

/** An item that fails again and again. */
export interface FailingItem {
  readonly kind: FailingKind;
  readonly id: string;
  readonly failures: number;
  readonly firstFailedAt: Date;
  readonly lastFailedAt: Date;
  readonly retryAt: Date;
  readonly error: string;
}

const selectItems: Statement = {
  name: 'select_failing_items',
  text: `SELECT kind, subject_id AS id, failures, first_failed_at AS "firstFailedAt", last_failed_at AS "lastFailedAt",
                retry_at AS "retryAt", error
           FROM failing_items WHERE $1::text IS NULL OR kind = $1
          ORDER BY first_failed_at, kind, subject_id LIMIT $2`,
};

/** Lists at most `limit` failing items; those that have failed longest come first. */
export async function listFailingItems(
  database: Queryable,
  { kind, limit }: { readonly kind?: FailingKind | undefined; readonly limit: number },
): Promise<readonly FailingItem[]> {
  return database.query<FailingItem>(selectItems, [kind ?? null, limit]);
}

/** An item is retried at most hourly: one that failed longer ago is no longer tried. */
const countItems: Statement = {
  name: 'count_failing_items',
  text: `SELECT kind, count(*)::integer AS items FROM failing_items
          WHERE failures > 2 AND last_failed_at > now() - interval '2 hours' GROUP BY kind`,
};

/** How many items of each kind have failed in more than two passes, and are still tried. */
export async function countFailingItems(database: Queryable): Promise<ReadonlyMap<FailingKind, number>> {
  const rows = await database.query<{ kind: FailingKind; items: number }>(countItems);
  return new Map(rows.map(({ kind, items }) => [kind, items]));
}

const pruneStatement: Statement = {
  name: 'prune_failing_items',
  text: `DELETE FROM failing_items WHERE last_failed_at < now() - interval '7 days'`,
};

/** Deletes what was not tried for a week: it was resolved otherwise, or no longer exists. */
export async function pruneFailingItems(database: Queryable): Promise<void> {
  await database.query(pruneStatement);
}
