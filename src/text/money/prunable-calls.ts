/**
 * Which text calls may be pruned (docs/decisions/0026), page by page: in the order in which the table stores them, which
 * is roughly that of their times, whatever account they are of, and needs no index. Nothing is written here, and no row is
 * locked.
 */
import type { Queryable, Statement } from '../../database/database.ts';

/**
 * How many blocks of the table a page has: some 2,500 calls, which are one object and one transaction.
 */
export const PAGE_BLOCKS = 64;

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
export async function countBlocks(database: Queryable): Promise<number> {
  const [row] = await database.query<{ blocks: bigint }>(selectSize);
  return Number(row?.blocks ?? 0n);
}

/** A call as it is exported. */
export interface PrunableCall {
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

/** Reads the calls of some blocks that may be pruned, oldest first. @param settledBefore seconds since 1970. */
export function readPage(
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
export async function lockUnchanged(
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
