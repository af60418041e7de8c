/**
 * What a run of a task's workflow had done if the database does not know it: a failover has lost commits, or a backup
 * was restored (docs/decisions/0005). It is read from the run's history and recorded again, so that everything after
 * that proceeds as usual and nothing is paid for twice.
 */
import { isPlainJobId } from '../domain/run-record.ts';
import type { RunRecord, StoredFile } from '../domain/run-record.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import { readWorkingTask } from '../tasks/lifecycle/transitions.ts';
import { countRejections, readGeneration } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Generation } from '../tasks/lifecycle/generations.ts';
import { restoreGeneration } from '../tasks/repair/lost-commits.ts';
import type { KnownGeneration } from '../tasks/repair/lost-commits.ts';
import type { MediaTaskInput, SubmitResult } from '../../workflows/contracts.ts';
import { announcedSubmit } from './announced-submit.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { permanentFailure } from './failure.ts';
import { routeAt, routesOf } from './task-route.ts';
import { workCostAt } from './work-cost.ts';

/** The states of a generation, in order. */
const PROGRESS = ['intent', 'submitted', 'produced'] as const satisfies readonly Generation['state'][];

/** The maximum number of runs of one task that are searched: each of them but the last has found nothing to do. */
const MAX_RUNS = 10;

/** What was found of earlier work: how it ended the task, or how far its generation has progressed. */
export type EarlierWork =
  | { readonly kind: 'ended'; readonly result: SubmitResult }
  | {
      readonly kind: 'in_progress';
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
  context: GenerationContext,
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
    return writeDown(context, task, record.upstreamIndex, { state: 'produced', files }, isDecided);
  }
  if (job !== undefined)
    return writeDown(context, task, job.upstreamIndex, { state: 'submitted', jobId: job.jobId }, isDecided);
  if (!mayHaveSubmitted) return { kind: 'none' };
  return writeDown(context, task, record.upstreamIndex, { state: 'intent' }, isDecided);
}

/**
 * Whether a run is, or was, for a different request under the same Idempotency-Key than the current task.
 *
 * @param requestHash of the run; undefined: not known.
 */
export function isForAnotherRequest(
  { logger }: Pick<GenerationContext, 'logger'>,
  task: WorkingTask,
  requestHash: string | undefined,
): boolean {
  if (requestHash === undefined || requestHash === task.requestHash) return false;
  logger.error({ taskId: task.id }, 'run of a task belongs to another request');
  return true;
}

/** The last run that had a result. */
async function findRecord(
  context: GenerationContext,
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

async function areStored({ store }: GenerationContext, files: readonly StoredFile[]): Promise<boolean> {
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
  context: GenerationContext,
  task: WorkingTask,
  upstreamIndex: number | undefined,
  known: KnownGeneration,
  isDecided: boolean,
): Promise<EarlierWork> {
  const upstream =
    upstreamIndex === undefined ? await onlyRoute(context, task) : await routeAt(context, task, upstreamIndex);
  const cost = known.state === 'produced' ? workCostAt(upstream, known.files.length, {}) : {};
  const recorded = await readGeneration(context.database, task.id);
  await restoreGeneration(context.database, task.id, upstream, known, isDecided, cost);
  const fields = { taskId: task.id, generation: known.state };
  // A run that was terminated, or reset, is taken over with what is recorded of it: nothing was lost.
  if (recorded !== undefined && PROGRESS.indexOf(recorded.state) >= PROGRESS.indexOf(known.state)) {
    context.logger.info(fields, 'generation of an earlier run taken over');
  } else {
    context.logger.warn(fields, 'generation restored that the database had lost');
  }
  // A concurrent attempt may have recorded more in the meantime.
  const written = await readGeneration(context.database, task.id);
  const restored: Generation =
    known.state === 'produced'
      ? { ...known, jobId: null, upstreamIndex: upstream.upstreamIndex }
      : { ...known, upstreamIndex: upstream.upstreamIndex };
  return { kind: 'in_progress', generation: written ?? restored, isDecided };
}

/** The upstream of a run that does not state which one it used. */
async function onlyRoute(context: GenerationContext, task: WorkingTask) {
  const [route, ...others] = await routesOf(context, task);
  if (route === undefined || others.length > 0) throw permanentFailure('outcome_unknown');
  return route;
}

/**
 * Checks, for a run that is about to end as cancelled, whether an earlier run had ended the task with a different
 * outcome: its receiver may have been notified of that, and a cancel that was accepted after the database had lost the
 * end came too late.
 *
 * @returns undefined: it had not.
 */
export async function findDecision(
  context: GenerationContext,
  { taskId, earlierRunId }: Pick<MediaTaskInput, 'taskId' | 'earlierRunId'>,
): Promise<SubmitResult | undefined> {
  const task = await readWorkingTask(context.database, taskId);
  if (earlierRunId === undefined || isTerminal(task.status)) return undefined;
  // What is already recorded may be further along than the work of a run that had ended nothing.
  const onlyIfEnded = (await readGeneration(context.database, taskId)) !== undefined;
  const found = await takeOver(context, task, earlierRunId, onlyIfEnded);
  if (found.kind === 'ended') return found.result;
  if (found.kind === 'none' || !found.isDecided || found.generation.state === 'intent') return undefined;
  return submitResultOf(task, found.generation);
}

/**
 * The generation of the run that this attempt belongs to, for the case that the database has lost it.
 *
 * @throws {GenerationFailure} `outcome_unknown`: the run does not record its outcome.
 */
export async function generationOfThisRun(
  context: GenerationContext,
  { runId }: Pick<Attempt, 'runId'>,
  task: WorkingTask,
): Promise<Generation> {
  const found = runId === undefined ? undefined : await takeOver(context, task, runId);
  if (found?.kind !== 'in_progress' || found.generation.state === 'intent') throw permanentFailure('outcome_unknown');
  return found.generation;
}

/** The intent of an earlier attempt if the database has no generation of the task: it has lost the intent. */
export async function intentOfEarlierAttempt(
  context: GenerationContext,
  attempt: Pick<Attempt, 'earlierDetails'>,
  task: WorkingTask,
): Promise<Generation | undefined> {
  const announced = announcedSubmit(attempt);
  if (announced === undefined) return undefined;
  if ((await countRejections(context.database, task.id)) > announced.rejections) return undefined;
  const found = await writeDown(context, task, announced.upstreamIndex, { state: 'intent' }, false);
  return found.kind === 'in_progress' ? found.generation : undefined;
}

/** What a workflow learns about a generation, so that its history provides it to a later run. */
export function submitResultOf(task: WorkingTask, generation: Generation): SubmitResult {
  const { upstreamIndex } = generation;
  const facts = { upstreamIndex, ...(task.requestHash === null ? {} : { requestHash: task.requestHash }) };
  if (generation.state !== 'produced') {
    const isPlain = generation.state === 'submitted' && isPlainJobId(generation.jobId);
    return { kind: 'job', ...facts, ...(isPlain ? { jobId: generation.jobId } : {}) };
  }
  const files = generation.files.filter((file): file is StoredFile => 'key' in file);
  return { kind: 'produced', ...facts, ...(files.length === generation.files.length ? { files } : {}) };
}
