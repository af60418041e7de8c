/**
 * The one small interface that every upstream protocol implements: submit, poll, cancel, and errors of three kinds. To
 * add a protocol, add a directory here and list it in `protocols.ts`; nothing else in the program knows a provider's
 * vocabulary.
 *
 * What the rest relies on (architecture, "Submitting is split from waiting, and never repeated blindly"):
 * - `submit` throws `ProviderRejection` only when it is certain that no work was accepted;
 * - it throws `ProviderFailure` only when the work was accepted and has ended;
 * - anything else it throws means that the outcome is unknown, and only a repeatable submit may be retried.
 */
import type { Readable } from 'node:stream';
import type { Modality } from '../catalogue/definition.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import type { InputFault } from '@darkroom/api/facts/input-fault';
import type { Consumption } from '../domain/provider-usage.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Lease } from '../limits/tenant-shares.ts';

/** One file that a provider made: its bytes, a file in the scratch directory, or a URL to fetch it from. */
export type ProducedFile =
  | { readonly from: 'bytes'; readonly bytes: Uint8Array }
  | { readonly from: 'file'; readonly path: string }
  | { readonly from: 'url'; readonly url: string };

/** Finished work, with what its provider says that it consumed. */
export interface FinishedWork extends Consumption {
  readonly kind: 'done';
  readonly files: readonly ProducedFile[];
}

/** A job to wait for, with what its provider says already that it consumes. */
export interface SubmittedJob extends Consumption {
  readonly kind: 'job';
  readonly jobId: string;
}

/** The result of submitting: finished work, or a job to wait for. */
export type Submission = FinishedWork | SubmittedJob;

/** The state of a polled job. `progress` is 0..1 if known. */
export type JobState =
  | { readonly kind: 'running'; readonly progress?: number; readonly pollAfterMs?: number }
  | FinishedWork;

/** The outcome of a request to cancel: `unsupported` if the protocol has no such call. */
export type CancelOutcome = 'cancelled' | 'too_late' | 'unsupported';

/** How a provider answered a request to cancel. */
export interface CancelAnswer {
  readonly outcome: CancelOutcome;
  /** The cost that the provider charges for the work nevertheless, if it reports that. */
  readonly billedMicroUsd?: bigint;
}

/**
 * The part of a route that determines which upstream does the work. It is pinned with the definition
 * (architecture, "Models are pinned"). A protocol may have fields of its own, which its directory reads.
 */
export interface UpstreamBinding {
  /** Its name for callers and in records; default: its protocol and host. */
  readonly id?: string;
  /** A directory below `providers/`. */
  readonly protocol: string;
  /** The upstream's base URL; absent for the embedded engines. */
  readonly baseUrl?: string;
  /** The name under which configuration holds the credential; never the credential itself. */
  readonly secret?: string;
  /** The upstream's own name for the model, or the embedded engine's name. */
  readonly model: string;
  /** Fields that are always sent, overriding the client's. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** How many of its jobs may run at once, across all workers. */
  readonly concurrency?: number;
}

/** One file that belongs to an input, in the scratch directory of the call. */
export interface InputFile {
  /** Detected from the bytes. */
  readonly mimeType: string;
  readonly path: string;
}

/** One piece of work. */
export interface GenerationRequest {
  readonly taskId: TaskId;
  readonly upstream: UpstreamBinding;
  /** The validated input. Media are URLs that the provider can fetch. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The media themselves by their position in the input (`image_urls.0`), for a provider that `takesMediaAsFiles`. */
  readonly media?: ReadonlyMap<string, InputFile>;
  /** The length of its audio and video, if its price counts that. */
  readonly inputSeconds?: number;
  /** Whether all of that was counted in the samples of the files, and none of it taken from the times that they state. */
  readonly isInputCounted?: boolean;
  /** What the provider calls the media that `upload` has sent it, by their position in the input. */
  readonly references?: ReadonlyMap<string, unknown>;
}

/** What every call of a provider gets in addition to its arguments. */
export interface ProviderCall {
  /** Aborts at the task's deadline, on cancellation and when the worker stops. */
  readonly signal: AbortSignal;
}

