/**
 * Pruning of text calls (docs/decisions/0026): those that were settled long ago are exported to the object store, and
 * then deleted from the database. The ledger is the permanent record of their money, and is not touched; what else is
 * computed from calls is kept in the transaction that deletes them. A pass may be killed anywhere: what it exported
 * without deleting it is exported again, and its own export is swept.
 */
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { MAX_EXPORTS, exportAndDelete } from '../../objects/archive.ts';
import type { StoredArchive } from '../../objects/archive.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import { StoreUnavailableError } from '../../objects/stores/object-store.ts';
import { PAGE_BLOCKS, countBlocks, lockUnchanged, readPage } from './prunable-calls.ts';
import type { PrunableCall } from './prunable-calls.ts';

/** A round reads the whole table, so it rests for a day before the next one. */
const REST_SECONDS = 86_400;
const MS_PER_DAY = 86_400_000;

export interface CallPruneOptions {
  readonly store: ObjectStore;
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: number;
  /** How long calls are retained after their settlement. */
  readonly retentionDays: number;
  readonly signal: AbortSignal;
  /** By `performance.now()`: no other page begins after it. */
  readonly endAt: number;
  /** Called after each page that was pruned. */
  readonly onPruned?: ((count: number) => void) | undefined;
  /** Default: as many as one may have. */
  readonly pageBlocks?: number;
}

/**
 * Prunes page by page, from where the last pass stopped. Safe to run at any time, and twice at the same time.
 *
 * @returns the number of calls.
 * @throws {StoreUnavailableError} the next pass begins with the same page. After any other failure of a page it begins
 *   with the one after it, and the next round tries that page again.
 */
export async function pruneTextCalls(database: Database, options: CallPruneOptions): Promise<number> {
  const { now, signal, endAt, pageBlocks = PAGE_BLOCKS, onPruned } = options;
  let block = await beginAt(database, now);
  if (block === undefined) return 0;
  const blocks = await countBlocks(database);
  let pruned = 0;
  while (block < blocks) {
    signal.throwIfAborted();
    const next: number = block + pageBlocks;
    const count = await prunePage(database, { from: block, to: next }, options);
    if (count > 0) onPruned?.(count);
    pruned += count;
    block = next;
    if (performance.now() >= endAt && block < blocks) return pruned;
  }
  await database.query(endRound, [now / 1000]);
  return pruned;
}

/** A clock that was set back ends the rest as well, which would otherwise last until it has caught up. */
const selectProgress: Statement = {
  name: 'select_text_pruning_progress',
  text: `SELECT block, round_ended_at NOT BETWEEN to_timestamp($1::float8 - ${REST_SECONDS}) AND to_timestamp($1::float8)
                AS "hasRested"
           FROM text_pruning_progress`,
};

/** @returns the block to continue at; undefined: the next round is not due. */
async function beginAt(database: Queryable, now: number): Promise<number | undefined> {
  const [row] = await database.query<{ block: bigint | null; hasRested: boolean }>(selectProgress, [now / 1000]);
  if (row === undefined) throw new Error('the progress of pruning text calls has no row');
  if (row.block !== null) return Number(row.block);
  return row.hasRested ? 0 : undefined;
}

const advance: Statement = {
  name: 'advance_text_pruning',
  text: 'UPDATE text_pruning_progress SET block = $1',
};
const endRound: Statement = {
  name: 'end_text_pruning_round',
  text: 'UPDATE text_pruning_progress SET block = NULL, round_ended_at = to_timestamp($1::float8)',
};

interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** @returns how many it pruned. */
async function prunePage(database: Database, range: BlockRange, options: CallPruneOptions): Promise<number> {
  const settledBefore = (options.now - options.retentionDays * MS_PER_DAY) / 1000;
  for (let exports = 1; ; exports += 1) {
    const calls = await readPage(database, settledBefore, range);
    try {
      const isDone = calls.length === 0 || (await pruneTogether(database, calls, settledBefore, options));
      if (!isDone && exports < MAX_EXPORTS) continue;
      await database.query(advance, [range.to]);
      return isDone ? calls.length : 0;
    } catch (error) {
      // Where a dependency is not available, the same page can succeed later. Any other fault may be the page's own.
      const isUnavailable = error instanceof StoreUnavailableError || error instanceof DatabaseUnavailableError;
      if (!isUnavailable && !options.signal.aborted) await database.query(advance, [range.to]);
      throw error;
    }
  }
}

/** @returns false: none was pruned, because some have changed since they were read, or another pass has them. */
function pruneTogether(
  database: Database,
  calls: readonly PrunableCall[],
  settledBefore: number,
  { store, signal }: CallPruneOptions,
): Promise<boolean> {
  return exportAndDelete(store, 'text-calls', calls, signal, (archive) =>
    database.transaction((transaction) => deleteExported(transaction, calls, archive, settledBefore)),
  );
}

const insertArchive: Statement = {
  name: 'insert_text_call_archive',
  text: `INSERT INTO text_call_archives (object_key, size_bytes, sha256, calls, first_created_at, last_created_at)
         SELECT $2, $3, $4, count(*), min(created_at), max(created_at) FROM text_calls WHERE id = ANY ($1)`,
};

/** What is kept of the calls is what other statements compute from them: the sums of spend caps, and what is estimated. */
const deleteCalls: Statement = {
  name: 'delete_pruned_text_calls',
  text: `WITH gone AS (DELETE FROM text_calls WHERE id = ANY ($1) RETURNING *),
         forgotten AS (
           DELETE FROM text_call_end_users e USING gone g WHERE e.call_id = g.id),
         spent AS (
           INSERT INTO pruned_text_spend AS p (cap_id, day, spent_micro_usd)
           SELECT u.cap_id, (g.created_at AT TIME ZONE 'UTC')::date, sum(g.captured_micro_usd)
             FROM gone g CROSS JOIN LATERAL unnest(g.spend_cap_ids) AS u (cap_id)
            WHERE g.process_id IS NOT NULL AND g.captured_micro_usd > 0
            GROUP BY 1, 2 ORDER BY 1, 2
           ON CONFLICT (cap_id, day) DO UPDATE SET spent_micro_usd = p.spent_micro_usd + excluded.spent_micro_usd)
         INSERT INTO pruned_estimated_calls (id)
         SELECT id FROM gone WHERE is_estimated AND process_id IS NOT NULL AND captured_micro_usd > 0`,
};

/** @returns whether it deleted them: all, or none if one has changed since or another pass has it. */
async function deleteExported(
  transaction: Queryable,
  exported: readonly PrunableCall[],
  { objectKey, sizeBytes, sha256 }: StoredArchive,
  settledBefore: number,
): Promise<boolean> {
  const ids = await lockUnchanged(transaction, exported, settledBefore);
  if (ids.length < exported.length) return false;
  await transaction.query(insertArchive, [ids, objectKey, sizeBytes, sha256]);
  await transaction.query(deleteCalls, [ids]);
  return true;
}
