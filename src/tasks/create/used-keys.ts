/**
 * Idempotency keys (contract §1): the tasks that they created, whether or not those were pruned since
 * (docs/decisions/0026).
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Fingerprint } from '../record/fingerprint.ts';

/** The same Idempotency-Key was used for another request (contract §1: 422). */
export class IdempotencyMismatchError extends DarkroomError {
  override readonly name = 'IdempotencyMismatchError';
  override readonly kind = 'idempotency_key_mismatch';

  constructor(use = 'with a different request body', options?: ErrorOptions) {
    super(`this Idempotency-Key was used ${use}; use a new key for a new request`, options);
  }
}

const selectByKey: Statement = {
  name: 'select_task_by_idempotency_key',
  text: `SELECT id, fingerprint FROM tasks WHERE account_id = $1 AND idempotency_key = $2
         UNION ALL
         SELECT task_id, fingerprint FROM pruned_tasks WHERE task_id = $3 AND account_id = $1`,
};

/** An Idempotency-Key of an account, with what it names. */
export interface KeyUse {
  readonly accountId: string;
  readonly idempotencyKey: string;
  /** The id of the task that the key names. A pruned task is found by it (docs/decisions/0026). */
  readonly taskId: TaskId;
  readonly fingerprint: Fingerprint;
}

/**
 * Looks up an Idempotency-Key: the task that it created, if it did, whether or not that was pruned since.
 *
 * @throws {IdempotencyMismatchError} it created one from another body.
 */
export async function findReplay(
  database: Database,
  { accountId, idempotencyKey, taskId, fingerprint }: KeyUse,
): Promise<TaskId | undefined> {
  const values = [accountId, idempotencyKey, taskId];
  const [row] = await database.query<{ id: TaskId; fingerprint: Buffer }>(selectByKey, values);
  if (row === undefined) return undefined;
  if (!row.fingerprint.equals(fingerprint.hash)) throw new IdempotencyMismatchError();
  return row.id;
}

const selectByKeys: Statement = {
  name: 'select_tasks_by_idempotency_keys',
  text: `SELECT t.id, t.idempotency_key AS key, t.fingerprint
           FROM unnest($2::text[]) AS wanted (key)
          CROSS JOIN LATERAL (
                SELECT id, idempotency_key, fingerprint FROM tasks
                 WHERE account_id = $1 AND idempotency_key = wanted.key LIMIT 1) t
         UNION ALL
         SELECT p.task_id, wanted.key, p.fingerprint
           FROM unnest($2::text[], $3::text[]) AS wanted (key, id)
          CROSS JOIN LATERAL (
                SELECT task_id, fingerprint FROM pruned_tasks
                 WHERE task_id = wanted.id AND account_id = $1 LIMIT 1) p`,
};

/** What a key is used for: the request, and the id of the task that the key names. */
export interface Wanted {
  readonly taskId: TaskId;
  readonly fingerprint: Fingerprint;
}

/** The task that a key created. */
export interface Replay {
  readonly taskId: TaskId;
  readonly isReplay: true;
}

/**
 * The tasks that some keys created, whether or not they were pruned since.
 *
 * @returns by the key: the task, or that another body used the key; nothing for keys that are not used.
 */
export async function findReplays(
  database: Queryable,
  accountId: string,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<ReadonlyMap<string, Replay | IdempotencyMismatchError>> {
  if (wanted.size === 0) return new Map();
  const rows = await database.query<{ id: TaskId; key: string; fingerprint: Buffer }>(selectByKeys, [
    accountId,
    [...wanted.keys()],
    [...wanted.values()].map(({ taskId }) => taskId),
  ]);
  return new Map(
    rows.map(({ id, key, fingerprint }) => {
      const isSame = wanted.get(key)?.fingerprint.hash.equals(fingerprint) === true;
      return [key, isSame ? { taskId: id, isReplay: true as const } : new IdempotencyMismatchError()];
    }),
  );
}