/** What submitting gets in addition. */
export interface SubmitCall extends ProviderCall {
  /** The account of the task: scarce resources of this process are shared by account. */
  readonly accountId: string;
  /** A directory for the files of this attempt alone; it is removed when the attempt ends. */
  readonly scratch: string;
  /**
   * The URL that the upstream may call, with any body, when something has happened to the job; only for a provider
   * that `callsBack`, and if the upstream can be expected to reach us. The same for every attempt of a task.
   */
  readonly hookUrl?: string;
  /** With `hookUrl`: a secret of the task, for an upstream that signs its calls with what the submit names. */
  readonly hookSecret?: string;
  /** Receives the progress, 0 to 1, if the work is done while submitting. */
  readonly onProgress: (fraction: number) => void;
  /** Receives the bytes of the file as they arrive, if the response is the file. Must not throw. */
  readonly onFileBytes?: ((bytes: Buffer) => void) | undefined;
}

/** How a file is fetched from the upstream itself. */
export interface DownloadCall extends ProviderCall {
  /** The time limit of the whole exchange, including redirects and reading the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** A file that the upstream itself serves, or its URL elsewhere. */
export type UpstreamFile =
  | { readonly from: 'upstream'; readonly body: Readable }
  | { readonly from: 'elsewhere'; readonly url: string };

/** One upstream protocol. Stateless: everything about a task is passed with the call. */
export interface Provider {
  readonly protocol: string;
  /** The provider for one binding, if the properties below depend on it. Default: the provider itself. */
  boundTo?(upstream: UpstreamBinding, modality: Modality): Provider;
  /**
   * Whether submitting the same task twice is the same as once: embedded engines, upstreams that accept an idempotency
   * key.
   */
  readonly isSubmitRepeatable: boolean;
  /**
   * Whether the work is done while `submit` runs, or afterwards as a job. A submit that creates a job is short, and a
   * cancellation does not cut it off: the job's id would be lost, and with it the means to stop the job.
   */
  readonly worksWhileSubmitting: boolean;
  /**
   * Whether `submit` receives the media of an input, because the provider fetches none itself; or the fields of the
   * input whose media it receives. Default: no.
   */
  readonly takesMediaAsFiles?: boolean | ReadonlySet<string>;
  /** Whether `submit` passes the call's `hookUrl` on, so that the upstream calls back. Default: no. */
  readonly callsBack?: boolean;
  /**
   * Acquires what the work needs in this process, before its files are fetched and `submit` is called; released when
   * the work is over. Absent, or undefined: nothing.
   *
   * @throws {ShareExhaustedError} none is available for this account now; nothing was done.
   */
  enter?(upstream: UpstreamBinding, call: Pick<SubmitCall, 'accountId' | 'signal'>): Promise<Lease | undefined>;
  /**
   * Uploads the media that go ahead of a submit. It submits nothing, and so may be repeated. Absent: none do.
   *
   * @returns the `references` of the request.
   * @throws {ProviderRejection} a file could not be uploaded.
   */
  upload?(request: GenerationRequest, call: SubmitCall): Promise<ReadonlyMap<string, unknown>>;
  submit(request: GenerationRequest, call: SubmitCall): Promise<Submission>;
  /** @throws {ProviderFailure} the job ended without a result. */
  poll(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<JobState>;
  cancel(request: GenerationRequest, jobId: string, call: ProviderCall): Promise<CancelAnswer>;
  /**
   * Fetches a result from the upstream's own configured origin, which may be plain http and private, with its
   * credential. Absent: everything is fetched by the guarded client, as is every file found `elsewhere`.
   *
   * @param url a URL that `submit` or `poll` returned.
   * @throws {EgressError} it could not be fetched; the stream fails with one too.
   */
  download?(request: GenerationRequest, url: string, call: DownloadCall): Promise<UpstreamFile>;
}

/**
 * What a rejection shows about the upstream itself, and so for all tasks: `busy`, it asks us to back off for
 * `retryAfterMs` (429, or 503 with `Retry-After`); `down`, it cannot be reached or answers 5xx; `unauthorized`, it does
 * not accept our credential, or we have none; `out_of_credit`, what the credential may spend is spent. Undefined: it is
 * healthy, and rejects this work.
 */
export type UpstreamCondition = 'busy' | 'down' | 'unauthorized' | 'out_of_credit';

/** Nothing was accepted: not sent at all, or rejected with 4xx, 429, or 503 without a job. */
export class ProviderRejection extends Error {
  override readonly name = 'ProviderRejection';
  readonly reason: FailureReason;
  /** How long the provider asked us to back off; undefined if a retry is pointless. */
  readonly retryAfterMs: number | undefined;
  readonly condition: UpstreamCondition | undefined;
  /** What is wrong with the input, if we found it ourselves. */
  readonly fault: InputFault | undefined;
  /**
   * A note for the operator's log, if the exchange has not logged one. It contains only our own names, never a value.
   */
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
    super(`the provider rejected the work: ${reason}`, { cause: options.cause });
    this.reason = reason;
    this.fault = options.fault;
    this.note = options.note;
    this.retryAfterMs = options.retryAfterMs;
    this.condition = options.condition;
  }
}

/** The work was accepted and ended without a usable result. Final: the same submit is never sent again. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly reason: FailureReason;
  /** What is wrong with the input, if we found it ourselves. */
  readonly fault: InputFault | undefined;
  /** Whether the provider says that it does not bill the work. */
  readonly isUnbilled: boolean;
  /** What the provider says that the work consumed all the same. */
  readonly consumption: Consumption;

