/**
 * The list of an account's stored outputs (contract §5), newest first, a page at a time. Each combination of filters is
 * a statement of its own, so that each is planned with the index that fits it.
 */
import { MAX_PAGED_OUTPUTS } from '@darkroom/api/facts/limits';
import type { OutputStatus } from '@darkroom/api/facts/storage';
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { RETENTION_END } from './outputs.ts';

/** A stored output as the list shows it. Times are Unix seconds. */
export interface StoredOutput {
  readonly id: string;
  readonly taskId: TaskId;
  readonly position: number;
  readonly model: string;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly storageTier: 'temp' | 'persistent';
  readonly status: OutputStatus;
  readonly createdAt: number;
  /** Null for persistent ones. */
  readonly retainUntil: number | null;
}

export interface OutputFilters {
  readonly storageTier?: 'temp' | 'persistent' | undefined;
  readonly taskId?: string | undefined;
  readonly type?: string | undefined;
  /** Absent: everything that is not gone. */
  readonly status?: OutputStatus | undefined;
}

export interface OutputPage {
  readonly items: readonly StoredOutput[];
  /** Exact up to `MAX_PAGED_OUTPUTS`, then capped. */
  readonly total: number;
  readonly isTotalCapped: boolean;
}

const IS_KEPT = `gone_at IS NULL AND (retain_until IS NULL OR ${RETENTION_END} > $2)`;

// The index of kept outputs is for `gone_at IS NULL`; the few that have ended since are filtered out.
const CONDITIONS: Record<'kept' | OutputStatus, string> = {
  kept: IS_KEPT,
  available: `${IS_KEPT} AND pending_since IS NULL`,
  pending: `${IS_KEPT} AND pending_since IS NOT NULL`,
  deleted: `(gone_at IS NOT NULL OR ${RETENTION_END} <= $2)`,
};

const COLUMNS = `id, task_id AS "taskId", position, model, type, mime_type AS "mimeType",
  size_bytes::float8 AS "sizeBytes", storage_tier AS "storageTier",
  CASE WHEN gone_at IS NOT NULL OR ${RETENTION_END} <= $2 THEN 'deleted'
       WHEN pending_since IS NOT NULL THEN 'pending' ELSE 'available' END AS status,
  floor(extract(epoch FROM created_at))::float8 AS "createdAt",
  floor(extract(epoch FROM retain_until))::float8 AS "retainUntil"`;

/**
 * Lists outputs.
 *
 * @param page from 1. @param now milliseconds since 1970: decides what is kept.
 */
export async function listOutputs(
  database: Queryable,
  accountId: string,
  filters: OutputFilters,
  options: { readonly page: number; readonly size: number; readonly now: number },
): Promise<OutputPage> {
  const { where, values, suffix } = conditionsOf(filters);
  const offset = (options.page - 1) * options.size;
  const bound = [accountId, new Date(options.now), ...values];
  const select: Statement = {
    name: `list_outputs${suffix}`,
    text: `SELECT ${COLUMNS} FROM outputs WHERE ${where} ORDER BY created_at DESC, id DESC
           LIMIT $${bound.length + 1} OFFSET $${bound.length + 2}`,
  };
  const count: Statement = {
    name: `count_outputs${suffix}`,
    text: `SELECT count(*)::integer AS total
             FROM (SELECT 1 FROM outputs WHERE ${where} LIMIT ${MAX_PAGED_OUTPUTS + 1}) AS counted`,
  };
  const items = await database.query<StoredOutput>(select, [...bound, options.size, offset]);
  // A page that is not full ends the list: it need not be counted.
  const isLast = items.length < options.size && (items.length > 0 || offset === 0);
  const total = isLast ? offset + items.length : await countOf(database, count, bound);
  return { items, total: Math.min(total, MAX_PAGED_OUTPUTS), isTotalCapped: total > MAX_PAGED_OUTPUTS };
}

async function countOf(database: Queryable, statement: Statement, values: readonly unknown[]): Promise<number> {
  const [row] = await database.query<{ total: number }>(statement, values);
  return row?.total ?? 0;
}

/** `$1` is the account, `$2` the time; the filters that are given follow. */
function conditionsOf(filters: OutputFilters): { where: string; values: unknown[]; suffix: string } {
  const status = filters.status ?? 'kept';
  const conditions = ['account_id = $1', CONDITIONS[status]];
  const values: unknown[] = [];
  let suffix = `_${status}`;
  for (const [column, value] of [
    ['storage_tier', filters.storageTier],
    ['task_id', filters.taskId],
    ['type', filters.type],
  ] as const) {
    if (value === undefined) continue;
    values.push(value);
    conditions.push(`${column} = $${values.length + 2}`);
    suffix += `_${column}`;
  }
  return { where: conditions.join(' AND '), values, suffix };
}
