/**
 * What is recorded of a task's work at upstreams: who rejected it, who has or had its job, and what was produced. All
 * of it is recorded under the lock of the task's row, with the event that shows it.
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { Consumption, ProviderUsage, WorkCost } from '../../domain/provider-usage.ts';
import type { StoredFile } from '../../domain/run-record.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { requestWork } from '../outbox/outbox.ts';
import { TaskNotFoundError } from '../record/read.ts';
import { REQUEST_HASH } from '../record/fingerprint.ts';
import { addEvent, withFreeSeq } from '../record/timeline.ts';
import type { TaskEventType } from '../record/timeline.ts';
import { touchTask } from './touch.ts';

/** Selects the columns of `Generation`. */
export const GENERATION_OF_TASK =
  'SELECT state, place AS "upstreamIndex", job_id AS "jobId", files FROM generations WHERE task_id = $1';

/** One file that a generation produced: in the object store already, or still at the provider's URL. */
export type GeneratedFile = StoredFile | { readonly url: string };

/** The upstream of its route that has a task. */
export interface UpstreamPosition {
  /** Its name in records and limits (src/generation/task-route.ts). */
  readonly upstreamName: string;
  /** Its index in the route's list, from 0. */
  readonly upstreamIndex: number;
  /** Its name in a timeline: the one that the model gives it, else its position from 1. Never a host. */
  readonly label: string | number;
}

/** What is recorded of a task's one generation: the upstream that has it, by its index, and how far it got. */
export type Generation = { readonly upstreamIndex: number } & (
  | { readonly state: 'intent' }
  | { readonly state: 'submitted'; readonly jobId: string }
  | { readonly state: 'produced'; readonly jobId: string | null; readonly files: readonly GeneratedFile[] }
);

const selectGeneration: Statement = { name: 'select_generation', text: GENERATION_OF_TASK };

/** The recorded generation of a task, if it got that far. */
export async function readGeneration(database: Queryable, taskId: TaskId): Promise<Generation | undefined> {
  const [row] = await database.query<Generation>(selectGeneration, [taskId]);
  return row;
}

/** Which upstream has the work of a task, for operators. */
export interface WorkAtUpstream {
  readonly upstream: string;
  readonly state: Generation['state'];
  readonly jobId: string | null;
  /** When that was recorded, in Unix seconds. */
  readonly at: number;
}

const selectWork: Statement = {
  name: 'select_work_at_upstream',
  text: `SELECT upstream, state, job_id AS "jobId", floor(extract(epoch FROM updated_at))::float8 AS at
           FROM generations WHERE task_id = $1`,
};

/** Undefined: none has it. */
export async function readWorkAtUpstream(database: Queryable, taskId: TaskId): Promise<WorkAtUpstream | undefined> {
  const [row] = await database.query<WorkAtUpstream>(selectWork, [taskId]);
  return row;
}

/** A task, and the request that it has to be for (`WorkingTask`). */
interface RequestedTask {
  readonly id: TaskId;
  readonly requestHash: string | null;
}

const countAttempts: Statement = {
  name: 'count_provider_attempts',
  text: 'SELECT count(*)::integer AS attempts FROM task_events WHERE task_id = $1 AND type = $2',
};

/** A timeline shows at most this many unanswered submits; a repeatable one can be retried for hours. */
const MAX_UNANSWERED_EVENTS = 10;

/**
 * Adds to the task's timeline that an upstream rejected the work.
 *
 * @returns how many rejections there are by now.
 */
export async function recordRejection(
  database: Database,
  taskId: TaskId,
  { label }: UpstreamPosition,
  reason: FailureReason,
): Promise<number> {
  return database.transaction(async (transaction) => {
    if ((await touchTask(transaction, taskId)) === undefined) throw new TaskNotFoundError();
    await addEvent(transaction, taskId, 'provider_refused', { upstream: label, reason });
    return countRejections(transaction, taskId);
  });
}

/** Adds to the task's timeline that it is unknown whether an upstream accepted the work. */
export async function recordNoAnswer(database: Database, taskId: TaskId, { label }: UpstreamPosition): Promise<void> {
  await database.transaction(async (transaction) => {
    if ((await touchTask(transaction, taskId)) === undefined) return;
    const recorded = await attemptsSoFar(transaction, taskId, 'provider_unanswered');
    if (recorded < MAX_UNANSWERED_EVENTS)
      await addEvent(transaction, taskId, 'provider_unanswered', { upstream: label });
  });
}

