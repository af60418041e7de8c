/**
 * Accepting a task: one statement that is one transaction, in which the hold, the task, its idempotency key, its first
 * event, its callback and its outbox row come into being together or not at all (architecture, "The way of one task").
 * It crosses rooms on purpose: a create may cost two round trips beside authentication's, the key's look-up and this.
 */
import type { Database, Statement } from '../database/database.ts';
import { UniqueViolationError } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Fingerprint } from './fingerprint.ts';

/** Everything that is decided about a task before it exists. */
export interface NewTask {
  readonly id: TaskId;
  readonly accountId: string;
  readonly keyId: string;
  readonly idempotencyKey: string | undefined;
  readonly fingerprint: Fingerprint;
  /** The resolved full name: `base` or `base@route`. */
  readonly model: string;
  /** Undefined for models without routes. */
  readonly route: string | undefined;
  readonly definitionHash: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly storage: 'temp' | 'persistent';
  readonly timeoutSeconds: number | undefined;
  readonly queuedSeconds: number;
  readonly callbackUrl: string | undefined;
  readonly holdMicroUsd: bigint;
}

/** The same Idempotency-Key came with another body (contract §1: 422). */
export class IdempotencyMismatchError extends Error {
  override readonly name = 'IdempotencyMismatchError';

  constructor() {
    super('this Idempotency-Key was used with a different request body; use a new key for a new request');
  }
}

/** The available balance does not cover the worst case (spec §1.6). */
export class InsufficientBalanceError extends Error {
  override readonly name = 'InsufficientBalanceError';
  readonly availableMicroUsd: bigint;
  readonly neededMicroUsd: bigint;
  readonly accountId: string;

  constructor(accountId: string, availableMicroUsd: bigint, neededMicroUsd: bigint) {
    super('the available balance does not cover the worst-case cost');
    this.accountId = accountId;
    this.availableMicroUsd = availableMicroUsd;
    this.neededMicroUsd = neededMicroUsd;
  }
}

/** As many tasks wait as the account may have waiting (contract §7). */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  readonly queueCap: number;

  constructor(queueCap: number) {
    super(`${queueCap} tasks are waiting already`);
    this.queueCap = queueCap;
  }
}

const selectByKey: Statement = {
  name: 'select_task_by_idempotency_key',
  text: 'SELECT id, fingerprint FROM tasks WHERE account_id = $1 AND idempotency_key = $2',
};

/**
 * Looks an Idempotency-Key up: the task that it created, if it did.
 *
 * @throws {IdempotencyMismatchError} it created one from another body.
 */
export async function findReplay(
  database: Database,
  accountId: string,
  idempotencyKey: string,
  fingerprint: Fingerprint,
): Promise<TaskId | undefined> {
  const [row] = await database.query<{ id: TaskId; fingerprint: Buffer }>(selectByKey, [accountId, idempotencyKey]);
  if (row === undefined) return undefined;
  if (!row.fingerprint.equals(fingerprint.hash)) throw new IdempotencyMismatchError();
  return row.id;
}

const acceptTask: Statement = {
  name: 'accept_task',
  text: `WITH hold AS (
           UPDATE account_counters
              SET available_micro_usd = available_micro_usd - $15::bigint,
                  held_micro_usd = held_micro_usd + $15::bigint,
                  queued = queued + 1
            WHERE account_id = $2 AND available_micro_usd >= $15::bigint AND queued + running < queue_cap + running_cap
        RETURNING account_id),
         task AS (
           INSERT INTO tasks (id, account_id, key_id, idempotency_key, fingerprint, fingerprint_version, model, route,
                              definition_hash, input, metadata, storage, timeout_seconds, queue_deadline_at,
                              held_micro_usd)
           SELECT $1, account_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                  now() + make_interval(secs => $14), $15::bigint
             FROM hold
        RETURNING id, account_id),
         entry AS (
           INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id)
           SELECT account_id, 'hold', id, $15::bigint, $3 FROM task),
         event AS (
           INSERT INTO task_events (task_id, seq, type) SELECT id, 1, 'accepted' FROM task),
         callback AS (
           INSERT INTO callbacks (task_id, account_id, url)
           SELECT id, account_id, $16 FROM task WHERE $16::text IS NOT NULL),
         start AS (
           INSERT INTO outbox (kind, account_id, task_id, is_ready) SELECT 'start_task', account_id, id, false FROM task)
         SELECT id FROM task`,
};

const selectCounters: Statement = {
  name: 'select_counters_for_refusal',
  text: `SELECT available_micro_usd, queue_cap, queued + running >= queue_cap + running_cap AS is_full
           FROM account_counters WHERE account_id = $1`,
};

/** What accepting came to: a new task, or the one that the same key created a moment before. */
export interface Acceptance {
  readonly taskId: TaskId;
  readonly isReplay: boolean;
}

/**
 * Accepts a task, holding its worst-case cost.
 *
 * @throws {InsufficientBalanceError} @throws {QueueFullError} nothing was accepted, and the key is not used up.
 * @throws {IdempotencyMismatchError} another body won the key a moment before.
 */
export async function accept(database: Database, task: NewTask): Promise<Acceptance> {
  // Twice: between a refusal and reading why, a top-up or a settlement may have made room.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (await tryAccept(database, task)) return { taskId: task.id, isReplay: false };
    // Contract §2: too little money or a conflict, and the key is looked up once more before that is answered.
    if (task.idempotencyKey !== undefined) {
      const replayed = await findReplay(database, task.accountId, task.idempotencyKey, task.fingerprint);
      if (replayed !== undefined) return { taskId: replayed, isReplay: true };
    }
    await refuse(database, task);
  }
  throw new QueueFullError(0);
}

/** @returns whether the task was inserted. */
async function tryAccept(database: Database, task: NewTask): Promise<boolean> {
  try {
    const rows = await database.query(acceptTask, [
      task.id,
      task.accountId,
      task.keyId,
      task.idempotencyKey ?? null,
      task.fingerprint.hash,
      task.fingerprint.version,
      task.model,
      task.route ?? null,
      task.definitionHash,
      JSON.stringify(task.input),
      task.metadata === undefined ? null : JSON.stringify(task.metadata),
      task.storage,
      task.timeoutSeconds ?? null,
      task.queuedSeconds,
      task.holdMicroUsd,
      task.callbackUrl ?? null,
    ]);
    return rows.length === 1;
  } catch (error) {
    // The same key won meanwhile: the whole statement, hold included, was rolled back.
    if (error instanceof UniqueViolationError) return false;
    throw error;
  }
}

/** Says why nothing was accepted; returns where the reason is gone by now. */
async function refuse(database: Database, task: NewTask): Promise<void> {
  const [row] = await database.query<{ available_micro_usd: bigint; queue_cap: number; is_full: boolean }>(
    selectCounters,
    [task.accountId],
  );
  if (row === undefined) throw new Error('an authenticated account has no counters');
  if (row.available_micro_usd < task.holdMicroUsd) {
    throw new InsufficientBalanceError(task.accountId, row.available_micro_usd, task.holdMicroUsd);
  }
  if (row.is_full) throw new QueueFullError(row.queue_cap);
}
