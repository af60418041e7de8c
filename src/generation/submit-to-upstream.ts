/**
 * One submit to one upstream: through its gate, announced if necessary, with its outcome classified. Whatever it shows
 * about the upstream itself is reported to the gate, for all tasks.
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import type { InputFault } from '@darkroom/api/facts/input-fault';
import { ShareExhaustedError } from '../limits/tenant-shares.ts';
import type { Lease } from '../limits/tenant-shares.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../providers/provider.ts';
import type { GenerationRequest, Submission } from '../providers/provider.ts';
import { withdrawIntent } from '../tasks/lifecycle/intents.ts';
import type { DeclaredIntent } from '../tasks/lifecycle/intents.ts';
import { persistWithRetry } from '../tasks/lifecycle/persist-with-retry.ts';
import { recordFiles, recordJob, recordNoAnswer, recordRejection } from '../tasks/lifecycle/generations.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import type { Entry } from '../upstreams/gate.ts';
import { stateUnsent, withdrawSubmit, CLEAR_WITHIN_MS, announce, recordPossibleWork } from './announced-submit.ts';
import { submitResultOf } from './earlier-work.ts';
import { GenerationFailure, permanentFailure, retryableFailure, logFailure } from './failure.ts';
import { openLiveOutput } from './live-output.ts';
import { startMarkingSubmitLive } from './live-submit.ts';
import type { LiveSubmit } from './live-submit.ts';
import { healthOf, reportHealth } from './upstream-health.ts';
import { warnOfShortGrace } from './short-grace.ts';
import { stageFiles } from './stage-files.ts';
import { stageInputs } from './stage-inputs.ts';
import { WorkerStoppingError } from './stopping.ts';
import type { SubmitAttempt } from './attempt.ts';
import type { TaskRoute } from './task-route.ts';
import { isReported, recordConsumption, warnOfExcess, workCostAt } from './work-cost.ts';

/**
 * Until a long rendering without a slot is retried. Other tasks wait in the process for the next slot that becomes
 * free, so that none stays unused meanwhile.
 */
const NO_SLOT_RETRY_MS = 3_000;

/** Why an upstream did not accept a task: nothing was sent to it, or it certainly accepted nothing. */
export type Obstacle =
  /** Known to be rejecting all requests for this long; undefined: waiting is pointless, as its credential is no good. */
  | { readonly kind: 'closed'; readonly waitMs: number | undefined; readonly endsSearch: boolean }
  | {
      readonly kind: 'rejected';
      readonly reason: FailureReason;
      readonly fault: InputFault | undefined;
      /** Undefined: trying again is pointless. */
      readonly waitMs: number | undefined;
      readonly rejectionsSoFar: number;
      /** The work itself was rejected, which other upstreams would do as well. */
      readonly endsSearch: boolean;
    };

/** The upstream's concurrency limit is reached. The task is in its queue and has been waiting for `waitedMs`. */
export type Full = Extract<Entry, { readonly kind: 'full' }>;

/** The reasons for which an upstream rejects the work itself and not our credentials, balance or requests. */
const REASONS_OF_THE_WORK: readonly FailureReason[] = ['content_rejected', 'input_invalid'];

/** How a member of a pool is entered. */
export interface MemberEntry {
  /** Whether the task joins its queue. */
  readonly joins: boolean;
  /** Called when the task may go there, before anything is sent. */
  onEntered(): Promise<void>;
}

/**
 * Submits a task to one upstream.
 *
 * @param member undefined: the upstream is no member of a pool, and the task joins its queue.
 * @throws {GenerationFailure} the task has ended, or another attempt of the activity has to continue.
 */
export async function submitToUpstream(
  attempt: SubmitAttempt,
  route: TaskRoute,
  member?: MemberEntry,
): Promise<{ readonly result: SubmitResult } | Full | Obstacle> {
  const { context, task } = attempt;
  const { gate } = context.upstreams;
  const who = { taskId: task.id, accountId: task.accountId };
  const entry =
    route.gated === undefined ? { kind: 'open' as const } : await gate.enter(route.gated, who, member?.joins);
  if (entry.kind === 'closed') {
    const { pauseReason, waitMs } = entry;
    return { kind: 'closed', waitMs: pauseReason === null ? waitMs : undefined, endsSearch: false };
  }
  if (entry.kind === 'full') return entry;

  let shouldKeepSlot = false;
  try {
    await member?.onEntered();
    const answer = await exchangeWith(attempt, route, member !== undefined);
    shouldKeepSlot = 'result' in answer && answer.result.kind === 'job';
    return answer;
  } catch (error) {
    // A job that may be running there still counts: the next attempt of this task finds its slot.
    shouldKeepSlot = !(error instanceof GenerationFailure || error instanceof WorkerStoppingError);
    throw error;
  } finally {
    if (!shouldKeepSlot && route.gated !== undefined) await gate.release(route.gated, task.id);
  }
}

