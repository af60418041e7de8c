/**
 * Accepting tasks: one statement that is one transaction, in which the hold, the task, its idempotency key, its first
 * event, its callback and its outbox row are created together or not at all (architecture, "One task, step by step").
 * It crosses modules on purpose: a create may cost two round trips in addition to authentication's, the lookup of the
 * key and this. Requests reach it through `accept-queue.ts`, which brings those of one account together.
 */
import { InsufficientBalanceError } from '../../billing/ledger.ts';
import { chargeSpendCaps } from '../../billing/spend-caps.ts';
import { IS_WALLET, isSharedWallet } from '../../accounts/wallet.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { UniqueViolationError } from '../../database/database.ts';
import { recordsIn } from '../../database/row-statement.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Fingerprint } from '../record/fingerprint.ts';
import { requestHashOf } from '../record/fingerprint.ts';
import { OUTBOX_LEASE_SECONDS } from '../outbox/outbox.ts';
import type { OutboxItem } from '../outbox/outbox.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { IdempotencyMismatchError, findReplay } from './used-keys.ts';

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
  /** The validated input as JSON text, serialised once: the queue measures it, and it is stored as it is. */
  readonly inputJson: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly storage: 'temp' | 'persistent';
  readonly timeoutSeconds: number | undefined;
  readonly queuedSeconds: number;
  readonly callbackUrl: string | undefined;
  readonly holdMicroUsd: bigint;
  /** What the price is multiplied by, in the hold and later in what is captured; undefined: it is not. */
  readonly priceFactor: string | undefined;
  /** The batch whose line it is, if it is one. */
  readonly batchId: string | undefined;
  /** Keys of objects of ours that the input refers to: their bytes are retained until the task has ended. */
  readonly inputObjects: readonly string[];
  /** The caps that the key's spending counts against; none for most keys. */
  readonly spendCapIds: readonly string[];
  /** The request that waits for the result on its connection (awaited-responses.ts). */
  readonly waiter: string | undefined;
}

/** The account has reached its limit of queued tasks (contract §7). */
export class QueueFullError extends DarkroomError {
  override readonly name = 'QueueFullError';
  override readonly kind = 'rate_limited';
  override readonly retryAfterSeconds = 10;
  readonly queueCap: number;

  constructor(queueCap: number) {
    super(`${queueCap} tasks are waiting already`);
    this.queueCap = queueCap;
  }

  override get publicMessage(): string {
    return 'as many tasks are waiting as this account may have waiting; retry when some have finished';
  }
}

/** The members of a new task's record (`recordOf`). */
const NEW_TASK_COLUMNS = {
  id: 'text',
  key_id: 'text',
  idempotency_key: 'text',
  fingerprint: 'bytea',
  fingerprint_version: 'smallint',
  model: 'text',
  route: 'text',
  definition_hash: 'text',
  input: 'jsonb',
  metadata: 'jsonb',
  storage: 'text',
  timeout_seconds: 'integer',
  queued_seconds: 'float8',
  held_micro_usd: 'bigint',
  callback_url: 'text',
  input_objects: 'text[]',
  spend_cap_ids: 'text[]',
  waiter: 'text',
  price_factor: 'text',
  batch_id: 'text',
} as const;

/** SQL over `c`, the account's counters, and `t`, the new tasks together. */
const HAS_ROOM = `t.tasks > 0 AND c.queued + c.running + t.tasks <= c.queue_cap + c.running_cap`;
const TAKE_SLOTS = `(running, queued) = (
                    SELECT c.running + a.admitted, c.queued + t.tasks - a.admitted
                      FROM (SELECT CASE WHEN $3 AND c.queued = 0 AND NOT c.is_suspended
                                        THEN least(t.tasks, greatest(c.running_cap - c.running, 0))
                                        ELSE 0 END AS admitted) a),
                  tasks_total = c.tasks_total + t.tasks`;
/** Of the row as it is then: what was admitted found nothing waiting, so the rest of it is all that waits. */
const ADMITTED = 'greatest(t.tasks - c.queued, 0) AS admitted';

/**
 * Looks up the keys and accepts what is new. A task of an account with a free slot and nothing waiting is admitted to
 * it at once and claimed for the process that accepts it, which spares the launcher a statement that locks the same
 * account's row; where that process dies, its claim comes due again like any other (outbox.ts). The lookup is a plain
 * read before the account's row is locked: a replay must wait neither for its account nor for a settlement of its
 * task, which takes these two locks in the opposite order. LATERAL with a limit keeps it on the index, whatever the
 * planner assumes about the table's size. The key of a pruned task is found by the id that it names.
 *
 * `own` takes slots and money from the account's row. Where its wallet is another row (docs/decisions/0014), `sharer`
 * locks the account, `wallet` then takes the money, and only then `slots` the slots: all of it or nothing.
 */
