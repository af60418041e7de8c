/**
 * Brings the creates of one account together, so that many share one commit (database/batches.ts, docs/decisions/0012).
 */
import { createBatches } from '../../database/batches.ts';
import type { Database } from '../../database/database.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { acceptOne, acceptTogether } from './accept.ts';
import { IdempotencyMismatchError } from './used-keys.ts';
import type { Acceptance, NewTask } from './accept.ts';

/** The maximum number of tasks in one statement. A larger batch would hardly reduce the cost of the commit per task. */
const MAX_TOGETHER = 50;
/**
 * The maximum number of characters of input in one statement. A body can have 10 MB (contract §1), and fifty of them
 * would be too much.
 */
const MAX_INPUT_TOGETHER = 4_000_000;

export interface Acceptor {
  /**
   * Accepts a task, holding its worst-case cost.
   *
   * @throws {InsufficientBalanceError} @throws {QueueFullError} @throws {SpendCapError} nothing was accepted, and the
   *   key is not used up.
   * @throws {IdempotencyMismatchError} another body used the key.
   */
  accept(task: NewTask): Promise<Acceptance>;
}

interface Request {
  readonly task: NewTask;
  readonly resolve: (acceptance: Acceptance) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param databaseOf the database for one account: its waiting creates hold no other account's connection.
 * @param mayClaim whether this process has room to deliver the starts of admitted tasks at this moment.
 */
export function createAcceptor(databaseOf: AccountDatabase, mayClaim: () => boolean): Acceptor {
  const batches = createBatches<Request>({
    work: (accountId, requests) => answer(databaseOf(accountId), accountId, requests, mayClaim()),
    fitting,
  });

  return {
    accept(task) {
      return new Promise((resolve, reject) => {
        // A capped key's task locks its caps' rows too, in a transaction of its own.
        if (task.spendCapIds.length > 0) {
          acceptOne(databaseOf(task.accountId), task, mayClaim()).then(resolve, reject);
          return;
        }
        batches.add(task.accountId, { task, resolve, reject });
      });
    },
  };
}

/** How many of the first requests fit into one statement: at least one. */
function fitting(requests: readonly Request[]): number {
  let characters = 0;
  const tooFar = requests.findIndex(({ task }, index) => {
    characters += task.inputJson.length;
    return index === MAX_TOGETHER || (index > 0 && characters > MAX_INPUT_TOGETHER);
  });
  return tooFar === -1 ? requests.length : tooFar;
}

/** Answers every request; never throws. */
async function answer(
  database: Database,
  accountId: string,
  requests: readonly Request[],
  mayClaim: boolean,
): Promise<void> {
  const alone = requests.length === 1 ? requests : await answerTogether(database, accountId, requests, mayClaim);
  for (const { task, resolve, reject } of alone) await acceptOne(database, task, mayClaim).then(resolve, reject);
}

/** @returns those that were rejected together: each gets its own answer, in the order in which they came. */
async function answerTogether(
  database: Database,
  accountId: string,
  requests: readonly Request[],
  mayClaim: boolean,
): Promise<readonly Request[]> {
  try {
    const tasks = requests.map(({ task }) => task);
    const outcomes = await acceptTogether(database, accountId, tasks, mayClaim);
    return requests.filter(({ resolve, reject }, index) => {
      const outcome = outcomes[index] ?? 'rejected';
      if (outcome === 'mismatch') reject(new IdempotencyMismatchError());
      else if (typeof outcome === 'object') resolve(outcome);
      return outcome === 'rejected' || outcome === 'conflict';
    });
  } catch (error) {
    for (const { reject } of requests) reject(error);
    return [];
  }
}
