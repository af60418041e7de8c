/**
 * A process that creates and settles tasks of several accounts, as fast as it can, until it is killed. It prints the id
 * of each task whose create it knows to have been committed.
 *
 * Usage: spending-process.ts <database url> <hold in micro-USD> <account> [<account> …]
 */
import { randomBytes } from 'node:crypto';
import { InsufficientBalanceError } from '../../src/billing/ledger.ts';
import { LockTimeoutError, openDatabase } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createAcceptor } from '../../src/tasks/create/accept-queue.ts';
import { QueueFullError } from '../../src/tasks/create/accept.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { Verdict } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { newTask } from '../tasks/new-task.ts';

/** For each account, so that creates are brought together and wait for one another. */
const LOOPS = 4;

/**
 * The wallet covers no further task at this moment, or did not when it was asked and does when the reason is read, or
 * the account's row stayed locked.
 */
const NOTHING_DONE = [InsufficientBalanceError, QueueFullError, LockTimeoutError];

const [url = '', hold = '0', ...accountIds] = process.argv.slice(2);
const database = openDatabase({ url, poolSize: 8 }, silentLogger());
const acceptor = createAcceptor(
  () => database,
  () => false,
);

const create = async (accountId: string): Promise<TaskId | undefined> => {
  const fingerprint = { hash: randomBytes(32), version: 1 } as const;
  const task = newTask(accountId, { fingerprint, holdMicroUsd: BigInt(hold) });
  try {
    const { taskId } = await acceptor.accept(task);
    process.stdout.write(`${taskId}\n`);
    return taskId;
  } catch (error) {
    if (NOTHING_DONE.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
};

/** Until it is done: a task that stayed open would keep its part of the little that there is. */
const settle = async (taskId: TaskId, verdict: Verdict): Promise<void> => {
  for (;;) {
    try {
      await settleTask(database, taskId, verdict, { retentionDays: 7 });
      return;
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
    }
  }
};

const spend = async (accountId: string): Promise<never> => {
  for (let turn = 0; ; turn++) {
    const taskId = await create(accountId);
    if (taskId === undefined) continue;
    const captured = BigInt(turn % 3) * (BigInt(hold) / 100n);
    const verdict = { status: 'fail', reason: 'cancelled', capturedMicroUsd: captured } as const;
    await settle(taskId, verdict);
  }
};

await Promise.all(accountIds.flatMap((accountId) => Array.from({ length: LOOPS }, () => spend(accountId))));
