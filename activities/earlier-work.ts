/**
 * What a run of a task's workflow had brought about, where the database does not know of it: a failover has lost commits,
 * or a backup was put back (docs/decisions/0037). It is read from the run's history and written down again, so that everything
 * after that goes its usual way, and nothing is bought that was bought already.
 */
import { Context } from '@temporalio/activity';
import pRetry from 'p-retry';
import type { RunRecord, StoredFile } from '../src/domain/run-record.ts';
import { isPlainJobId } from '../src/domain/run-record.ts';
import { ObjectNotFoundError } from '../src/objects/stores/object-store.ts';
import { restoreGeneration } from '../src/tasks/repair/lost-commits.ts';
import type { KnownGeneration } from '../src/tasks/repair/lost-commits.ts';
import { countRefusals, readGeneration } from '../src/tasks/lifecycle/transitions.ts';
import type { Generation, WorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import type { SubmitResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { permanent } from './failures.ts';
import { attachToHeartbeats } from './heartbeat.ts';
import { routeAt, routesOf } from './task-route.ts';

/** Runs of one task that are gone through: each of them but the last has found nothing to do. */
const MAX_RUNS = 10;

/** What was found of earlier work: how it ended the task, or how far its generation has come. */
export type EarlierWork =
  | { readonly kind: 'ended'; readonly result: SubmitResult }
  | {
      readonly kind: 'going on';
      readonly generation: Generation;
      /** The task had ended as a success: a cancel that was accepted since came too late. */
      readonly isDecided: boolean;
    }
  | { readonly kind: 'none' };

/**
 * Takes over what a run had brought about.
 *
 * @param runId the run to look at; where it had nothing, the one before it, and so on.
 * @param onlyIfEnded nothing but what had ended the task.
 * @throws {ApplicationFailure} `outcome_unknown`: it worked for another request under the same Idempotency-Key, or nobody
 *   can tell which of several upstreams may have the work.
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
    // Files that were written down are in no answer of the provider's.
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
 * Whether a run is, or was, for another request under the same Idempotency-Key than a task is now.
 *
 * @param requestHash of the run; undefined: it does not say.
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

/** The last run that had something. */
async function findRecord(
  context: ActivityContext,
  task: WorkingTask,
  firstRunId: string,
): Promise<RunRecord | undefined> {
  let runId: string | undefined = firstRunId;
  for (let runs = 0; runId !== undefined && runs < MAX_RUNS; runs++) {
    const record: RunRecord | undefined = await context.readRun(task.id, runId);
    if (record === undefined) return undefined;
    // Also of one that had sent nothing as far as is known: a submit that can be repeated is not announced.
    const mayMatter = record.outcome !== undefined || record.hasBegun;
    if (mayMatter && isForAnotherRequest(context, task, record.requestHash)) throw permanent('outcome_unknown');
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
  // An attempt that goes on may have written down more in the same moment.
  const written = await readGeneration(context.database, task.id);
  const restored: Generation =
    known.state === 'produced' ? { ...known, jobId: null, place: upstream.place } : { ...known, place: upstream.place };
  return { kind: 'going on', generation: written ?? restored, isDecided };
}

/** The upstream of a run that does not say which it was. */
async function onlyRoute(context: ActivityContext, task: WorkingTask) {
  const [route, ...others] = await routesOf(context, task);
  if (route === undefined || others.length > 0) throw permanent('outcome_unknown');
  return route;
}

/**
 * The generation of the run that this activity belongs to, where the database has lost it.
 *
 * @throws {ApplicationFailure} `outcome_unknown`: the run does not say what became of it.
 */
export async function generationOfThisRun(context: ActivityContext, task: WorkingTask): Promise<Generation> {
  const runId = Context.current().info.workflowExecution?.runId;
  const found = runId === undefined ? undefined : await takeOver(context, task, runId);
  if (found?.kind !== 'going on' || found.generation.state === 'intent') throw permanent('outcome_unknown');
  return found.generation;
}

/** What is known outside the database of a submit that is about to be sent. */
interface AnnouncedSubmit {
  /** Of the upstream, in the list of the route. */
  readonly place: number;
  /** How often the task had been refused before: where more refusals are recorded, this submit was refused as well. */
  readonly refusals: number;
}

/** Retries within the time after which the attempt is taken for dead. */
const ANNOUNCE_RETRY = { retries: 2, minTimeout: 200, maxTimeout: 500 };

/**
 * Tells the next attempt, and a run after this one, to which upstream the work is about to be sent, so that it is known
 * also where the database loses the intent. Temporal has it when this returns: whatever becomes of the worker then.
 *
 * @returns false where this attempt is over and nothing may be sent.
 * @throws Temporal does not answer.
 */
export async function announceSubmit(context: ActivityContext, submit: AnnouncedSubmit): Promise<boolean> {
  attachToHeartbeats(submit);
  const { taskToken } = Context.current().info;
  return pRetry(() => context.recordHeartbeat(taskToken, submit), ANNOUNCE_RETRY);
}

/** Nothing was sent, or it was refused, and the database knows that. */
export function withdrawSubmit(): void {
  attachToHeartbeats({});
}

/** The intent of an attempt before this one, where the database has no generation of the task: it has lost the intent. */
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

/** What a workflow is told of a generation, so that its history tells it to a run after this one. */
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
