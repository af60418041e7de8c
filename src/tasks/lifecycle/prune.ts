/**
 * Pruning (docs/decisions/0026): tasks that ended long ago are exported to the object store, and then deleted from the
 * database but for a narrow row. A pass may be killed anywhere: what it exported without deleting it is exported again,
 * and its own export is swept.
 * The ledger is not touched: its entries keep on guarding that no task is settled twice.
 */
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { MAX_EXPORTS, exportAndDelete } from '../../objects/archive.ts';
import type { StoredArchive } from '../../objects/archive.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import { StoreUnavailableError } from '../../objects/stores/object-store.ts';
import { MAX_PAGE, findAccountAfter, lockUnchanged, readPage, readRecords } from './prunable-tasks.ts';
import type { Place, PrunableTask, Retention } from './prunable-tasks.ts';

/** A round looks at all tasks that are old enough, also at those that have to stay, so it rests before the next one. */
const REST_SECONDS = 3_600;
const MS_PER_DAY = 86_400_000;

export interface PruneOptions {
  /** For the transaction, which locks the row of an account at its end. */
  readonly accountDatabase: AccountDatabase;
  readonly store: ObjectStore;
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: number;
  /** How long tasks are retained after their end. */
  readonly retentionDays: number;
  /** Whether inputs are retained for ever. */
  readonly keepsInputs: boolean;
  readonly signal: AbortSignal;
  /** By `performance.now()`: no other page begins after it. */
  readonly endAt: number;
  /** Called after each page of which tasks were pruned. */
  readonly onPruned?: ((count: number) => void) | undefined;
  /** The maximum number of tasks in a page; default: as many as one may have. */
  readonly pageSize?: number;
}

/**
 * Prunes page by page, from where the last pass stopped. Safe to run at any time, and twice at the same time.
 *
 * @returns the number of tasks.
 * @throws {StoreUnavailableError} the next pass begins with the same page. After any other failure of a page it begins
 *   with the one after it, and the next round tries that page again.
 */
export async function pruneTasks(database: Database, options: PruneOptions): Promise<number> {
  const { now, retentionDays, keepsInputs, signal, endAt, onPruned } = options;
  const retention = { endedBefore: (now - retentionDays * MS_PER_DAY) / 1000, keepsInputs };
  let place = await beginAt(database, now, retention);
  let pruned = 0;
  while (place !== undefined) {
    signal.throwIfAborted();
    const { count, next } = await prunePage(database, place, retention, options);
    if (count > 0) onPruned?.(count);
    pruned += count;
    place = next ?? (await goToAccountAfter(database, place.accountId, now, retention));
    if (performance.now() >= endAt) return pruned;
  }
  return pruned;
}

const selectProgress: Statement = {
  name: 'select_pruning_progress',
  text: `SELECT account_id AS "accountId", created_at::text AS "createdAt", task_id AS "taskId",
                round_ended_at <= to_timestamp($1::float8) AS "hasRested"
           FROM pruning_progress`,
};

/** @returns where to continue; undefined: the next round is not due. */
async function beginAt(database: Queryable, now: number, retention: Retention): Promise<Place | undefined> {
  const [row] = await database.query<Omit<Place, 'accountId'> & { accountId: string | null; hasRested: boolean }>(
    selectProgress,
    [now / 1000 - REST_SECONDS],
  );
  if (row === undefined) throw new Error('the progress of pruning has no row');
  const { accountId, createdAt, taskId, hasRested } = row;
  if (accountId !== null) return { accountId, createdAt, taskId };
  return hasRested ? goToAccountAfter(database, '', now, retention) : undefined;
}

const updateProgress: Statement = {
  name: 'update_pruning_progress',
  text: 'UPDATE pruning_progress SET account_id = $1, created_at = $2::timestamptz, task_id = $3',
};
const endRound: Statement = {
  name: 'end_pruning_round',
  text: `UPDATE pruning_progress
            SET account_id = NULL, created_at = '-infinity', task_id = '', round_ended_at = to_timestamp($1::float8)`,
};

async function advanceTo(database: Queryable, place: Place): Promise<Place> {
  await database.query(updateProgress, [place.accountId, place.createdAt, place.taskId]);
  return place;
}

/** @returns the beginning of the next account; undefined: the round has ended. */
async function goToAccountAfter(
  database: Queryable,
  accountId: string,
  now: number,
  retention: Retention,
): Promise<Place | undefined> {
  const next = await findAccountAfter(database, accountId, retention);
  if (next !== undefined) return advanceTo(database, { accountId: next, createdAt: '-infinity', taskId: '' });
  await database.query(endRound, [now / 1000]);
  return undefined;
}

