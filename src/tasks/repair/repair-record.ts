/**
 * The record of what the repair has done, in all processes together: for operators, who see in it what went wrong
 * without being noticed. It is written in the transaction of the repair, behind a savepoint: what cannot be recorded
 * is logged and repaired all the same. The pass that repairs also prunes it.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { REPAIR_KINDS } from '@darkroom/api/facts/repair-kind';
import type { RepairKind } from '@darkroom/api/facts/repair-kind';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import { MAX_REPAIR_RECORDS, REPAIR_RETENTION_DAYS } from '@darkroom/api/facts/limits';

/** What was done about a task. */
export interface NewRepair {
  readonly kind: RepairKind;
  readonly taskId: TaskId;
  /** The status it was found in; null where the repair concerned its callback. */
  readonly found: TaskStatus | null;
}

const savepoint: Statement = { name: 'savepoint_repair', text: 'SAVEPOINT repair_record' };
const release: Statement = { name: 'release_repair', text: 'RELEASE SAVEPOINT repair_record' };
const rollBack: Statement = { name: 'roll_back_repair', text: 'ROLLBACK TO SAVEPOINT repair_record' };

const insert: Statement = {
  name: 'insert_repairs',
  text: `INSERT INTO repairs (kind, task_id, found) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])`,
};

/**
 * Records repairs in the transaction that makes them. Never fails them: where the record cannot be written, the
 * transaction continues without it.
 *
 * @throws {DatabaseUnavailableError} the database became unavailable, and the transaction with it.
 */
export async function recordRepairs(
  transaction: Queryable,
  repairs: readonly NewRepair[],
  logger: Logger,
): Promise<void> {
  if (repairs.length === 0) return;
  await transaction.query(savepoint);
  try {
    await transaction.query(insert, [
      repairs.map(({ kind }) => kind),
      repairs.map(({ taskId }) => taskId),
      repairs.map(({ found }) => found),
    ]);
    await transaction.query(release);
  } catch (error) {
    await transaction.query(rollBack);
    logger.warn({ err: error, repairs: repairs.length }, 'repairs were made but could not be recorded');
  }
}
/** The maximum number of rows that one statement deletes. A pass adds fewer rows in its minute. */
const PRUNED_AT_ONCE = 20_000;

const prune: Statement = {
  name: 'prune_repairs',
  text: `WITH old AS (
           SELECT id FROM repairs
            WHERE at < now() - make_interval(days => ${REPAIR_RETENTION_DAYS})
               OR id <= (SELECT max(id) FROM repairs) - $1::bigint
            ORDER BY at, id LIMIT ${PRUNED_AT_ONCE})
         DELETE FROM repairs r USING old WHERE r.id = old.id RETURNING r.id`,
};

/**
 * Deletes records that are no longer kept. Never fails: the next pass does it as well.
 *
 * @param most how many are kept.
 * @returns how many were deleted.
 */
export async function pruneRepairs(
  database: Queryable,
  logger: Logger,
  most: number = MAX_REPAIR_RECORDS,
): Promise<number> {
  try {
    return (await database.query(prune, [most])).length;
  } catch (error) {
    logger.warn({ err: error }, 'pruning the records of repairs failed');
    return 0;
  }
}

/** A repair, with what is known of its task. */
export interface RecordedRepair extends NewRepair {
  readonly id: bigint;
  readonly at: Date;
  /** Its position in the list, in microseconds since 1970. */
  readonly createdMicros: bigint;
  /** Null: the task no longer exists. */
  readonly accountId: string | null;
  readonly model: string | null;
}

/** The repair after which a page begins. */
export interface RepairPosition {
  readonly createdMicros: bigint;
  readonly id: bigint;
}

/** The position is always compared, so that every plan begins there. */
const selectPage: Statement = {
  name: 'select_repairs',
  text: `SELECT r.id, r.at, (extract(epoch FROM r.at) * 1000000)::bigint AS "createdMicros", r.kind,
                r.task_id AS "taskId", r.found, t.account_id AS "accountId", t.model
           FROM (SELECT * FROM repairs
                  WHERE (at, id) < (coalesce(timestamptz 'epoch' + $1::bigint * interval '1 microsecond', 'infinity'),
                                    coalesce($2::bigint, 0))
                    AND ($3::text[] IS NULL OR kind = ANY ($3))
                  ORDER BY at DESC, id DESC LIMIT $4) r
           LEFT JOIN tasks t ON t.id = r.task_id
          ORDER BY r.at DESC, r.id DESC`,
};

/** @returns at most `size` repairs, newest first, and whether there are more. */
export async function listRepairs(
  database: Queryable,
  {
    size,
    after,
    kinds,
  }: {
    readonly size: number;
    readonly after?: RepairPosition | undefined;
    readonly kinds?: readonly RepairKind[] | undefined;
  },
): Promise<{ readonly repairs: readonly RecordedRepair[]; readonly hasMore: boolean }> {
  const values = [after?.createdMicros ?? null, after?.id ?? null, kinds ?? null, size + 1];
  const rows = await database.query<RecordedRepair>(selectPage, values);
  return { repairs: rows.slice(0, size), hasMore: rows.length > size };
}

/** How many repairs of a kind there were. */
export interface RepairCount {
  readonly kind: RepairKind;
  /** The number of repairs in the last 24 hours. */
  readonly day: number;
  /** The number of repairs in the last 30 days, as far as they are retained. */
  readonly month: number;
}

const selectCounts: Statement = {
  name: 'count_repairs',
  text: `SELECT kind, count(*) FILTER (WHERE at > now() - interval '24 hours')::integer AS day, count(*)::integer AS month
           FROM repairs WHERE at > now() - make_interval(days => ${REPAIR_RETENTION_DAYS}) GROUP BY kind`,
};

/** Counts the repairs of every kind, in the order of the kinds. */
export async function countRepairs(database: Queryable): Promise<readonly RepairCount[]> {
  const rows = await database.query<RepairCount>(selectCounts);
  return REPAIR_KINDS.map((kind) => rows.find((row) => row.kind === kind) ?? { kind, day: 0, month: 0 });
}
