/**
 * The one small interface behind which every upstream protocol lives: submit, poll, cancel, and errors of three kinds.
 * Adding an upstream is adding a folder here; nothing else in the program knows a provider's words.
 *
 * What the rest relies on (architecture, "Submitting is split from waiting, and never repeated blindly"):
 * - `submit` throws `ProviderRefusal` only when it is certain that no work was accepted;
 * - it throws `ProviderFailure` only when the work was accepted and is over;
 * - anything else it throws means that nobody knows, and only a repeatable submit may be tried again.
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** One file that a provider made: its bytes, a local file that the caller deletes, or an address to fetch it from. */
export type ProducedFile =
  | { readonly from: 'bytes'; readonly bytes: Uint8Array }
  | { readonly from: 'file'; readonly path: string }
  | { readonly from: 'url'; readonly url: string };

/** What submitting brought: finished work, or a job to wait for. */
export type Submission =
  | { readonly kind: 'done'; readonly files: readonly ProducedFile[] }
  | { readonly kind: 'job'; readonly jobId: string };

/** What the provider says of a job when asked. `progress` is 0..1 where it is known. */
export type JobState =
  | { readonly kind: 'running'; readonly progress?: number; readonly pollAfterMs?: number }
  | { readonly kind: 'done'; readonly files: readonly ProducedFile[] };

/** What became of a request to stop: `unsupported` where the protocol has no such call. */
export type CancelOutcome = 'cancelled' | 'too_late' | 'unsupported';

/** How a provider answered a request to stop. */
export interface CancelAnswer {
  readonly outcome: CancelOutcome;
  /** What it bills for the work all the same, where it says so. */
  readonly billedMicroUsd?: bigint;
}

/** The part of a route that says who does the work. It is pinned with the definition (architecture, "Models are pinned"). */
export interface UpstreamBinding {
  /** A folder below `providers/`. */
  readonly protocol: string;
  /** The upstream's base address; absent for the embedded engines. */
  readonly baseUrl?: string;
  /** The name under which configuration holds the credential; never the credential itself. */
  readonly secret?: string;
  /** The upstream's own name for the model, or the embedded engine's name. */
  readonly model: string;
  /** Fields that are always sent, over the caller's. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** One file that an input brings along. */
export interface InputFile {
  /** Read from the bytes. */
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** One piece of work. */
export interface GenerationRequest {
  readonly taskId: TaskId;
  readonly upstream: UpstreamBinding;
  /** The validated input. Media are addresses that the provider can fetch. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The media themselves by their place in the input (`image_urls.0`), for a provider that `takesMediaAsBytes`. */
  readonly media?: ReadonlyMap<string, InputFile>;
}

/** What every call of a provider gets beside its arguments. */
export interface ProviderCall {
  /** Aborts at the task's deadline, on cancellation and when the worker stops. */
  readonly signal: AbortSignal;
}

/** One upstream protocol. Stateless: everything about a task comes in with the call. */
export interface Provider {
  readonly protocol: string;
  /** Whether submitting the same task twice is the same as once: embedded engines, upstreams that take an idempotency key. */
  readonly isSubmitRepeatable: boolean;
  /**
   * Whether the work is done while `submit` runs, or afterwards as a job. A submit that brings a job is short, and a
   * cancellation does not cut it off: the job's id would be lost, and with it the means to stop it.
   */
  readonly worksWhileSubmitting: boolean;
  /** Whether `submit` is given the media of an input, because it fetches none itself. Default: no. */
  readonly takesMediaAsBytes?: boolean;
  submit(request: GenerationRequest, call: ProviderCall): Promise<Submission>;
  /** @throws {ProviderFailure} the job is over without a result. */
  poll(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<JobState>;
  cancel(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<CancelAnswer>;
}

/** Nothing was accepted: not sent at all, or refused with 4xx, 429, or 503 without a job. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly reason: FailureReason;
  /** How long the provider asked us to stay away; undefined where trying again is pointless. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: FailureReason, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(`the provider refused the work: ${reason}`, { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The work was accepted and is over without a usable result. Final: the same submit is never sent again. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, options: { cause?: unknown } = {}) {
    super(`the provider failed: ${reason}`, { cause: options.cause });
    this.reason = reason;
  }
}