const acceptTasks: Statement = {
  name: 'accept_tasks',
  text: `WITH wanted AS (
           SELECT * FROM ${recordsIn('$2', NEW_TASK_COLUMNS, 'w')}),
         used AS (
           SELECT t.id, t.idempotency_key, t.fingerprint
             FROM wanted w
            CROSS JOIN LATERAL (
                  SELECT id, idempotency_key, fingerprint FROM tasks
                   WHERE account_id = $1 AND idempotency_key = w.idempotency_key LIMIT 1) t
            UNION ALL
           SELECT p.task_id, w.idempotency_key, p.fingerprint
             FROM wanted w
            CROSS JOIN LATERAL (
                  SELECT task_id, fingerprint FROM pruned_tasks
                   WHERE task_id = w.id AND account_id = $1 LIMIT 1) p
            WHERE w.idempotency_key IS NOT NULL),
         fresh AS (
           SELECT w.*, row_number() OVER (ORDER BY place) AS number,
                  coalesce(sum(held_micro_usd) OVER (ORDER BY place DESC) - held_micro_usd, 0)::bigint AS held_behind
             FROM wanted w
            WHERE NOT EXISTS (SELECT 1 FROM used u WHERE u.idempotency_key = w.idempotency_key)),
         total AS (
           SELECT count(*)::integer AS tasks, sum(held_micro_usd)::bigint AS micro_usd FROM fresh),
         own AS (
           UPDATE account_counters c
              SET available_micro_usd = c.available_micro_usd - t.micro_usd,
                  held_micro_usd = c.held_micro_usd + t.micro_usd,
                  ${TAKE_SLOTS}
             FROM total t
            WHERE c.account_id = $1 AND c.wallet_id IS NULL AND c.available_micro_usd >= t.micro_usd AND ${HAS_ROOM}
        RETURNING c.account_id, c.wallet_id, c.available_micro_usd, c.held_micro_usd, ${ADMITTED}),
         sharer AS (
           SELECT c.wallet_id FROM account_counters c, total t
            WHERE c.account_id = $1 AND c.wallet_id IS NOT NULL AND ${HAS_ROOM}
              FOR NO KEY UPDATE OF c),
         wallet AS (
           UPDATE account_counters w
              SET available_micro_usd = w.available_micro_usd - t.micro_usd,
                  held_micro_usd = w.held_micro_usd + t.micro_usd
             FROM total t WHERE ${isSharedWallet('sharer')} AND w.available_micro_usd >= t.micro_usd
        RETURNING w.account_id AS wallet_id, w.available_micro_usd, w.held_micro_usd),
         slots AS (
           UPDATE account_counters c SET ${TAKE_SLOTS}
             FROM total t WHERE c.account_id = $1 AND EXISTS (SELECT FROM wallet)
        RETURNING c.account_id, ${ADMITTED}),
         hold AS (
           SELECT * FROM own
           UNION ALL
           SELECT s.account_id, w.wallet_id, w.available_micro_usd, w.held_micro_usd, s.admitted
             FROM slots s CROSS JOIN wallet w),
         task AS (
           INSERT INTO tasks (id, account_id, key_id, idempotency_key, fingerprint, fingerprint_version, model, route,
                              definition_hash, input, metadata, storage, timeout_seconds, queue_deadline_at,
                              held_micro_usd, price_factor, batch_id, spend_cap_ids)
           SELECT f.id, h.account_id, f.key_id, f.idempotency_key, f.fingerprint, f.fingerprint_version, f.model, f.route,
                  f.definition_hash, f.input, f.metadata, f.storage, f.timeout_seconds,
                  now() + make_interval(secs => f.queued_seconds), f.held_micro_usd, f.price_factor, f.batch_id,
                  f.spend_cap_ids
             FROM hold h, fresh f
        RETURNING id, created_at),
         entry AS (
           INSERT INTO ledger_entries (account_id, wallet_id, kind, reference, amount_micro_usd, key_id, model,
                                       available_after_micro_usd, held_after_micro_usd)
           SELECT h.account_id, h.wallet_id, 'hold', f.id, f.held_micro_usd, f.key_id, f.model,
                  h.available_micro_usd + f.held_behind, h.held_micro_usd - f.held_behind
             FROM hold h, fresh f ORDER BY f.place),
         pair AS (
           INSERT INTO task_metadata (account_id, pair, created_at, task_id)
           SELECT $1, metadata_pair(m.key, m.value), t.created_at, t.id
             FROM task t JOIN fresh f ON f.id = t.id, jsonb_each_text(f.metadata) m
            WHERE f.metadata IS NOT NULL),
         pin AS (
           INSERT INTO task_inputs (task_id, object_key)
           SELECT f.id, o FROM hold, fresh f, unnest(f.input_objects) o),
         awaited AS (
           INSERT INTO awaited_responses (task_id, account_id, key_id, fingerprint, waiter)
           SELECT f.id, h.account_id, f.key_id, f.fingerprint, f.waiter FROM hold h, fresh f WHERE f.waiter IS NOT NULL),
         event AS (
           INSERT INTO task_events (task_id, seq, type) SELECT id, 1, 'accepted' FROM task),
         callback AS (
           INSERT INTO callbacks (task_id, account_id, url)
           SELECT f.id, h.account_id, f.callback_url FROM hold h, fresh f WHERE f.callback_url IS NOT NULL),
         start AS (
           INSERT INTO outbox (kind, account_id, subject_id, is_ready, due_at, deliveries)
           SELECT 'start_task', $1, f.id, f.number <= h.admitted,
                  now() + CASE WHEN f.number <= h.admitted THEN make_interval(secs => $4) ELSE interval '0' END,
                  CASE WHEN f.number <= h.admitted THEN 1 ELSE 0 END
             FROM hold h, fresh f ORDER BY f.place
        RETURNING id, subject_id, is_ready)
         SELECT t.id, NULL::text AS "usedKey", NULL::bytea AS fingerprint, s.id AS "claimId"
           FROM task t LEFT JOIN start s ON s.subject_id = t.id AND s.is_ready
         UNION ALL
         SELECT id, idempotency_key, fingerprint, NULL FROM used`,
};