/** @returns how many it pruned, and where to continue in the same account; undefined: the account has no more. */
async function prunePage(
  database: Database,
  place: Place,
  retention: Retention,
  options: PruneOptions,
): Promise<{ readonly count: number; readonly next: Place | undefined }> {
  for (let exports = 1; ; exports += 1) {
    const { prunable, last } = await readPage(database, place, retention, options.pageSize ?? MAX_PAGE);
    if (last === undefined) return { count: 0, next: undefined };
    try {
      const count = await pruneTogether(database, place.accountId, prunable, retention, options);
      if (count === undefined && exports < MAX_EXPORTS) continue;
      return { count: count ?? 0, next: await advanceTo(database, last) };
    } catch (error) {
      // Where a dependency is not available, the same page can succeed later. Any other fault may be the page's own.
      const isUnavailable = error instanceof StoreUnavailableError || error instanceof DatabaseUnavailableError;
      if (!isUnavailable && !options.signal.aborted) await advanceTo(database, last);
      throw error;
    }
  }
}

/** @returns how many it pruned; undefined: none, because some have changed since they were read, or another pass has them. */
async function pruneTogether(
  database: Database,
  accountId: string,
  ids: readonly TaskId[],
  retention: Retention,
  { accountDatabase, store, signal }: PruneOptions,
): Promise<number | undefined> {
  const exported = ids.length === 0 ? [] : await readRecords(database, ids);
  if (exported.length === 0) return 0;
  const isDone = await exportAndDelete(store, `tasks/${accountId}`, exported, signal, (archive) =>
    accountDatabase(accountId).transaction((transaction) =>
      deleteExported(transaction, accountId, exported, archive, retention),
    ),
  );
  return isDone ? exported.length : undefined;
}

const insertArchive: Statement = {
  name: 'insert_task_archive',
  text: `INSERT INTO task_archives (account_id, object_key, size_bytes, sha256, tasks)
         VALUES ($1, $2, $3, $4, $5) RETURNING id`,
};

/** All rows of the tasks in one statement, after which the constraints between them are checked. */
const deleteTasks: Statement = {
  name: 'delete_pruned_tasks',
  text: `WITH events AS (DELETE FROM task_events WHERE task_id = ANY ($1)),
         output AS (DELETE FROM outputs WHERE task_id = ANY ($1)),
         generation AS (DELETE FROM generations WHERE task_id = ANY ($1)),
         attempt AS (DELETE FROM callback_attempts WHERE task_id = ANY ($1)),
         callback AS (DELETE FROM callbacks WHERE task_id = ANY ($1)),
         pins AS (DELETE FROM task_inputs WHERE task_id = ANY ($1)),
         hook AS (DELETE FROM provider_hooks WHERE task_id = ANY ($1)),
         pairs AS (
           DELETE FROM task_metadata m USING tasks t, jsonb_each_text(t.metadata) e
            WHERE t.id = ANY ($1) AND m.account_id = t.account_id AND m.pair = metadata_pair(e.key, e.value)
              AND m.created_at = t.created_at AND m.task_id = t.id),
         task AS (DELETE FROM tasks WHERE id = ANY ($1) RETURNING *)
         INSERT INTO pruned_tasks (task_id, account_id, fingerprint, fingerprint_version, held_micro_usd,
                                   captured_micro_usd, spend_cap_ids, created_at, completed_at, archive_id)
         SELECT id, account_id, fingerprint, fingerprint_version, held_micro_usd, captured_micro_usd, spend_cap_ids,
                created_at, completed_at, $2 FROM task`,
};

/** The last statement of the transaction: the account's creates and settlements wait for it only during the commit. */
const uncount: Statement = {
  name: 'uncount_pruned_tasks',
  text: 'UPDATE account_counters SET tasks_total = tasks_total - $2 WHERE account_id = $1',
};

/** @returns whether it deleted them: all, or none if one has changed since or another pass has it. */
async function deleteExported(
  transaction: Queryable,
  accountId: string,
  exported: readonly PrunableTask[],
  { objectKey, sizeBytes, sha256 }: StoredArchive,
  retention: Retention,
): Promise<boolean> {
  const ids = await lockUnchanged(transaction, exported, retention);
  if (ids.length < exported.length) return false;
  const [archive] = await transaction.query<{ id: bigint }>(insertArchive, [
    accountId,
    objectKey,
    sizeBytes,
    sha256,
    ids.length,
  ]);
  if (archive === undefined) throw new Error('an archive was not recorded');
  await transaction.query(deleteTasks, [ids, archive.id]);
  await transaction.query(uncount, [accountId, ids.length]);
  return true;
}
