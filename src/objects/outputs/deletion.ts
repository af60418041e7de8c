/**
 * Removes outputs from their readers by decision of their owner or an operator, or by their task's erasure (contract
 * §4, §5). At once and for good; the bytes follow within minutes (sweep.ts). What an output occupied of its account's
 * persistent storage, or had reserved for its promotion, is released in the same statement.
 */
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

// The account's counters come last: from there to the commit all its creates and settlements wait.
const deleteStatement: Statement = {
  name: 'delete_outputs',
  text: `WITH chosen AS (
           SELECT id, storage_tier = 'persistent' OR pending_since IS NOT NULL AS is_counted
             FROM outputs
            WHERE (id = ANY ($1) OR task_id = $2) AND ($3::text IS NULL OR account_id = $3) AND gone_at IS NULL
            ORDER BY id FOR UPDATE),
         deleted AS (
           UPDATE outputs o SET gone_at = $4, gone_reason = 'deleted', pending_since = NULL
             FROM chosen c WHERE o.id = c.id
        RETURNING o.id, o.account_id, o.size_bytes, o.object_key, c.is_counted),
         ended AS (
           UPDATE storage_periods SET ended_at = greatest($4, began_at)
            WHERE output_id IN (SELECT id FROM deleted) AND ended_at IS NULL),
         given_back AS (
           UPDATE account_counters c SET persistent_bytes = c.persistent_bytes - d.size_bytes
             FROM (SELECT account_id, sum(size_bytes) AS size_bytes FROM deleted WHERE is_counted GROUP BY account_id) d
            WHERE c.account_id = d.account_id)
         SELECT object_key AS "objectKey" FROM deleted`,
};

/**
 * A statement of its own, before the one that deletes: where a promotion or another deletion commits while this
 * waits, the next statement sees all of it, its storage period included.
 */
const lockThem: Statement = {
  name: 'lock_outputs_to_delete',
  text: 'SELECT 1 FROM outputs WHERE id = ANY ($1) OR task_id = $2 ORDER BY id FOR UPDATE',
};

/**
 * Deletes outputs of an account; those that are gone already stay as they are. The caller has locked them, by a
 * statement before (lockOutputs), for the reason given at `lockThem`.
 *
 * @param now milliseconds since 1970.
 */
export async function deleteAccountOutputs(
  transaction: Queryable,
  accountId: string,
  outputIds: readonly string[],
  now: number,
): Promise<void> {
  await transaction.query(deleteStatement, [outputIds, null, accountId, new Date(now)]);
}

/** Deletes all outputs of a task: its erasure (contract §4). @param now milliseconds since 1970; default: the database's. */
export async function deleteOutputsOfTask(
  transaction: Queryable,
  accountId: string,
  taskId: TaskId,
  now?: number,
): Promise<void> {
  await transaction.query(lockThem, [[], taskId]);
  const deletedAt = new Date(now ?? (await readDatabaseTime(transaction)));
  await transaction.query(deleteStatement, [[], taskId, accountId, deletedAt]);
}

/**
 * Deletes an output of any account: an operator's decision.
 *
 * @param now milliseconds since 1970; default: the database's.
 * @returns the object's key; undefined where there is no such output any more.
 */
export async function deleteAnyOutput(database: Database, outputId: string, now?: number): Promise<string | undefined> {
  return database.transaction(async (transaction) => {
    await transaction.query(lockThem, [[outputId], null]);
    const [row] = await transaction.query<{ objectKey: string }>(deleteStatement, [
      [outputId],
      null,
      null,
      new Date(now ?? (await readDatabaseTime(transaction))),
    ]);
    return row?.objectKey;
  });
}