const selectCounters: Statement = {
  name: 'select_counters_for_refusal',
  text: `SELECT w.available_micro_usd, c.queue_cap, c.queued + c.running >= c.queue_cap + c.running_cap AS is_full
           FROM account_counters c JOIN account_counters w ON ${IS_WALLET}
          WHERE c.account_id = $1`,
};

/** The result of accepting: a new task, or the one that the same key created a moment before. */
export interface Acceptance {
  readonly taskId: TaskId;
  readonly isReplay: boolean;
  /** Its start, where it is admitted to a slot and claimed already: to be delivered by the process that accepted it. */
  readonly claimed?: OutboxItem;
}

/**
 * The outcome of a request among others. `acceptOne` finds the reason of `rejected`; `conflict`: a row of it, or of one
 * at the same time, existed already.
 */
export type AcceptOutcome = Acceptance | 'mismatch' | 'rejected' | 'conflict';

/**
 * Accepts a task by itself, holding its worst-case cost.
 *
 * @throws {InsufficientBalanceError} @throws {QueueFullError} @throws {SpendCapError} nothing was accepted, and the
 *   key is not used up.
 * @throws {IdempotencyMismatchError} another body used the key.
 * @throws {Error} rows of a task that does not exist prevent it: a task was deleted only in part.
 */
export async function acceptOne(database: Database, task: NewTask, mayClaim: boolean): Promise<Acceptance> {
  // Twice: between a rejection and reading its reason, a top-up or a settlement may have made room.
  let isConflict = false;
  for (let attempt = 0; attempt < 2; attempt++) {
    const [outcome = 'rejected'] = await acceptWithinCaps(database, task, mayClaim);
    if (outcome === 'mismatch') throw new IdempotencyMismatchError();
    if (typeof outcome === 'object') return outcome;
    isConflict = outcome === 'conflict';
    // Contract §2: too little money or a conflict, and the key is looked up once more before that is answered.
    const { id: taskId, accountId, idempotencyKey, fingerprint } = task;
    if (idempotencyKey !== undefined) {
      const replayed = await findReplay(database, { accountId, idempotencyKey, taskId, fingerprint });
      if (replayed !== undefined) return { taskId: replayed, isReplay: true };
    }
    await throwRejectionReason(database, task);
  }
  if (isConflict) throw new Error(`${task.id} is no task, and rows of it are there: see \`ledger verify\``);
  throw new QueueFullError(0);
}

