/**
 * The one small interface behind which every upstream protocol lives: submit, poll, cancel, and errors of three kinds.
 * Adding an upstream is adding a folder here; nothing else in the program knows a provider's words.
 *
 * What the rest relies on (architecture, "Submitting is split from waiting, and never repeated blindly"):
 * - `submit` throws `ProviderRefusal` only when it is certain that no work was accepted;
 * - it throws `ProviderFailure` only when the work was accepted and is over;
 * - anything else it throws means that nobody knows, and only a repeatable submit may be tried again.
 */
import type { Readable } from 'node:stream';
import type { Modality, UpstreamApi } from '../catalogue/definition.ts';
import type { HttpBinding } from '../catalogue/http-binding.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import type { InputFault } from '../domain/input-fault.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Lease } from '../limits/tenant-shares.ts';

/** One file that a provider made: its bytes, a file in the scratch folder, or an address to fetch it from. */
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
  /** What callers and records call it; default: its protocol and host. */
  readonly id?: string;
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
  /** How many of its jobs may be under way at once, over all workers. */
  readonly concurrency?: number;
  /** Which of the interfaces of a protocol that has several (`openai`); default: by what the model makes. */
  readonly api?: UpstreamApi;
  /** What to say to an upstream of protocol `http`, and how to read what it says. */
  readonly http?: HttpBinding;
}

/** One file that an input brings along, in the scratch folder of the call. */
export interface InputFile {
  /** Read from the bytes. */
  readonly mimeType: string;
  readonly path: string;
}

/** One piece of work. */
export interface GenerationRequest {
  readonly taskId: TaskId;
  readonly upstream: UpstreamBinding;
  /** The validated input. Media are addresses that the provider can fetch. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The media themselves by their place in the input (`image_urls.0`), for a provider that `takesMediaAsFiles`. */
  readonly media?: ReadonlyMap<string, InputFile>;
}

/** What every call of a provider gets beside its arguments. */
export interface ProviderCall {
  /** Aborts at the task's deadline, on cancellation and when the worker stops. */
  readonly signal: AbortSignal;
}

/** What submitting gets besides. */
export interface SubmitCall extends ProviderCall {
  /** Whose task it is: what is scarce in this process is shared out by account. */
  readonly accountId: string;
  /** A folder of this attempt alone for files; it is removed when the attempt is over. */
  readonly scratch: string;
  /**
   * Where the upstream may call back when something has happened to the job, with any body; only for a provider that
   * `callsBack`, and where the upstream can be expected to reach us. The same for every attempt of a task.
   */
  readonly hookUrl?: string;
  /** Is told how much is done, 0 to 1, where work is done while submitting. */
  readonly onProgress: (fraction: number) => void;
}

/** How a file is fetched from the upstream itself. */
export interface DownloadCall extends ProviderCall {
  /** For the whole exchange, redirects and reading the body included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** A file that the upstream itself serves, or the address elsewhere at which it is. */
export type UpstreamFile =
  | { readonly from: 'upstream'; readonly body: Readable }
  | { readonly from: 'elsewhere'; readonly url: string };

/** One upstream protocol. Stateless: everything about a task comes in with the call. */
export interface Provider {
  readonly protocol: string;
  /** The provider for one binding, where what is declared below depends on it. Default: the provider as it is. */
  boundTo?(upstream: UpstreamBinding, modality: Modality): Provider;
  /** Whether submitting the same task twice is the same as once: embedded engines, upstreams that take an idempotency key. */
  readonly isSubmitRepeatable: boolean;
  /**
   * Whether the work is done while `submit` runs, or afterwards as a job. A submit that brings a job is short, and a
   * cancellation does not cut it off: the job's id would be lost, and with it the means to stop it.
   */
  readonly worksWhileSubmitting: boolean;
  /** Whether `submit` is given the media of an input, because it fetches none itself. Default: no. */
  readonly takesMediaAsFiles?: boolean;
  /** Whether `submit` passes the call's `hookUrl` on, so that the upstream calls back. Default: no. */
  readonly callsBack?: boolean;
  /**
   * Takes what the work needs in this process, before its files are fetched and `submit` is called; released when that is
   * over. Absent, or undefined: nothing.
   *
   * @throws {ShareExhaustedError} there is none for this account now; nothing was done.
   */
  enter?(upstream: UpstreamBinding, call: Pick<SubmitCall, 'accountId' | 'signal'>): Promise<Lease | undefined>;
  submit(request: GenerationRequest, call: SubmitCall): Promise<Submission>;
  /** @throws {ProviderFailure} the job is over without a result. */
  poll(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<JobState>;
  cancel(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<CancelAnswer>;
  /**
   * Fetches a result that lies on the upstream's own configured origin, which may be plain http and private, with its
   * credential. Absent: everything is fetched by the guarded client, as is whatever is found `elsewhere`.
   *
   * @param url an address that `submit` or `poll` brought.
   * @throws {EgressError} it could not be fetched; the stream fails with one too.
   */
  download?(request: GenerationRequest, url: string, call: DownloadCall): Promise<UpstreamFile>;
}

/**
 * What a refusal says of the upstream itself, and so for all tasks: `busy`, it asks to be left alone for `retryAfterMs`
 * (429, or 503 with `Retry-After`); `down`, it cannot be reached or answers 5xx. Undefined: it is well, and refuses this
 * work.
 */
export type UpstreamCondition = 'busy' | 'down';

/** Nothing was accepted: not sent at all, or refused with 4xx, 429, or 503 without a job. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly reason: FailureReason;
  /** How long the provider asked us to stay away; undefined where trying again is pointless. */
  readonly retryAfterMs: number | undefined;
  readonly condition: UpstreamCondition | undefined;
  /** What is wrong with the input, where it was we who found it. */
  readonly fault: InputFault | undefined;
  /** For the operator's log, where the exchange has not told it there: names of ours, never a value. */
  readonly note: string | undefined;

  constructor(
    reason: FailureReason,
    options: {
      retryAfterMs?: number;
      condition?: UpstreamCondition | undefined;
      fault?: InputFault;
      note?: string;
      cause?: unknown;
    } = {},
  ) {
    super(`the provider refused the work: ${reason}`, { cause: options.cause });
    this.reason = reason;
    this.fault = options.fault;
    this.note = options.note;
    this.retryAfterMs = options.retryAfterMs;
    this.condition = options.condition;
  }
}

/** The work was accepted and is over without a usable result. Final: the same submit is never sent again. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly reason: FailureReason;
  /** What is wrong with the input, where it was we who found it. */
  readonly fault: InputFault | undefined;

  constructor(reason: FailureReason, options: { fault?: InputFault; cause?: unknown } = {}) {
    super(`the provider failed: ${reason}`, { cause: options.cause });
    this.reason = reason;
    this.fault = options.fault;
  }
}
