/**
 * Takes one piece of work through a provider as a worker does, without a database: submit, polls at a worker's pace,
 * and a request to cancel when it is interrupted or its time is over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createPollPace } from '../../../generation/poll-pace.ts';
import {
  ProviderFailure,
  ProviderRejection,
  ProviderUnknown,
  ProviderUnreachable,
} from '../../../providers/provider.ts';
import type {
  FinishedWork,
  GenerationRequest,
  ProducedFile,
  Provider,
  SubmitCall,
} from '../../../providers/provider.ts';
import type { FailureReason } from '../../../domain/failure-reason.ts';
import { formatUsd } from '../../../domain/money.ts';
import { mergeConsumption } from '../../../domain/provider-usage.ts';
import type { Consumption } from '../../../domain/provider-usage.ts';

/** How it ended. */
export type Ending =
  | { readonly kind: 'done'; readonly files: readonly ProducedFile[]; readonly consumption: Consumption }
  | { readonly kind: 'rejected'; readonly reason: FailureReason; readonly note?: string | undefined }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly consumption: Consumption }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'stopped'; readonly why: string };

export interface Work {
  readonly provider: Provider;
  readonly request: GenerationRequest;
  readonly scratch: string;
  /** Aborts, with an error that says why, when the work has to stop. */
  readonly stop: AbortSignal;
  /** Whether the responses come from a file: then nothing is waited for. */
  readonly isPlayedBack: boolean;
  /** Whether no more responses will come. */
  readonly hasEnded: () => boolean;
  readonly note: (text: string) => void;
}

/** How long a request to cancel may take, in milliseconds. */
const CANCEL_WITHIN_MS = 30_000;

/** @returns how it ended, and the job if there was one. */
export async function runWork(work: Work): Promise<{ readonly ending: Ending; readonly jobId?: string }> {
  let jobId: string | undefined;
  let taken: Consumption = {};
  try {
    const submission = await submit(work);
    if (submission.kind === 'done') return { ending: doneWith(submission) };
    ({ jobId } = submission);
    taken = submission;
    return { ending: withTaken(doneWith(await poll(work, jobId)), taken), jobId };
  } catch (error) {
    const ending = withTaken(endingOf(work, error), taken);
    const job = jobId === undefined ? {} : { jobId };
    if (ending.kind === 'stopped' && jobId !== undefined && !work.isPlayedBack) await cancel(work, jobId);
    return { ending, ...job };
  }
}

/** A submit that makes a job is not cut off: it is short, and the job could not be cancelled. */
async function submit({ provider, request, scratch, stop, note }: Work) {
  const call: SubmitCall = {
    accountId: 'models try',
    scratch,
    signal: provider.worksWhileSubmitting ? stop : new AbortController().signal,
    onProgress: (fraction) => note(`${Math.round(fraction * 100)} %`),
  };
  return provider.submit(request, call);
}

function doneWith({ files, usage, costMicroUsd }: FinishedWork): Ending {
  const consumption = {
    ...(usage === undefined ? {} : { usage }),
    ...(costMicroUsd === undefined ? {} : { costMicroUsd }),
  };
  return { kind: 'done', files, consumption };
}

/** @param taken what the answer that took the job said. */
function withTaken(ending: Ending, taken: Consumption): Ending {
  if (ending.kind !== 'done' && ending.kind !== 'failed') return ending;
  return { ...ending, consumption: mergeConsumption(taken, ending.consumption) };
}

async function poll(work: Work, jobId: string): Promise<FinishedWork> {
  const { provider, request, stop, note } = work;
  const started = performance.now();
  const pace = createPollPace();
  for (;;) {
    stop.throwIfAborted();
    let waitMs: number | undefined;
    try {
      const state = await provider.poll(request, jobId, { signal: stop });
      if (state.kind === 'done') return state;
      pace.readable();
      waitMs = state.pollAfterMs;
      const seconds = ((performance.now() - started) / 1_000).toFixed(1);
      const progress = state.progress === undefined ? '' : `, ${Math.round(state.progress * 100)} %`;
      note(`job ${jobId}: running${progress} (${seconds} s)`);
    } catch (error) {
      if (!(error instanceof ProviderUnreachable) || work.hasEnded()) throw error;
      if (error.code === 'NO_PATH') {
        // It would be the same at the next poll.
        if (!work.isPlayedBack) await cancel(work, jobId);
        throw error;
      }
      note(`${error.message}; a worker polls again`);
      waitMs = error.retryAfterMs;
      const isUnreadable = error.status !== undefined && error.status >= 200 && error.status < 300;
      if (isUnreadable && pace.unreadable()) {
        if (!work.isPlayedBack) await cancel(work, jobId);
        throw new ProviderFailure('provider_error', { cause: error });
      }
    }
    const next = pace.next(waitMs, false);
    if (!work.isPlayedBack) await sleep(next, undefined, { signal: stop }).catch(() => stop.throwIfAborted());
  }
}

/**
 * Submits a job and asks the provider at once to cancel it.
 *
 * @returns what it answered; or how the work ended without that.
 */
export async function requestCancel(
  work: Work,
): Promise<{ readonly ending: Ending } | { readonly ending?: undefined; readonly outcome: string }> {
  try {
    const submission = await submit(work);
    if (submission.kind === 'done') return { ending: doneWith(submission) };
    return { outcome: await cancel(work, submission.jobId) };
  } catch (error) {
    return { ending: endingOf(work, error) };
  }
}

/** Asks the provider to cancel a job. @returns what it answered. */
export async function cancel({ provider, request, note }: Work, jobId: string): Promise<string> {
  try {
    const call = { signal: AbortSignal.timeout(CANCEL_WITHIN_MS) };
    const { outcome, billedMicroUsd } = await provider.cancel(request, jobId, call);
    const cost = billedMicroUsd === undefined ? '' : `, and bills ${formatUsd(billedMicroUsd)} USD`;
    note(`job ${jobId}: the provider was asked to cancel: ${outcome}${cost}`);
    return outcome;
  } catch (error) {
    const problem = `the provider could not be asked to cancel: ${messageOf(error)}`;
    note(`job ${jobId}: ${problem}`);
    return problem;
  }
}

function endingOf({ stop }: Work, error: unknown): Ending {
  if (error instanceof ProviderRejection) return { kind: 'rejected', reason: error.reason, note: error.note };
  if (error instanceof ProviderFailure) {
    return { kind: 'failed', reason: error.reason, consumption: error.consumption };
  }
  if (error instanceof ProviderUnknown || error instanceof ProviderUnreachable) {
    return { kind: 'unknown', message: error.message };
  }
  if (stop.aborted) return { kind: 'stopped', why: messageOf(stop.reason) };
  throw error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
