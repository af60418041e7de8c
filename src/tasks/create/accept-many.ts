/**
 * Accepts many tasks of one account in one transaction, each by itself: those that the balance, the queue and the caps
 * of the key can take, one after another as if they had come alone. With the account's counters and its wallet locked,
 * what fits is known before anything is written.
 */
import { InsufficientBalanceError } from '../../billing/ledger.ts';
import { SpendCapError, chargeSpendCaps, readSpendCaps } from '../../billing/spend-caps.ts';
import type { CapPeriod } from '../../billing/spend-caps.ts';
import { lockAccountAndWallet } from '../../accounts/wallet.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { DarkroomError } from '../../domain/darkroom-error.ts';
import { QueueFullError, acceptTogether } from './accept.ts';
import type { Acceptance, NewTask } from './accept.ts';
import { findReplays } from './used-keys.ts';
import type { Wanted } from './used-keys.ts';

/** The maximum number of tasks, and of characters of their inputs, in one statement. */
const MAX_TOGETHER = 100;
const MAX_INPUT_TOGETHER = 4_000_000;
/** A key that is used at this very moment ends the transaction; the next attempt finds what it created. */
const MAX_ATTEMPTS = 5;

/** The outcome of one of several tasks. */
export type ManyOutcome = Acceptance | DarkroomError;

/** Whether a task was accepted, or found. */
export function isAcceptance(outcome: ManyOutcome): outcome is Acceptance {
  return !(outcome instanceof Error);
}

/** What an account has left. */
interface Room {
  available: bigint;
  held: bigint;
  tasks: number;
  readonly queueCap: number;
  readonly caps: { readonly period: CapPeriod; readonly cap: bigint; spent: bigint }[];
}

const lockAccount: Statement = {
  name: 'lock_account_for_tasks',
  text: lockAccountAndWallet(`w.available_micro_usd AS available, w.held_micro_usd AS held, c.queue_cap AS "queueCap",
                              c.queue_cap + c.running_cap - c.queued - c.running AS tasks`),
};

/** What else the transaction that accepts does. Any error of it leaves nothing accepted. */
export interface AlongsideAccepting {
  /** Before the account is locked. */
  begin(transaction: Queryable): Promise<void>;
  /** @param outcomes of each, in their order. */
  end(transaction: Queryable, outcomes: readonly ManyOutcome[]): Promise<void>;
}

/** A row of the transaction existed already, or one of another transaction appeared: nothing was accepted. */
class ConflictError extends Error {}

/**
 * @param tasks of one key; no two have the same Idempotency-Key.
 * @param mayClaim whether the caller delivers the starts of admitted tasks itself, at once.
 * @returns the outcome of each, in their order. Of a task that is rejected nothing is held.
 */
export async function acceptMany(
  database: Database,
  accountId: string,
  tasks: readonly NewTask[],
  mayClaim: boolean,
  alongside?: AlongsideAccepting,
): Promise<readonly ManyOutcome[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction(async (transaction) => {
        await alongside?.begin(transaction);
        const outcomes = tasks.length === 0 ? [] : await acceptIn(transaction, accountId, tasks, mayClaim);
        await alongside?.end(transaction, outcomes);
        return outcomes;
      });
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function acceptIn(
  transaction: Queryable,
  accountId: string,
  tasks: readonly NewTask[],
  mayClaim: boolean,
): Promise<readonly ManyOutcome[]> {
  const spendCapIds = tasks[0]?.spendCapIds ?? [];
  const room = await lockRoom(transaction, accountId, spendCapIds);
  const used = await findReplays(transaction, accountId, wantedBy(tasks));
  const outcomes = tasks.map((task) => {
    const earlier = task.idempotencyKey === undefined ? undefined : used.get(task.idempotencyKey);
    return earlier ?? takeRoom(room, task);
  });
  const fitting = tasks.filter((_, index) => outcomes[index] === undefined);
  const accepted = new Map<NewTask, Acceptance>();
  for (const together of chunksOf(fitting)) {
    // Of the first ones only: a process that claimed a thousand could not deliver them within its lease.
    const claims = mayClaim && accepted.size === 0;
    const chunk = await acceptTogether(transaction, accountId, together, claims);
    for (const [index, task] of together.entries()) {
      const outcome = chunk[index];
      if (typeof outcome !== 'object' || outcome.isReplay) throw new ConflictError('a task was created meanwhile');
      accepted.set(task, outcome);
    }
  }
  if (spendCapIds.length > 0 && fitting.length > 0) {
    await chargeSpendCaps(transaction, spendCapIds, sumOf(fitting));
  }
  return tasks.map((task, index) => outcomes[index] ?? accepted.get(task) ?? new QueueFullError(room.queueCap));
}

async function lockRoom(transaction: Queryable, accountId: string, spendCapIds: readonly string[]): Promise<Room> {
  const [row] = await transaction.query<Omit<Room, 'caps'>>(lockAccount, [accountId]);
  if (row === undefined) throw new Error('an authenticated account has no counters');
  return { ...row, caps: spendCapIds.length === 0 ? [] : await readSpendCaps(transaction, spendCapIds) };
}

/** @returns why a task does not fit; undefined: it does, and what it needs is taken. */
function takeRoom(room: Room, { accountId, holdMicroUsd }: NewTask): DarkroomError | undefined {
  if (room.available < holdMicroUsd) {
    return new InsufficientBalanceError(accountId, room.available, holdMicroUsd, room.held);
  }
  if (room.tasks <= 0) return new QueueFullError(room.queueCap);
  for (const { period, cap, spent } of room.caps) {
    const left = cap > spent ? cap - spent : 0n;
    if (left < holdMicroUsd) return new SpendCapError(period, cap, left, holdMicroUsd);
  }
  room.available -= holdMicroUsd;
  room.held += holdMicroUsd;
  room.tasks -= 1;
  for (const cap of room.caps) cap.spent += holdMicroUsd;
  return undefined;
}

function wantedBy(tasks: readonly NewTask[]): ReadonlyMap<string, Wanted> {
  return new Map(
    tasks.flatMap(({ id, idempotencyKey, fingerprint }) =>
      idempotencyKey === undefined ? [] : [[idempotencyKey, { taskId: id, fingerprint }]],
    ),
  );
}

function* chunksOf(tasks: readonly NewTask[]): Generator<readonly NewTask[]> {
  let chunk: NewTask[] = [];
  let characters = 0;
  for (const task of tasks) {
    const isFull = chunk.length === MAX_TOGETHER || characters + task.inputJson.length > MAX_INPUT_TOGETHER;
    if (isFull && chunk.length > 0) {
      yield chunk;
      chunk = [];
      characters = 0;
    }
    chunk.push(task);
    characters += task.inputJson.length;
  }
  if (chunk.length > 0) yield chunk;
}

function sumOf(tasks: readonly NewTask[]): bigint {
  return tasks.reduce((sum, { holdMicroUsd }) => sum + holdMicroUsd, 0n);
}