/** How often upstreams have rejected a task. */
export function countRejections(database: Queryable, taskId: TaskId): Promise<number> {
  return attemptsSoFar(database, taskId, 'provider_refused');
}

async function attemptsSoFar(transaction: Queryable, taskId: TaskId, type: TaskEventType): Promise<number> {
  const [row] = await transaction.query<{ attempts: number }>(countAttempts, [taskId, type]);
  return row?.attempts ?? 0;
}

const upsertJob: Statement = {
  name: 'record_generation_job',
  text: `INSERT INTO generations (task_id, upstream, place, state, job_id, cost_micro_usd, cost_source, usage)
         VALUES ($1, $2, $4, 'submitted', $3, $5, $6, $7::jsonb)
         ON CONFLICT (task_id) DO UPDATE
            SET state = 'submitted', job_id = excluded.job_id, updated_at = now(),
                cost_micro_usd = excluded.cost_micro_usd, cost_source = excluded.cost_source, usage = excluded.usage
          WHERE generations.state = 'intent'`,
};

/**
 * Records the provider's job id, before any process waits for it. Where the database has lost the task there is
 * nothing to record: the workflow knows the job, and finds out next. The job of a task that is over by now, because
 * it was cancelled after Temporal had ended the attempt, is stopped.
 *
 * @param cost what the answer that named the job says about it, which no other answer may repeat: recorded by the same
 *   statement, so that no kill leaves a job without it.
 */
export async function recordJob(
  database: Database,
  { id: taskId, requestHash }: RequestedTask,
  { upstreamName, upstreamIndex, label }: UpstreamPosition,
  jobId: string,
  cost: WorkCost = {},
): Promise<void> {
  await database.transaction(async (transaction) => {
    const task = await touchTask(transaction, taskId, requestHash);
    if (task === undefined) return;
    await transaction.query(upsertJob, [taskId, upstreamName, jobId, upstreamIndex, ...costValues(cost)]);
    if (task.isOver) await requestWork(transaction, 'stop_generation', task.accountId, taskId);
    else await addEvent(transaction, taskId, 'submitted', { upstream: label });
  });
}

const deleteJob: Statement = {
  name: 'delete_failed_generation_job',
  text: `DELETE FROM generations WHERE task_id = $1 AND state = 'submitted' AND place = $2 AND job_id = $3
         RETURNING task_id`,
};

/**
 * Records that a job has failed and is not billed, and that the task has no job any more: both at once, so that the
 * next upstream gets it exactly once, whatever is killed. May be repeated.
 */
export async function recordFailedJob(
  database: Database,
  { id: taskId, requestHash }: RequestedTask,
  { upstreamIndex, label }: UpstreamPosition,
  { jobId, reason }: { readonly jobId: string; readonly reason: FailureReason },
): Promise<void> {
  await database.transaction(async (transaction) => {
    if ((await touchTask(transaction, taskId, requestHash)) === undefined) throw new TaskNotFoundError();
    const [deleted] = await transaction.query(deleteJob, [taskId, upstreamIndex, jobId]);
    if (deleted !== undefined) await addEvent(transaction, taskId, 'provider_failed', { upstream: label, reason });
  });
}

const selectFailedJobs: Statement = {
  name: 'select_failed_generation_jobs',
  text: `SELECT type, detail->>'upstream' AS label FROM task_events
          WHERE task_id = $1 AND type IN ('submitted', 'provider_failed') ORDER BY seq`,
};

/** The jobs of a task that have failed and are not billed. */
export interface FailedJobs {
  /** The labels of their upstreams, as text. */
  readonly labels: ReadonlySet<string>;
  /** The label of the last one, if the task has been submitted nowhere since. */
  readonly last: string | undefined;
}

/** Reads what `recordFailedJob` has recorded. */
export async function readFailedJobs(database: Queryable, taskId: TaskId): Promise<FailedJobs> {
  const rows = await database.query<{ type: TaskEventType; label: string }>(selectFailedJobs, [taskId]);
  const failed = rows.filter(({ type }) => type === 'provider_failed');
  const last = rows.at(-1);
  return {
    labels: new Set(failed.map(({ label }) => label)),
    last: last?.type === 'provider_failed' ? last.label : undefined,
  };
}

