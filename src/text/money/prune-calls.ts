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

/** A round reads the whole table, so it rests for a day before the next one. */
const REST_SECONDS = 86_400;
const MS_PER_DAY = 86_400_000;
/** How many blocks of the table a page has: some 2,500 calls, which are one object and one transaction. */
const PAGE_BLOCKS = 64;

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

const AMOUNT = (kind: 'hold' | 'capture' | 'release'): string =>
  `(SELECT e.amount_micro_usd FROM ledger_entries e
     WHERE e.kind = '${kind}' AND e.reference = t.id AND e.account_id = t.account_id)`;

/**
 * SQL over `text_calls t`: the ledger has its whole money, as `ledger verify` compares it, so that the ledger alone can
 * stand for it. A call with which something is wrong stays as the evidence. One that captured nothing has a release,
 * whatever it held. A row without a process is no call and has no entry (migrations/0005_text.sql).
 */
const IS_IN_LEDGER = `CASE WHEN t.process_id IS NULL THEN ${AMOUNT('hold')} IS NULL
       ELSE ${AMOUNT('hold')} = t.held_micro_usd
        AND coalesce(${AMOUNT('capture')}, 0) = t.captured_micro_usd
        AND coalesce(${AMOUNT('release')}, CASE WHEN t.captured_micro_usd > 0 THEN 0 END)
            = t.held_micro_usd - t.captured_micro_usd
       END`;

/**
 * SQL over `text_calls t`, with the end of the retention as $1, in seconds since 1970. Reports beyond a hold are proven
 * by the call, and few: those calls stay. One that has a record in the background may still be worked on.
 */
const IS_PRUNABLE = `(t.settled_at < to_timestamp($1::float8) AND t.due_micro_usd IS NULL
  AND (SELECT 1 FROM background_calls b WHERE b.id = t.id LIMIT 1) IS NULL
  AND ${IS_IN_LEDGER})`;

/** A call as it is exported: its row, with the names of its columns, and the version of this form. */
const LINE = `(jsonb_build_object('format', 1) || to_jsonb(t))::text`;
const HASH = `encode(sha256(convert_to(${LINE}, 'UTF8')), 'hex')`;

const selectSize: Statement = {
  name: 'select_blocks_of_text_calls',
  text: `SELECT pg_relation_size('text_calls') / current_setting('block_size')::bigint AS blocks`,
};

/** @returns how many blocks the table has. */
async function countBlocks(database: Queryable): Promise<number> {
  const [row] = await database.query<{ blocks: bigint }>(selectSize);
  return Number(row?.blocks ?? 0n);
}

/** A call as it is exported. */
interface PrunableCall {
  readonly id: string;
  /** ISO 8601, to the second. */
  readonly createdAt: string;
  readonly line: string;
  /** Of the line. */
  readonly sha256: string;
}

const selectPage: Statement = {
  name: 'select_text_calls_to_export',
  text: `SELECT t.id, to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "createdAt",
                ${LINE} AS line, ${HASH} AS sha256
           FROM text_calls t
          WHERE t.ctid >= $2::tid AND t.ctid < $3::tid AND ${IS_PRUNABLE}
          ORDER BY t.created_at, t.id`,
};

/**
 * Reads the calls of some blocks that may be pruned, oldest first. The blocks come in the order in which the table
 * stores them, which is roughly that of their times, whatever account they are of, and needs no index.
 *
 * @param settledBefore seconds since 1970.
 */
function readPage(
  database: Queryable,
  settledBefore: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly PrunableCall[]> {
  return database.query<PrunableCall>(selectPage, [settledBefore, `(${from},0)`, `(${to},0)`]);
}

const lockCalls: Statement = {
  name: 'lock_text_calls_to_prune',
  text: 'SELECT id FROM text_calls WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED',
};
/**
 * In a statement of its own, which sees what others committed before the rows were locked. A settled call changes only
 * if the database lost its settlement (docs/decisions/0005), and then it is not what was exported.
 */
const selectUnchanged: Statement = {
  name: 'select_unchanged_text_calls_to_prune',
  text: `SELECT t.id FROM unnest($2::text[], $3::text[]) AS exported (id, sha256)
          CROSS JOIN LATERAL (SELECT * FROM text_calls WHERE id = exported.id LIMIT 1) t
          WHERE ${IS_PRUNABLE} AND ${HASH} = exported.sha256`,
};

/**
 * Locks exported calls until the end of the transaction.
 *
 * @returns those that are still as they were exported, and that no other pass has.
 */
async function lockUnchanged(
  transaction: Queryable,
  exported: readonly PrunableCall[],
  settledBefore: number,
): Promise<readonly string[]> {
  const locked = await transaction.query<{ id: string }>(lockCalls, [exported.map(({ id }) => id)]);
  const ids = new Set(locked.map(({ id }) => id));
  const own = exported.filter(({ id }) => ids.has(id));
  const unchanged = await transaction.query<{ id: string }>(selectUnchanged, [
    settledBefore,
    own.map(({ id }) => id),
    own.map(({ sha256 }) => sha256),
  ]);
  return unchanged.map(({ id }) => id);
}
