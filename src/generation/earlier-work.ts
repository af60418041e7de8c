/**
 * What a run of a task's workflow had done if the database does not know it: a failover has lost commits, or a backup
 * was restored (docs/decisions/0037). It is read from the run's history and recorded again, so that everything after
 * that proceeds as usual and nothing is paid for twice.
 */
import { Context } from '@temporalio/activity';
import pRetry from 'p-retry';
import type { RunRecord, StoredFile } from '../domain/run-record.ts';
import { isPlainJobId } from '../domain/run-record.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import { restoreGeneration } from '../tasks/repair/lost-commits.ts';
import type { KnownGeneration } from '../tasks/repair/lost-commits.ts';
import { countRefusals, readGeneration } from '../tasks/lifecycle/transitions.ts';
import type { Generation, WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { permanentFailure } from './failure.ts';
import { attachToHeartbeats } from '../../activities/heartbeat.ts';
import { routeAt, routesOf } from './task-route.ts';

/** The maximum number of runs of one task that are searched: each of them but the last has found nothing to do. */
const MAX_RUNS = 10;

/** What was found of earlier work: how it ended the task, or how far its generation has progressed. */
export type EarlierWork =
  | { readonly kind: 'ended'; readonly result: SubmitResult }
  | {
      readonly kind: 'going on';
      readonly generation: Generation;
      /** The task had ended successfully: a cancel that was accepted since then came too late. */
      readonly isDecided: boolean;
    }
  | { readonly kind: 'none' };

/**
 * Takes over the results of a run.
 *
 * @param runId the run to read; if it had no result, the run before it, and so on.
 * @param onlyIfEnded takes over only a result that ended the task.
 * @throws {GenerationFailure} `outcome_unknown`: the run was for another request under the same Idempotency-Key, or
 *   it cannot be determined which of several upstreams may have the work.
 */
export async function takeOver(
  context: ActivityContext,
  task: WorkingTask,
  runId: string,
  onlyIfEnded = false,
): Promise<EarlierWork> {
  const record = await findRecord(context, task, runId);
  if (record === undefined) return { kind: 'none' };
  const { outcome, files, job, mayHaveSubmitted } = record;
  if (outcome === undefined && onlyIfEnded) return { kind: 'none' };
  if (outcome?.status === 'fail') {
    const { reason, billedUsd, finishedFiles } = outcome;
    // Recorded files do not appear in any answer of the provider.
    const finished = reason === 'cancelled' ? (finishedFiles ?? files?.length) : undefined;
    const cost = {
      ...(billedUsd === undefined ? {} : { billedUsd }),
      ...(finished === undefined ? {} : { finishedFiles: finished }),
    };
    return { kind: 'ended', result: { kind: 'ended', reason, ...cost } };
  }
  const isDecided = outcome?.status === 'success';
  if (files !== undefined && (await areStored(context, files))) {
    return writeDown(context, task, record.place, { state: 'produced', files }, isDecided);
  }
  if (job !== undefined)
    return writeDown(context, task, job.place, { state: 'submitted', jobId: job.jobId }, isDecided);
  if (!mayHaveSubmitted) return { kind: 'none' };
  return writeDown(context, task, record.place, { state: 'intent' }, isDecided);
}

/**
 * Whether a run is, or was, for a different request under the same Idempotency-Key than the current task.
 *
 * @param requestHash of the run; undefined: not known.
 */
export function isForAnotherRequest(
  { logger }: Pick<ActivityContext, 'logger'>,
  task: WorkingTask,
  requestHash: string | undefined,
): boolean {
  if (requestHash === undefined || requestHash === task.requestHash) return false;
  logger.error({ taskId: task.id }, 'a run of a task was for another request');
  return true;
}

/** The last run that had a result. */
async function findRecord(
  context: ActivityContext,
  task: WorkingTask,
  firstRunId: string,
): Promise<RunRecord | undefined> {
  let runId: string | undefined = firstRunId;
  for (let runs = 0; runId !== undefined && runs < MAX_RUNS; runs++) {
    const record: RunRecord | undefined = await context.readRun(task.id, runId);
    if (record === undefined) return undefined;
    // Also for a run that is not known to have sent anything: a submit that can be repeated is not announced.
    const mayMatter = record.outcome !== undefined || record.hasBegun;
    if (mayMatter && isForAnotherRequest(context, task, record.requestHash)) throw permanentFailure('outcome_unknown');
    if (record.outcome !== undefined || record.mayHaveSubmitted) return record;
    runId = record.earlierRunId;
  }
  return undefined;
}

async function areStored({ store }: ActivityContext, files: readonly StoredFile[]): Promise<boolean> {
  try {
    for (const { key, sizeBytes } of files) {
      const found = await store.head(key);
      if (found.sizeBytes !== sizeBytes) return false;
    }
    return true;
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return false;
    throw error;
  }
}

async function writeDown(
  context: ActivityContext,
  task: WorkingTask,
  place: number | undefined,
  known: KnownGeneration,
  isDecided: boolean,
): Promise<EarlierWork> {
  const upstream = place === undefined ? await onlyRoute(context, task) : await routeAt(context, task, place);
  await restoreGeneration(context.database, task.id, upstream, known, isDecided);
  context.logger.warn(
    { taskId: task.id, generation: known.state },
    'a generation that the database had lost was restored',
  );
  // A concurrent attempt may have recorded more in the meantime.
  const written = await readGeneration(context.database, task.id);
  const restored: Generation =
    known.state === 'produced' ? { ...known, jobId: null, place: upstream.place } : { ...known, place: upstream.place };
  return { kind: 'going on', generation: written ?? restored, isDecided };
}

/** The upstream of a run that does not state which one it used. */
async function onlyRoute(context: ActivityContext, task: WorkingTask) {
  const [route, ...others] = await routesOf(context, task);
  if (route === undefined || others.length > 0) throw permanentFailure('outcome_unknown');
  return route;
}

/**
 * The generation of the run that this activity belongs to, for the case that the database has lost it.
 *
 * @throws {GenerationFailure} `outcome_unknown`: the run does not record its outcome.
 */
export async function generationOfThisRun(context: ActivityContext, task: WorkingTask): Promise<Generation> {
  const runId = Context.current().info.workflowExecution?.runId;
  const found = runId === undefined ? undefined : await takeOver(context, task, runId);
  if (found?.kind !== 'going on' || found.generation.state === 'intent') throw permanentFailure('outcome_unknown');
  return found.generation;
}

/** What is known outside the database about a submit that is about to be sent. */
interface AnnouncedSubmit {
  /** Index of the upstream in the route's list. */
  readonly place: number;
  /** How often the task had been rejected before: if more rejections are recorded, this submit was rejected as well. */
  readonly refusals: number;
}

/** Retries within the time after which the attempt is considered dead. */
const ANNOUNCE_RETRY = { retries: 2, minTimeout: 200, maxTimeout: 500 };

/**
 * Announces to the next attempt, and to a later run, to which upstream the work is about to be sent, so that this is
 * known even if the database loses the intent. Temporal has recorded it when this returns, whatever happens to the
 * worker after that.
 *
 * @returns false if this attempt is over and nothing may be sent.
 * @throws if Temporal does not answer.
 */
export async function announceSubmit(context: ActivityContext, submit: AnnouncedSubmit): Promise<boolean> {
  attachToHeartbeats(submit);
  const { taskToken } = Context.current().info;
  return pRetry(() => context.recordHeartbeat(taskToken, submit), ANNOUNCE_RETRY);
}

/** Nothing was sent, or it was rejected, and the database has recorded that. */
export function withdrawSubmit(): void {
  attachToHeartbeats({});
}

/** The intent of an earlier attempt if the database has no generation of the task: it has lost the intent. */
export async function intentOfEarlierAttempt(
  context: ActivityContext,
  task: WorkingTask,
): Promise<Generation | undefined> {
  const { heartbeatDetails } = Context.current().info;
  const { place, refusals = 0 } = (heartbeatDetails ?? {}) as Partial<AnnouncedSubmit>;
  if (typeof place !== 'number') return undefined;
  if ((await countRefusals(context.database, task.id)) > refusals) return undefined;
  const found = await writeDown(context, task, place, { state: 'intent' }, false);
  return found.kind === 'going on' ? found.generation : undefined;
}

/** What a workflow learns about a generation, so that its history provides it to a later run. */
export function submitResultOf(task: WorkingTask, generation: Generation): SubmitResult {
  const { place } = generation;
  const facts = { place, ...(task.requestHash === null ? {} : { requestHash: task.requestHash }) };
  if (generation.state !== 'produced') {
    const isPlain = generation.state === 'submitted' && isPlainJobId(generation.jobId);
    return { kind: 'job', ...facts, ...(isPlain ? { jobId: generation.jobId } : {}) };
  }
  const files = generation.files.filter((file): file is StoredFile => 'key' in file);
  return { kind: 'produced', ...facts, ...(files.length === generation.files.length ? { files } : {}) };
}