  constructor(
    reason: FailureReason,
    options: { fault?: InputFault; isUnbilled?: boolean; consumption?: Consumption; cause?: unknown } = {},
  ) {
    super(`the provider failed: ${reason}`, { cause: options.cause });
    this.reason = reason;
    this.fault = options.fault;
    this.isUnbilled = options.isUnbilled === true;
    this.consumption = { ...(this.isUnbilled ? { costMicroUsd: 0n } : {}), ...options.consumption };
  }
}

/**
 * The few facts that may be reported about an exchange without a clear answer: only a status and a code from a closed
 * alphabet. A provider's text, a URL, a key or a prompt must not reach a message, because messages and causes end up in
 * Temporal's histories. For that reason there is no cause.
 */
interface ExchangeFault {
  /** The HTTP status, if one arrived. */
  readonly status?: number | undefined;
  /** One of our codes, or one of Node or the HTTP client: `TIMEOUT`, `ECONNRESET`, `UND_ERR_SOCKET`. */
  readonly code?: string | undefined;
}

function describe(fault: ExchangeFault): string {
  const parts = [fault.status === undefined ? '' : `status ${fault.status}`, fault.code ?? ''].filter(Boolean);
  return parts.length === 0 ? 'no answer' : parts.join(', ');
}

/**
 * The work was sent, and it is unknown whether it was accepted: the connection was lost, the provider failed with 5xx,
 * or its response could not be understood. Only a repeatable submit may be retried.
 */
export class ProviderUnknown extends Error {
  override readonly name = 'ProviderUnknown';
  readonly status: number | undefined;
  readonly code: string | undefined;

  constructor(fault: ExchangeFault = {}) {
    super(`the outcome at the provider is unknown: ${describe(fault)}`);
    this.status = fault.status;
    this.code = fault.code;
  }
}

/** A poll of a job, or a request to cancel it, got no response. Nothing is known to have changed: try again later. */
export class ProviderUnreachable extends Error {
  override readonly name = 'ProviderUnreachable';
  readonly status: number | undefined;
  readonly code: string | undefined;
  /** How long the provider asked us to back off, if it did; at most 10 min. */
  readonly retryAfterMs: number | undefined;

  constructor(fault: ExchangeFault = {}, options: { retryAfterMs?: number | undefined } = {}) {
    super(`the provider could not be queried: ${describe(fault)}`);
    this.status = fault.status;
    this.code = fault.code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
