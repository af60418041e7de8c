/**
 * A task whose workflow has ended while its row says that it is open: the database has lost commits, by a failover or
 * because a backup was restored (docs/decisions/0005). The task gets another run, which takes over what the ended one
 * had achieved, and the time that this needs: by the database's clock its deadlines may have passed long ago.
 */
import type { StageLimits } from '../../catalogue/definition.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import type { WorkCost } from '../../domain/provider-usage.ts';
import type { StoredFile } from '../../domain/run-record.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { costValues } from '../lifecycle/generations.ts';
import type { UpstreamPosition } from '../lifecycle/generations.ts';

/**
 * The minimum time in the queue of a task that is started again: after a restore hundreds of tasks are started at once.
 */
const QUEUED_AGAIN_SECONDS = 600;

const renew: Statement = {
  name: 'renew_task_deadlines',
  text: `UPDATE tasks
            SET updated_at = now(),
                queue_deadline_at = greatest(queue_deadline_at,
                                             now() + make_interval(secs => greatest($2, ${QUEUED_AGAIN_SECONDS}))),
                deadline_at = CASE WHEN deadline_at IS NOT NULL THEN
                  greatest(deadline_at, now() + make_interval(secs => least($3::float8, timeout_seconds))) END,
                archiving_deadline_at = CASE WHEN archiving_deadline_at IS NOT NULL THEN
                  greatest(archiving_deadline_at, now() + make_interval(secs => $4)) END
          WHERE id = $1 AND completed_at IS NULL
      RETURNING id`,
};

/**
 * Gives each stage that the task has reached its full time again, before another run begins: a process that finds
 * that run working finds the new deadlines as well. Stages that it has not reached have no deadline yet. May be
 * repeated.
 *
 * @returns false where the task has ended, or is gone.
 */
export async function renewDeadlines(
  database: Queryable,
  taskId: TaskId,
  { queuedSeconds, handlingSeconds, archivingSeconds }: StageLimits,
): Promise<boolean> {
  const rows = await database.query(renew, [taskId, queuedSeconds, handlingSeconds, archivingSeconds]);
  return rows.length === 1;
}

/** What is known of a task's generation from outside the database. */
export type KnownGeneration =
  | { readonly state: 'intent' }
  | { readonly state: 'submitted'; readonly jobId: string }
  | { readonly state: 'produced'; readonly files: readonly StoredFile[] };

/** The order of what is known of a generation: an attempt that goes on may have recorded more meanwhile. */
const ORDER = `ARRAY['intent', 'submitted', 'produced']`;

const restore: Statement = {
  name: 'restore_generation',
  text: `WITH task AS (
           UPDATE tasks SET updated_at = now(), cancel_requested_at = CASE WHEN $7 THEN NULL ELSE cancel_requested_at END
            WHERE id = $1 AND completed_at IS NULL
        RETURNING id),
         too_late AS (
           DELETE FROM outbox o USING task t WHERE $7 AND o.kind = 'cancel_task' AND o.subject_id = t.id)
         INSERT INTO generations
                (task_id, upstream, place, state, job_id, files, cost_micro_usd, cost_source, usage)
         SELECT id, $2, $3::smallint, $4, $5, $6::jsonb, $8::bigint, $9, $10::jsonb FROM task
         ON CONFLICT (task_id) DO UPDATE
            SET upstream = excluded.upstream, place = excluded.place, state = excluded.state, files = excluded.files,
                cost_micro_usd = coalesce(generations.cost_micro_usd, excluded.cost_micro_usd),
                cost_source = coalesce(generations.cost_source, excluded.cost_source),
                job_id = coalesce(excluded.job_id, generations.job_id), updated_at = now()
          WHERE array_position(${ORDER}, excluded.state) >= array_position(${ORDER}, generations.state)`,
};

/**
 * Records again what the database has lost of a task's generation, replacing what it has, unless that is more.
 *
 * @param isDecided the task had ended as a success: a cancel that is in its row, or on its way to Temporal, came too
 *   late.
 * @param cost of files: no history has what the provider said about it.
 */
export async function restoreGeneration(
  database: Queryable,
  taskId: TaskId,
  { upstreamName, upstreamIndex }: Pick<UpstreamPosition, 'upstreamName' | 'upstreamIndex'>,
  known: KnownGeneration,
  isDecided: boolean,
  cost: WorkCost = {},
): Promise<void> {
  const jobId = known.state === 'submitted' ? known.jobId : null;
  const files = known.state === 'produced' ? JSON.stringify(known.files) : null;
  const values = [taskId, upstreamName, upstreamIndex, known.state, jobId, files, isDecided, ...costValues(cost)];
  await database.query(restore, values);
}
