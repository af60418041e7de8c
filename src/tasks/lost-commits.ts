/**
 * A task whose workflow has ended while its row says that it is open: the database has lost commits, by a failover or
 * because a backup was put back (docs/0037). It gets another run, which takes over what the ended one had brought about,
 * and the time that this needs: by the database's clock its deadlines may be long over.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { StoredFile } from '../domain/run-record.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { UpstreamPlace } from './work.ts';

/** Time to be launched, for a task that should have been long ago. */
const LAUNCH_SECONDS = 600;
/** For a stage of which nobody knows any more how long it was to be. */
const STAGE_SECONDS = 900;

const renew: Statement = {
  name: 'renew_task_deadlines',
  text: `UPDATE tasks t
            SET queue_deadline_at = greatest(t.queue_deadline_at, now() + make_interval(secs => ${LAUNCH_SECONDS})),
                deadline_at = greatest(t.deadline_at, now() + (t.deadline_at - t.started_at)),
                archiving_deadline_at = CASE WHEN t.archiving_deadline_at IS NOT NULL THEN greatest(
                  t.archiving_deadline_at,
                  now() + coalesce(t.archiving_deadline_at
                                     - (SELECT max(e.at) FROM task_events e
                                         WHERE e.task_id = t.id AND e.type = 'archiving'),
                                   make_interval(secs => ${STAGE_SECONDS}))) END
          WHERE t.id = $1 AND t.completed_at IS NULL`,
};

/** Gives each stage that the task has reached its whole time again. Stages that it has not reached have no deadline yet. */
export async function renewDeadlines(transaction: Queryable, taskId: TaskId): Promise<void> {
  await transaction.query(renew, [taskId]);
}

/** What is known of a task's generation from outside the database. */
export type KnownGeneration =
  | { readonly state: 'intent' }
  | { readonly state: 'submitted'; readonly jobId: string }
  | { readonly state: 'produced'; readonly files: readonly StoredFile[] };

const restore: Statement = {
  name: 'restore_generation',
  text: `WITH task AS (
           UPDATE tasks SET updated_at = now(), cancel_requested_at = CASE WHEN $7 THEN NULL ELSE cancel_requested_at END
            WHERE id = $1 AND completed_at IS NULL
        RETURNING id)
         INSERT INTO generations (task_id, upstream, place, state, job_id, files)
         SELECT id, $2, $3::smallint, $4, $5, $6::jsonb FROM task
         ON CONFLICT (task_id) DO UPDATE
            SET upstream = excluded.upstream, place = excluded.place, state = excluded.state, files = excluded.files,
                job_id = coalesce(excluded.job_id, generations.job_id), updated_at = now()`,
};

/**
 * Writes down once more what the database has lost of a task's generation, in place of what it has.
 *
 * @param isDecided the task had ended as a success: a cancel that stands in its row had come too late.
 */
export async function restoreGeneration(
  database: Queryable,
  taskId: TaskId,
  { upstreamName, place }: Pick<UpstreamPlace, 'upstreamName' | 'place'>,
  known: KnownGeneration,
  isDecided: boolean,
): Promise<void> {
  const jobId = known.state === 'submitted' ? known.jobId : null;
  const files = known.state === 'produced' ? JSON.stringify(known.files) : null;
  await database.query(restore, [taskId, upstreamName, place, known.state, jobId, files, isDecided]);
}
