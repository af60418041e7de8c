/** The calls that are lines of a batch, as the batch reads, stops and deletes them (src/batches/). */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../../database/database.ts';
import type { BilledUsage } from '../tally.ts';
import type { BackgroundState } from './call-record.ts';
import { NOTHING_USED } from './record-outcome.ts';
import type { CallError } from './record-outcome.ts';

/** Where the call of a line is. */
export interface BatchCallState {
  readonly line: number;
  readonly state: BackgroundState;
  /** Of one that was answered. */
  readonly usage: BilledUsage | null;
  /** Why it waits, if it has been put off; not an account that is no longer suspended. */
  readonly waitingFor: WaitReason | null;
}

const selectStates: Statement = {
  name: 'select_states_of_batch_calls',
  text: `SELECT line, state, CASE WHEN state = 'answered' THEN settlement -> 'usage' END AS usage,
                CASE WHEN ended_at IS NULL AND NOT is_running
                      AND (waiting_for <> 'account'
                           OR (SELECT a.status FROM accounts a WHERE a.id = account_id) = 'suspended')
                     THEN waiting_for END AS "waitingFor"
           FROM background_calls WHERE batch_id = $1 AND line >= $2 AND line < $3`,
};

/** @param from the first line. @param to the line after the last one. @returns in any order. */
export async function readBatchCallStates(
  database: Queryable,
  batchId: string,
  from: number,
  to: number,
): Promise<readonly BatchCallState[]> {
  return database.query<BatchCallState>(selectStates, [batchId, from, to]);
}

/** What the call of a line has come to. */
export interface BatchCallResult {
  readonly id: string;
  readonly line: number;
  readonly state: Extract<BackgroundState, 'answered' | 'failed'>;
  /** Null: it has none, or it was not asked for. */
  readonly answer: Readonly<Record<string, unknown>> | null;
  readonly error: CallError | null;
}

/** Lines of a batch, and whose content is wanted. */
interface ResultRange {
  readonly first: number;
  readonly last: number;
  readonly of: BatchCallResult['state'];
}

const selectSizes: Statement = {
  name: 'select_result_sizes_of_batch_calls',
  text: `SELECT line, octet_length(CASE WHEN $4 = 'answered' THEN answer::text ELSE error::text END) AS bytes
           FROM background_calls WHERE batch_id = $1 AND line BETWEEN $2 AND $3 AND state = $4`,
};

/** @returns how large the content of each is. */
export async function readBatchCallSizes(
  database: Queryable,
  batchId: string,
  { first, last, of }: ResultRange,
): Promise<readonly (readonly [line: number, bytes: number])[]> {
  const values = [batchId, first, last, of];
  const rows = await database.query<{ line: number; bytes: number | null }>(selectSizes, values);
  return rows.map(({ line, bytes }) => [line, bytes ?? 0]);
}

const selectResults: Statement = {
  name: 'select_results_of_batch_calls',
  text: `SELECT id, line, state, CASE WHEN $4 = 'answered' THEN answer END AS answer,
                CASE WHEN $4 = 'failed' THEN error END AS error
           FROM background_calls
          WHERE batch_id = $1 AND line BETWEEN $2 AND $3 AND state IN ('answered', 'failed')`,
};

/** @param of which calls are wanted with their content. @returns those that have ended by themselves, in any order. */
export async function readBatchCallResults(
  database: Queryable,
  batchId: string,
  { first, last, of }: ResultRange,
): Promise<readonly BatchCallResult[]> {
  return database.query<BatchCallResult>(selectResults, [batchId, first, last, of]);
}

const cancelWaiting: Statement = {
  name: 'cancel_waiting_batch_calls',
  text: `UPDATE background_calls b SET state = 'cancelled', ended_at = now(), settlement = $2::json
          WHERE batch_id = $1 AND NOT is_running AND ended_at IS NULL
            AND (waiting_for IS NOT NULL
                 OR state = 'queued' AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = b.id))`,
};

/** Ends the calls of a batch that have not begun, or wait. The next pass releases what they hold. */
export async function cancelWaitingBatchCalls(database: Queryable, batchId: string): Promise<void> {
  await database.query(cancelWaiting, [batchId, NOTHING_USED]);
}

const deleteLeft: Statement = {
  name: 'delete_left_batch_calls',
  text: `DELETE FROM background_calls
          WHERE id IN (
                SELECT c.id FROM background_calls c
                 WHERE c.batch_id IS NOT NULL AND c.ended_at IS NOT NULL
                   AND NOT EXISTS (SELECT FROM batches b WHERE b.id = c.batch_id AND b.ended_at IS NULL)
                   AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = c.id AND t.settled_at IS NULL)
                 LIMIT $1 FOR UPDATE OF c SKIP LOCKED)
          RETURNING id`,
};

/** Deletes calls that were not settled yet when their batch ended. @returns how many, at most `limit`. */
export async function deleteLeftBatchCalls(database: Queryable, limit: number): Promise<number> {
  return (await database.query(deleteLeft, [limit])).length;
}