/** The event belongs to a task that is not over: what a second run produces after the end is not reported. */
const upsertFiles: Statement = {
  name: 'record_generation_files',
  text: `WITH task AS MATERIALIZED (
           SELECT id, completed_at IS NULL AS is_open FROM tasks
            WHERE id = $1 AND ${REQUEST_HASH} IS NOT DISTINCT FROM $5 FOR NO KEY UPDATE),
         stored AS (
           INSERT INTO generations (task_id, upstream, place, state, files, cost_micro_usd, cost_source, usage)
           SELECT id, $2, $4::smallint, 'produced', $3::jsonb, $6::bigint, $7, $8::jsonb FROM task
           ON CONFLICT (task_id) DO UPDATE
              SET state = 'produced', files = excluded.files, updated_at = now(),
                  cost_micro_usd = excluded.cost_micro_usd, cost_source = excluded.cost_source, usage = excluded.usage
            WHERE generations.state <> 'produced'
           RETURNING task_id)
         INSERT INTO task_events (task_id, seq, type, detail)
         SELECT t.id, (SELECT coalesce(max(e.seq), 0) + 1 FROM task_events e WHERE e.task_id = t.id), 'produced',
                jsonb_build_object('count', jsonb_array_length($3::jsonb))
           FROM stored s JOIN task t ON t.id = s.task_id AND t.is_open`,
};

/**
 * Records what was produced, and what it cost. The first to record wins: a second run's files are left to the sweep. So
 * are those of a task that the database has lost, or has for another request by now.
 */
export async function recordFiles(
  database: Database,
  { id: taskId, requestHash }: RequestedTask,
  { upstreamName, upstreamIndex }: UpstreamPosition,
  files: readonly GeneratedFile[],
  cost: WorkCost = {},
): Promise<void> {
  const values = [taskId, upstreamName, JSON.stringify(files), upstreamIndex, requestHash, ...costValues(cost)];
  await withFreeSeq(() => database.query(upsertFiles, values));
}

/** The index of the upstream in its route. */
type Position = Pick<UpstreamPosition, 'upstreamIndex'>;

/**
 * What a task's work costs, as it is recorded with its generation, from which the settlement copies it
 * (src/billing/task-costs.ts): the columns `cost_micro_usd`, `cost_source` and `usage`.
 */
export function costValues({ cost, usage }: WorkCost): readonly [bigint | null, string | null, string | null] {
  return [cost?.microUsd ?? null, cost?.source ?? null, usage === undefined ? null : JSON.stringify(usage)];
}

const updateCost: Statement = {
  name: 'record_generation_cost',
  text: `UPDATE generations SET cost_micro_usd = $3, cost_source = $4, usage = $5::jsonb
          WHERE task_id = $1 AND place = $2 AND state <> 'produced'`,
};

/** Records what the provider says about the cost of work that ended without files. */
export async function recordCost(
  database: Queryable,
  taskId: TaskId,
  { upstreamIndex }: Position,
  work: WorkCost,
): Promise<void> {
  await database.query(updateCost, [taskId, upstreamIndex, ...costValues(work)]);
}

const selectReported: Statement = {
  name: 'select_generation_consumption',
  text: `SELECT usage, CASE WHEN cost_source = 'reported' THEN cost_micro_usd END AS "costMicroUsd"
           FROM generations WHERE task_id = $1 AND place = $2 AND state = 'submitted'`,
};

/** What the upstream of a job has said so far about what it consumes. */
export async function readReported(
  database: Queryable,
  taskId: TaskId,
  { upstreamIndex }: Position,
): Promise<Consumption> {
  const [row] = await database.query<{ usage: ProviderUsage | null; costMicroUsd: bigint | null }>(selectReported, [
    taskId,
    upstreamIndex,
  ]);
  return {
    ...(row === undefined || row.usage === null ? {} : { usage: row.usage }),
    ...(row === undefined || row.costMicroUsd === null ? {} : { costMicroUsd: row.costMicroUsd }),
  };
}

const selectUsage: Statement = {
  name: 'select_generation_usage',
  text: 'SELECT usage FROM generations WHERE task_id = $1',
};

/** What the provider said that the task's work consumed; undefined: nothing. */
export async function readGenerationUsage(database: Queryable, taskId: TaskId): Promise<ProviderUsage | undefined> {
  const [row] = await database.query<{ usage: ProviderUsage | null }>(selectUsage, [taskId]);
  return row?.usage ?? undefined;
}
