/**
 * Tasks whose creator waits for the result on its connection (OpenAI's media endpoints). OpenAI's clients repeat a
 * request whose response did not arrive, without an Idempotency-Key, so the repetition is matched with the task of the
 * first attempt here: same account, key and fingerprint, created in the last ten minutes, and its result received by
 * no request (docs/decisions/0009).
 *
 * The row is written by the transaction that accepts the task, so that a process that is killed at any time leaves it.
 * A missing row is no error: it has expired, or the task had an Idempotency-Key.
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Fingerprint } from '../record/fingerprint.ts';

/** What makes two requests one, if the second is an automatic retry. */
export interface AwaitedRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly fingerprint: Fingerprint;
}

// Retries of equal requests are attached one after another, so that two of them do not choose the same task.
const lockRequests: Statement = {
  name: 'lock_awaited_responses',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('awaited:' || $1::text || encode($2::bytea, 'hex'), 0))`,
};

/**
 * First the tasks whose client is known to have disconnected, then those that the fewest retries have attached to: of
 * several equal requests whose process was killed, each finds a task of its own. A response that was sent completely in
 * the last five seconds may have been lost by a proxy; clients repeat a request after one second or less.
 */
const attach: Statement = {
  name: 'attach_to_awaited_response',
  text: `UPDATE awaited_responses SET waiter = $4, retries = retries + 1
          WHERE task_id = (
                SELECT task_id FROM awaited_responses
                 WHERE account_id = $1 AND key_id = $2 AND fingerprint = $3
                   AND created_at > now() - interval '10 minutes'
                   AND (received_at IS NULL OR received_at > now() - interval '5 seconds')
                 ORDER BY received_at IS NOT NULL, waiter IS NOT NULL, retries, created_at, task_id
                 LIMIT 1)
          RETURNING task_id AS "taskId"`,
};

/**
 * Finds the task, or the response in the background, that an automatic retry continues to wait for.
 *
 * @param waiter an id of the retry itself.
 */
export function attachRetry(database: Database, request: AwaitedRequest, waiter: string): Promise<string | undefined> {
  return attachInTurn<string>(database, attach, request, [waiter]);
}

const insertAwaited: Statement = {
  name: 'insert_awaited_response',
  text: `INSERT INTO awaited_responses (task_id, account_id, key_id, fingerprint, waiter) VALUES ($1, $2, $3, $4, $5)`,
};

/** Records that a request waits for a response in the background, in the transaction that accepts it. */
export async function awaitResponse(
  transaction: Queryable,
  { accountId, keyId, fingerprint }: AwaitedRequest,
  id: string,
  waiter: string,
): Promise<void> {
  await transaction.query(insertAwaited, [id, accountId, keyId, fingerprint.hash, waiter]);
}

/** @param more values of the statement after those of the request. */
function attachInTurn<Id extends string = TaskId>(
  database: Database,
  statement: Statement,
  { accountId, keyId, fingerprint }: AwaitedRequest,
  more: readonly unknown[],
): Promise<Id | undefined> {
  return database.transaction(async (transaction) => {
    await transaction.query(lockRequests, [accountId, fingerprint.hash]);
    const values = [accountId, keyId, fingerprint.hash, ...more];
    const [row] = await transaction.query<{ taskId: Id }>(statement, values);
    return row?.taskId;
  });
}

const attachToOther: Statement = {
  name: 'attach_to_other_awaited_response',
  text: `UPDATE awaited_responses SET waiter = $4, retries = retries + 1
          WHERE task_id = (
                SELECT task_id FROM awaited_responses
                 WHERE account_id = $1 AND key_id = $2 AND fingerprint = $3
                   AND created_at > now() - interval '10 minutes'
                   AND sent_to IS NULL AND task_id <> ALL ($5::text[])
                 ORDER BY waiter IS NOT NULL, retries, created_at, task_id
                 LIMIT 1)
          RETURNING task_id AS "taskId"`,
};

/**
 * Finds another task for a retry that had attached to the task of an equal request, which is still there and has got
 * its result.
 *
 * @param except the tasks that it has attached to so far.
 */
export function attachRetryToOther(
  database: Database,
  request: AwaitedRequest,
  waiter: string,
  except: readonly TaskId[],
): Promise<TaskId | undefined> {
  return attachInTurn(database, attachToOther, request, [waiter, except]);
}

const claim: Statement = {
  name: 'claim_awaited_response',
  text: `WITH claimed AS (
           UPDATE awaited_responses SET sent_to = $2
            WHERE task_id = $1 AND (sent_to IS NULL OR sent_to = $2) RETURNING task_id)
         SELECT EXISTS (SELECT FROM claimed)
             OR NOT EXISTS (SELECT FROM awaited_responses WHERE task_id = $1) AS "isClaimed"`,
};

/** Claims the result of a task for one of the requests that wait for it. @returns false: another one has it. */
export async function claimResponse(database: Queryable, taskId: TaskId, waiter: string): Promise<boolean> {
  const [row] = await database.query<{ isClaimed: boolean }>(claim, [taskId, waiter]);
  return row?.isClaimed !== false;
}

const release: Statement = {
  name: 'release_awaited_response',
  text: `UPDATE awaited_responses SET waiter = nullif(waiter, $2), sent_to = nullif(sent_to, $2)
          WHERE task_id = $1 AND (waiter = $2 OR sent_to = $2)`,
};

/** The client has disconnected, or was asked to repeat its request: the next retry gets the result. */
export async function releaseResponse(database: Queryable, taskId: string, waiter: string): Promise<void> {
  await database.query(release, [taskId, waiter]);
}

const receive: Statement = {
  name: 'receive_awaited_response',
  text: 'UPDATE awaited_responses SET received_at = now() WHERE task_id = $1 AND received_at IS NULL',
};

/** The result was sent completely. */
export async function markReceived(database: Queryable, taskId: string): Promise<void> {
  await database.query(receive, [taskId]);
}

const forget: Statement = {
  name: 'forget_awaited_response',
  text: 'DELETE FROM awaited_responses WHERE task_id = $1',
};

/** The task has failed, which costs nothing: a retry is to create another. */
export async function forgetResponse(database: Queryable, taskId: TaskId): Promise<void> {
  await database.query(forget, [taskId]);
}

const deleteOld: Statement = {
  name: 'delete_old_awaited_responses',
  text: `DELETE FROM awaited_responses
          WHERE task_id IN (SELECT task_id FROM awaited_responses WHERE created_at <= now() - interval '1 hour'
                             ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
          RETURNING task_id`,
};

/** Deletes rows that no retry can use any more. Safe to run at any time and twice. @returns how many. */
export async function deleteOldResponses(database: Queryable, limit: number): Promise<number> {
  const rows = await database.query(deleteOld, [limit]);
  return rows.length;
}