async function exchangeWith(
  attempt: SubmitAttempt,
  route: TaskRoute,
  isMember: boolean,
): Promise<{ readonly result: SubmitResult } | Obstacle> {
  if (attempt.hasSlot) return submitInSlot(attempt, route, isMember);
  const slot = await acquireProviderSlot(route, attempt.task.accountId, attempt.stopSignal);
  try {
    return await submitInSlot(attempt, route, isMember);
  } finally {
    slot?.release();
  }
}

/**
 * Acquires a slot at a provider that has few, waiting for a moment if others are already waiting.
 *
 * @returns undefined: the provider has no limit.
 * @throws {GenerationFailure} retryable: there is none. Another task gets the worker's slot meanwhile.
 */
export async function acquireProviderSlot(
  { provider, request }: TaskRoute,
  accountId: string,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  return provider.enter?.(request.upstream, { accountId, signal }).catch((error: unknown) => {
    if (error instanceof ShareExhaustedError) throw retryableFailure('provider_unavailable', spread(NO_SLOT_RETRY_MS));
    signal.throwIfAborted();
    throw error;
  });
}

/** Up to twice as long, so that waiting tasks do not all retry at the same moment. */
function spread(milliseconds: number): number {
  return Math.round(milliseconds * (1 + Math.random()));
}

/**
 * What aborts a submit. One that only hands over the work takes a short time, and if it were aborted the job would be
 * lost; one that does the work itself is aborted if the caller no longer wants it. A stopping worker aborts it only if
 * it may be repeated.
 */
function submitSignal({ stopSignal, stopSignals }: SubmitAttempt, { provider }: TaskRoute, live?: LiveSubmit) {
  if (!provider.worksWhileSubmitting) return stopSignals.deadline;
  const signal = provider.isSubmitRepeatable ? stopSignal : stopSignals.requested;
  return live === undefined ? signal : AbortSignal.any([signal, live.unwanted]);
}

async function submitInSlot(
  attempt: SubmitAttempt,
  route: TaskRoute,
  isMember: boolean,
): Promise<{ readonly result: SubmitResult } | Obstacle> {
  const { context, task, stopSignal, scratch } = attempt;
  warnOfShortGrace(context, route);
  // Before the intent: what fails until then was not sent.
  const staged = await stageInputs(context, task, route, { scratch, signal: stopSignal });
  const request = await uploadMedia(attempt, route, staged, isMember);
  if ('kind' in request) return request;
  const intent = await announce(attempt, route);
  const live = intent === undefined ? undefined : startMarkingSubmitLive(context, attempt, task, route);
  try {
    return await send(attempt, route, request, { intent, signal: submitSignal(attempt, route, live), isMember });
  } finally {
    live?.stop();
  }
}

/** @returns the request with what was uploaded for it; or why that was not possible. */
async function uploadMedia(
  attempt: SubmitAttempt,
  route: TaskRoute,
  request: GenerationRequest,
  isMember: boolean,
): Promise<GenerationRequest | Obstacle> {
  const { task, scratch, stopSignal, onProgress } = attempt;
  if (route.provider.upload === undefined) return request;
  const call = { accountId: task.accountId, signal: stopSignal, scratch, onProgress };
  try {
    return { ...request, references: await route.provider.upload(request, call) };
  } catch (error) {
    if (!(error instanceof ProviderRejection)) throw error;
    return obstacleOf(attempt, route, error, { intent: undefined, signal: stopSignal, isMember });
  }
}

/** What is known about a submit that is sent. */
interface Sending {
  /** Undefined: it was not announced. */
  readonly intent: DeclaredIntent | undefined;
  readonly signal: AbortSignal;
  /** Whether the upstream is a member of a pool: others take the task while it is left alone. */
  readonly isMember: boolean;
}

async function send(
  attempt: SubmitAttempt,
  route: TaskRoute,
  request: GenerationRequest,
  sending: Sending,
): Promise<{ readonly result: SubmitResult } | Obstacle> {
  const { context, task, scratch, onProgress } = attempt;
  const { intent, signal } = sending;
  const hook = hookOf(attempt, route);
  const live = route.definition.modality === 'audio' ? openLiveOutput(context, task.id) : undefined;
  let submission: Submission;
  try {
    submission = await route.provider.submit(request, {
      accountId: task.accountId,
      signal,
      scratch,
      onProgress,
      onFileBytes: live?.push,
      ...hook,
    });
  } catch (error) {
    return await obstacleOf(attempt, route, error, sending);
  } finally {
    live?.close();
  }
  await reportHealth(attempt, route, 'answered');
  try {
    return { result: await persistResult(attempt, route, withInputSeconds(submission, request), signal) };
  } catch (error) {
    if (intent === undefined) await recordPossibleWork(attempt, route);
    throw error;
  }
}

