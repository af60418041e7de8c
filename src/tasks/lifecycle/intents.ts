/**
 * Intents: what is recorded before a submit that cannot be repeated, or not elsewhere, so that a later attempt never sends
 * the work a second time (docs/decisions/0004).
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { TaskNotFoundError } from '../record/read.ts';
import { addEvent } from '../record/timeline.ts';
import { touchTask } from './touch.ts';
import { countRejections } from './generations.ts';
import type { UpstreamPosition } from './generations.ts';

const DECLARED = `created_at::text AS "declaredAt",
  (SELECT count(*)::integer FROM task_events WHERE task_id = $1 AND type = 'provider_refused') AS rejections`;

const insertIntent: Statement = {
  name: 'insert_generation_intent',
  text: `INSERT INTO generations (task_id, upstream, place, state) VALUES ($1, $2, $3, 'intent')
         ON CONFLICT (task_id) DO NOTHING
         RETURNING ${DECLARED}`,
};
// Only the caller's own: a repeated statement must not delete what another attempt has declared meanwhile.
const deleteIntent: Statement = {
  name: 'delete_generation_intent',
  text: `DELETE FROM generations WHERE task_id = $1 AND state = 'intent' AND created_at = $2::timestamptz
         RETURNING task_id`,
};

/** An intent for a submit of the caller. */
export interface DeclaredIntent {
  /** How often the task had been rejected until then. */
  readonly rejections: number;
  /** When it was declared, by the database's clock: distinguishes it from another attempt's. */
  readonly declaredAt: string;
}

/**
 * Records that a submit is about to be sent that cannot be repeated, or not elsewhere.
 *
 * @returns undefined where an intent was recorded before: that submit may have been sent, and is never sent to
 *   another upstream.
 */
export async function declareIntent(
  database: Database,
  taskId: TaskId,
  upstream: UpstreamPosition,
): Promise<DeclaredIntent | undefined> {
  const values = [taskId, upstream.upstreamName, upstream.upstreamIndex];
  const [row] = await database.query<DeclaredIntent>(insertIntent, values);
  return row;
}

const reuseIntentStatement: Statement = {
  name: 'take_on_generation_intent',
  text: `UPDATE generations SET upstream = $2, place = $3, created_at = now(), updated_at = now()
          WHERE task_id = $1 AND state = 'intent'
         RETURNING ${DECLARED}`,
};

/**
 * The same for an intent that is already recorded, to whatever upstream, and was certainly not accepted by it: it now
 * belongs to this submit.
 *
 * @returns undefined: there is none.
 */
export async function reuseIntent(
  database: Database,
  taskId: TaskId,
  { upstreamName, upstreamIndex }: UpstreamPosition,
): Promise<DeclaredIntent | undefined> {
  const [row] = await database.query<DeclaredIntent>(reuseIntentStatement, [taskId, upstreamName, upstreamIndex]);
  return row;
}

/** The submit was not sent after all. */
export async function clearIntent(
  database: Database,
  taskId: TaskId,
  { declaredAt }: Pick<DeclaredIntent, 'declaredAt'>,
): Promise<void> {
  await database.query(deleteIntent, [taskId, declaredAt]);
}

const markIntentStatement: Statement = {
  name: 'mark_generation_intent',
  text: `WITH marked AS (
           UPDATE generations SET updated_at = clock_timestamp()
            WHERE task_id = $1 AND state = 'intent' AND place = $2)
         SELECT completed_at IS NOT NULL AS "isOver", cancel_requested_at IS NOT NULL AS "isCancelRequested"
           FROM tasks WHERE id = $1`,
};

/** Records that the submit of an intent is in progress. @returns the state of its task. */
export async function markIntentLive(
  database: Database,
  taskId: TaskId,
  upstreamIndex: number,
): Promise<{ readonly isOver: boolean; readonly isCancelRequested: boolean }> {
  const values = [taskId, upstreamIndex];
  const [row] = await database.query<{ isOver: boolean; isCancelRequested: boolean }>(markIntentStatement, values);
  // A client may request again what the database has lost.
  return row ?? { isOver: false, isCancelRequested: false };
}

const selectIntentMark: Statement = {
  name: 'select_intent_mark',
  text: `SELECT g.updated_at::text AS "markedAt",
                extract(epoch FROM clock_timestamp() - g.updated_at)::float8 * 1000 AS "ageMs",
                t.cancel_requested_at IS NOT NULL AS "isCancelRequested"
           FROM generations g JOIN tasks t ON t.id = g.task_id WHERE g.task_id = $1 AND g.state = 'intent'`,
};

/** When a submit was last known to be in progress. */
export interface IntentMark {
  readonly markedAt: string;
  readonly ageMs: number;
  /** Whether its task was cancelled. */
  readonly isCancelRequested: boolean;
}

/** @returns undefined: there is no intent. */
export async function readIntentMark(database: Queryable, taskId: TaskId): Promise<IntentMark | undefined> {
  const [row] = await database.query<IntentMark>(selectIntentMark, [taskId]);
  return row;
}

/**
 * Records a definite rejection of a submit that an intent was recorded for: the task may be submitted again. May be
 * repeated.
 *
 * @returns how many rejections there are by now.
 */
export async function withdrawIntent(
  database: Database,
  taskId: TaskId,
  { label }: UpstreamPosition,
  reason: FailureReason,
  { declaredAt }: Pick<DeclaredIntent, 'declaredAt'>,
): Promise<number> {
  return database.transaction(async (transaction) => {
    if ((await touchTask(transaction, taskId)) === undefined) throw new TaskNotFoundError();
    const [withdrawn] = await transaction.query(deleteIntent, [taskId, declaredAt]);
    if (withdrawn !== undefined) await addEvent(transaction, taskId, 'provider_refused', { upstream: label, reason });
    return countRejections(transaction, taskId);
  });
}