/** The caps are charged in the accepting transaction, after it: exceeding one of them rolls everything back. */
function acceptWithinCaps(database: Database, task: NewTask, mayClaim: boolean): Promise<readonly AcceptOutcome[]> {
  if (task.spendCapIds.length === 0) return acceptTogether(database, task.accountId, [task], mayClaim);
  return database.transaction(async (transaction) => {
    const outcomes = await acceptTogether(transaction, task.accountId, [task], mayClaim);
    const [outcome] = outcomes;
    if (typeof outcome === 'object' && !outcome.isReplay) {
      await chargeSpendCaps(transaction, task.spendCapIds, task.holdMicroUsd);
    }
    return outcomes;
  });
}

/**
 * Accepts tasks of one account in one statement. Those whose key was used before are replays; of the others all are
 * accepted or none: none where the balance or the queue cannot take all, or a key was used at this very moment.
 *
 * @param mayClaim whether the caller delivers the starts of admitted tasks itself, at once.
 * @returns the outcome of each, in their order.
 */
export async function acceptTogether(
  database: Queryable,
  accountId: string,
  tasks: readonly NewTask[],
  mayClaim: boolean,
): Promise<readonly AcceptOutcome[]> {
  const rows = await tryAccept(database, accountId, tasks, mayClaim);
  if (rows === 'conflict') return tasks.map(() => 'conflict');
  const accepted = new Map(rows.filter(({ usedKey }) => usedKey === null).map((row) => [row.id, row]));
  const used = new Map(rows.filter(({ usedKey }) => usedKey !== null).map((row) => [row.usedKey, row]));
  return tasks.map((task) => {
    const { id, idempotencyKey, fingerprint } = task;
    const first = idempotencyKey === undefined ? undefined : used.get(idempotencyKey);
    if (first !== undefined) {
      return first.fingerprint?.equals(fingerprint.hash) === true ? { taskId: first.id, isReplay: true } : 'mismatch';
    }
    const row = accepted.get(id);
    if (row === undefined) return 'rejected';
    return {
      taskId: id,
      isReplay: false,
      ...(row.claimId === null ? {} : { claimed: claimedStart(row.claimId, task) }),
    };
  });
}

function claimedStart(id: bigint, task: NewTask): OutboxItem {
  return {
    kind: 'start_task',
    id,
    subjectId: task.id,
    accountId: task.accountId,
    model: task.model,
    route: task.route ?? null,
    definitionHash: task.definitionHash,
    requestHash: requestHashOf(task.idempotencyKey, task.fingerprint),
    isOfBatch: task.batchId !== undefined,
    deliveries: 0,
  };
}

interface AcceptRow {
  readonly id: TaskId;
  /** The key that this task used before now; null for a task that was accepted. */
  readonly usedKey: string | null;
  readonly fingerprint: Buffer | null;
  /** The claimed outbox row; null where the task waits for a slot. */
  readonly claimId: bigint | null;
}

async function tryAccept(
  database: Queryable,
  accountId: string,
  tasks: readonly NewTask[],
  mayClaim: boolean,
): Promise<readonly AcceptRow[] | 'conflict'> {
  try {
    const records = `[${tasks.map(recordOf).join(',')}]`;
    return await database.query<AcceptRow>(acceptTasks, [accountId, records, mayClaim, OUTBOX_LEASE_SECONDS]);
  } catch (error) {
    // A key was used meanwhile, or twice here: the whole statement, hold included, was rolled back.
    if (error instanceof UniqueViolationError) return 'conflict';
    throw error;
  }
}

/** A new task as JSON. Its input is JSON already. */
function recordOf(task: NewTask): string {
  const { fingerprint, inputObjects, spendCapIds } = task;
  const others: { readonly [Column in Exclude<keyof typeof NEW_TASK_COLUMNS, 'input'>]: unknown } = {
    id: task.id,
    key_id: task.keyId,
    idempotency_key: task.idempotencyKey,
    fingerprint: `\\x${fingerprint.hash.toString('hex')}`,
    fingerprint_version: fingerprint.version,
    model: task.model,
    route: task.route,
    definition_hash: task.definitionHash,
    metadata: task.metadata,
    storage: task.storage,
    timeout_seconds: task.timeoutSeconds,
    queued_seconds: task.queuedSeconds,
    held_micro_usd: String(task.holdMicroUsd),
    callback_url: task.callbackUrl,
    input_objects: inputObjects,
    spend_cap_ids: spendCapIds.length === 0 ? undefined : spendCapIds,
    waiter: task.waiter,
    price_factor: task.priceFactor,
    batch_id: task.batchId,
  };
  return `{"input":${task.inputJson},${JSON.stringify(others).slice(1)}`;
}

/** Throws the reason why nothing was accepted; returns where that reason is gone by now. */
async function throwRejectionReason(database: Database, task: NewTask): Promise<void> {
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