function hookOf({ context, task }: SubmitAttempt, { provider, request, upstreamName }: TaskRoute) {
  if (provider.callsBack !== true) return {};
  const { baseUrl } = request.upstream;
  const { hookUrls } = context.upstreams;
  const hookUrl = hookUrls.urlFor({ name: upstreamName, baseUrl }, task.id, task.urlKeyId);
  if (hookUrl === undefined) return {};
  return { hookUrl, hookSecret: hookUrls.secretFor(upstreamName, task.id, task.urlKeyId) };
}

/**
 * A provider that does not report how long the input was leaves it at what we measured. What we counted is what the
 * account pays for, whatever a provider reports; the times that a container states may be wrong, and a report corrects
 * them.
 */
function withInputSeconds(submission: Submission, { inputSeconds, isInputCounted }: GenerationRequest): Submission {
  if (inputSeconds === undefined) return submission;
  const counted = isInputCounted === true ? { countedInputSeconds: inputSeconds } : {};
  return { ...submission, usage: { inputSeconds, ...submission.usage, ...counted } };
}

/** Records the result. */
async function persistResult(
  attempt: SubmitAttempt,
  route: TaskRoute,
  submission: Submission,
  signal: AbortSignal,
): Promise<SubmitResult> {
  const { context, task } = attempt;
  if (submission.kind === 'job') {
    const { jobId } = submission;
    const cost = isReported(submission) ? workCostAt(route, 0, submission) : {};
    await persistWithRetry(signal, () => recordJob(context.database, task, route, jobId, cost));
    return submitResultOf(task, { state: 'submitted', jobId, upstreamIndex: route.upstreamIndex });
  }
  if (submission.files.length === 0) throw permanentFailure('no_output');
  const files = await stageFiles(context, attempt, task.id, submission.files, signal);
  const cost = workCostAt(route, files.length, submission);
  warnOfExcess(context, task, route, cost);
  await persistWithRetry(signal, () => recordFiles(context.database, task, route, files, cost));
  // A video's frames have to be made, which takes more than checking that the files exist.
  const isStored = route.definition.modality !== 'video' && files.every((file) => 'key' in file);
  return {
    ...submitResultOf(task, { state: 'produced', jobId: null, upstreamIndex: route.upstreamIndex, files }),
    isStored,
  };
}

/** Classifies an error. @throws what ends the attempt, or the task. */
async function obstacleOf(
  attempt: SubmitAttempt,
  route: TaskRoute,
  error: unknown,
  { intent, signal, isMember }: Sending,
): Promise<Obstacle> {
  const { context, task } = attempt;
  await reportHealth(attempt, route, healthOf(error, isMember));
  const rejectionsSoFar =
    error instanceof ProviderRejection ? await recordRejectedSubmit(attempt, route, error, intent) : 0;
  if (intent === undefined && mayBeBilled(error)) await recordPossibleWork(attempt, route);
  signal.throwIfAborted();
  if (error instanceof ProviderRejection) {
    const { reason, retryAfterMs, fault, note } = error;
    context.logger[note === undefined ? 'info' : 'error'](
      { taskId: task.id, upstream: route.upstreamName, protocol: route.request.upstream.protocol, reason, note },
      'provider rejected the task',
    );
    const endsSearch = REASONS_OF_THE_WORK.includes(reason);
    return { kind: 'rejected', reason, fault, waitMs: retryAfterMs, rejectionsSoFar, endsSearch };
  }
  if (error instanceof ProviderFailure) {
    logFailure(context, route, error);
    await recordConsumption(context, route, error.consumption);
    throw permanentFailure(error.reason, error.fault);
  }
  // It is unknown whether the work was accepted.
  if (error instanceof ProviderUnknown) {
    const { status, code } = error;
    context.logger.warn(
      { taskId: task.id, upstream: route.upstreamName, status, code },
      'outcome of a submit is unknown',
    );
    await recordNoAnswer(context.database, task.id, route);
  }
  if (!route.provider.isSubmitRepeatable) throw permanentFailure('outcome_unknown');
  throw error;
}

/**
 * Records that nothing was accepted, so that another attempt may submit again, also to another upstream.
 *
 * @returns how many rejections there are by now.
 */
async function recordRejectedSubmit(
  attempt: SubmitAttempt,
  route: TaskRoute,
  { reason }: ProviderRejection,
  intent: DeclaredIntent | undefined,
): Promise<number> {
  const { context, task } = attempt;
  if (intent === undefined) return recordRejection(context.database, task.id, route, reason);
  try {
    const rejections = await persistWithRetry(AbortSignal.timeout(CLEAR_WITHIN_MS), () =>
      withdrawIntent(context.database, task.id, route, reason, intent),
    );
    withdrawSubmit(attempt);
    return rejections;
  } catch (error) {
    // The intent may remain, but its submit was not accepted.
    stateUnsent(attempt);
    throw error;
  }
}

/** False for work that the upstream certainly did not accept, and for work that it reports as failed at no cost. */
function mayBeBilled(error: unknown): boolean {
  if (error instanceof ProviderFailure) return error.reason === 'no_output' || isReported(error.consumption);
  return !(error instanceof ProviderRejection);
}
