/**
 * An output's way from `temp` to `persistent` and back (contract §5). The bytes of a promotion are counted against
 * the cap when it is accepted; `pending_since` is set until its workflow has finished it. A storage period is open
 * exactly while an output is persistent.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { RETENTION_END } from './outputs.ts';

/** What decides whether something can be done with an output. */
export interface OutputCondition {
  readonly id: string;
  readonly taskId: TaskId;
  readonly sizeBytes: number;
  readonly storageTier: 'temp' | 'persistent';
  readonly isPending: boolean;
  /** Deleted, or its retention has ended, whether that was recorded or not. */
  readonly isGone: boolean;
}

const lockStatement: Statement = {
  name: 'lock_outputs',
  text: `SELECT id, task_id AS "taskId", size_bytes::float8 AS "sizeBytes", storage_tier AS "storageTier",
                pending_since IS NOT NULL AS "isPending",
                gone_at IS NOT NULL OR coalesce(${RETENTION_END} <= $3, false) AS "isGone"
           FROM outputs WHERE id = ANY ($1) AND account_id = $2
          ORDER BY id FOR UPDATE`,
};

/** Locks those of the outputs that belong to the account, in the order of their ids. @param now milliseconds. */
export async function lockOutputs(
  transaction: Queryable,
  outputIds: readonly string[],
  accountId: string,
  now: number,
): Promise<ReadonlyMap<string, OutputCondition>> {
  const rows = await transaction.query<OutputCondition>(lockStatement, [outputIds, accountId, new Date(now)]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** An output that was accepted for promotion is not lost to its retention while Temporal is down for some hours. */
const markPendingStatement: Statement = {
  name: 'mark_outputs_pending',
  text: `UPDATE outputs SET pending_since = $2::timestamptz, retain_until = greatest(retain_until, $2::timestamptz + interval '1 day')
          WHERE id = ANY ($1)`,
};

/** Records accepted promotions. The outputs are locked, and their bytes are reserved. @param now milliseconds. */
export async function markPending(transaction: Queryable, outputIds: readonly string[], now: number): Promise<void> {
  await transaction.query(markPendingStatement, [outputIds, new Date(now)]);
}

/** An output that is to be promoted. */
export interface PendingOutput {
  readonly accountId: string;
  readonly taskId: TaskId;
  readonly objectKey: string;
  readonly sizeBytes: number;
}

const selectPending: Statement = {
  name: 'select_pending_output',
  text: `SELECT account_id AS "accountId", task_id AS "taskId", object_key AS "objectKey",
                size_bytes::float8 AS "sizeBytes"
           FROM outputs WHERE id = $1 AND pending_since IS NOT NULL`,
};

/** @returns undefined where no promotion is pending. */
export async function readPendingOutput(database: Queryable, outputId: string): Promise<PendingOutput | undefined> {
  const [row] = await database.query<PendingOutput>(selectPending, [outputId]);
  return row;
}

const completeStatement: Statement = {
  name: 'complete_promotion',
  text: `WITH promoted AS (
           UPDATE outputs SET storage_tier = 'persistent', retain_until = NULL, pending_since = NULL
            WHERE id = $1 AND pending_since IS NOT NULL AND gone_at IS NULL AND retain_until > $2
        RETURNING id, account_id, size_bytes)
         INSERT INTO storage_periods (output_id, account_id, size_bytes, began_at)
         SELECT id, account_id, size_bytes, $2 FROM promoted
         RETURNING output_id`,
};

/** Completes a pending promotion. @returns false where there is none (any more). @param now milliseconds. */
export async function completePromotion(transaction: Queryable, outputId: string, now: number): Promise<boolean> {
  const rows = await transaction.query(completeStatement, [outputId, new Date(now)]);
  return rows.length === 1;
}

const abandonStatement: Statement = {
  name: 'abandon_promotion',
  text: `WITH abandoned AS (
           UPDATE outputs SET pending_since = NULL WHERE id = $1 AND pending_since IS NOT NULL
        RETURNING account_id, size_bytes)
         UPDATE account_counters c SET persistent_bytes = c.persistent_bytes - a.size_bytes
           FROM abandoned a WHERE c.account_id = a.account_id
      RETURNING c.account_id`,
};

/**
 * Ends a pending promotion of something that is gone: its reserved bytes are released.
 *
 * @returns whether there was one.
 */
export async function abandonPromotion(transaction: Queryable, outputId: string): Promise<boolean> {
  const rows = await transaction.query(abandonStatement, [outputId]);
  return rows.length === 1;
}

const selectStalled: Statement = {
  name: 'select_stalled_promotions',
  text: `SELECT id, account_id AS "accountId" FROM outputs
          WHERE pending_since < $1 AND id > $2 ORDER BY id LIMIT $3`,
};

/** Promotions that were accepted before a moment and have not ended, by their ids. @param before milliseconds. */
export async function listStalledPromotions(
  database: Queryable,
  before: number,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly { readonly id: string; readonly accountId: string }[]> {
  return database.query(selectStalled, [new Date(before), after, limit]);
}

const selectPersistent: Statement = {
  name: 'select_outputs_persistent_since',
  text: `SELECT output_id AS id FROM storage_periods
          WHERE account_id = $1 AND ended_at IS NULL AND began_at <= $2 ORDER BY output_id LIMIT $3`,
};

/** Outputs of an account that have been persistent since a moment or longer. @param since milliseconds. */
export async function listPersistentSince(
  database: Queryable,
  accountId: string,
  since: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(selectPersistent, [accountId, new Date(since), limit]);
  return rows.map((row) => row.id);
}

const returnStatement: Statement = {
  name: 'return_outputs_to_temp',
  text: `WITH returned AS (
           UPDATE outputs
              SET storage_tier = 'temp', retain_until = $2::timestamptz + make_interval(days => $3)
            WHERE id = ANY ($1) AND storage_tier = 'persistent' AND gone_at IS NULL
        RETURNING id, task_id, account_id, size_bytes),
         ended AS (
           UPDATE storage_periods SET ended_at = greatest($2, began_at)
            WHERE output_id IN (SELECT id FROM returned) AND ended_at IS NULL),
         given_back AS (
           UPDATE account_counters c SET persistent_bytes = c.persistent_bytes - r.size_bytes
             FROM (SELECT account_id, sum(size_bytes) AS size_bytes FROM returned GROUP BY account_id) r
            WHERE c.account_id = r.account_id)
         SELECT id, task_id AS "taskId" FROM returned`,
};

/** Makes persistent outputs temporary again, kept for the days of retention from now on. @param now milliseconds. */
export async function returnToTemp(
  transaction: Queryable,
  outputIds: readonly string[],
  now: number,
  retentionDays: number,
): Promise<readonly { readonly id: string; readonly taskId: TaskId }[]> {
  return transaction.query(returnStatement, [outputIds, new Date(now), retentionDays]);
}

const reserve: Statement = {
  name: 'reserve_persistent_bytes',
  text: `UPDATE account_counters c SET persistent_bytes = c.persistent_bytes + $2
           FROM accounts a
          WHERE a.id = c.account_id AND c.account_id = $1 AND c.persistent_bytes + $2 <= a.storage_cap_bytes
      RETURNING c.account_id`,
};

/**
 * Reserves room under the cap for bytes that an account keeps persistently (contract §5). An output that is to become
 * persistent reserves its bytes first; one that ceases to be releases them, in the transaction that decides it. The
 * account's counters are locked until the commit.
 *
 * @returns whether there was room.
 */
export async function reservePersistentBytes(
  transaction: Queryable,
  accountId: string,
  sizeBytes: number,
): Promise<boolean> {
  const rows = await transaction.query(reserve, [accountId, sizeBytes]);
  return rows.length === 1;
}
