/**
 * What every HTTP adapter has in common: find the URL and the credential of a binding, exchange, and classify the
 * response as one of the three kinds of outcome of `provider.ts`. An adapter adds only its provider's paths and
 * vocabulary.
 *
 * Classifying a submit (architecture, "Submitting is split from waiting, and never repeated blindly"):
 * - nothing sent, a 4xx, or 503 without a job: `ProviderRejection`; another 5xx only if its JSON says for certain that
 *   nothing was accepted (`SubmitExchange.isRejection`);
 * - lost after sending, another 5xx, a response that is not JSON: `ProviderUnknown`;
 * - 408 and 409 are unknown too: gateways answer 408 when the work behind them took too long, and an API with
 *   idempotency keys answers 409 while the first request of a key is still in flight.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { FailureReason } from '../domain/failure-reason.ts';
import type { Consumption } from '../domain/provider-usage.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { Logger } from '../telemetry/log.ts';
import type { SecretSource } from '../upstreams/secrets.ts';
import { upstreamName } from '../upstreams/upstream-caps.ts';
import {
  conditionOf,
  credentialConditionOf,
  DEFAULT_RETRY_AFTER_MS,
  isRejection,
  isSuccess,
  reasonOfStatus,
  unsent,
} from './answer-status.ts';
import { createAnswerThreads } from './answer-threads.ts';
import type { AnswerThreads } from './answer-threads.ts';
import type { ReceivedFile } from './file-writer.ts';
import { createHttpExchange, ExchangeLost } from './http-exchange.ts';
import type { ExchangeAnswer, ExchangeRequest } from './http-exchange.ts';
import { ProviderRejection, ProviderUnknown, ProviderUnreachable } from './provider.ts';
import type {
  DownloadCall,
  GenerationRequest,
  ProviderCall,
  Submission,
  SubmitCall,
  UpstreamFile,
} from './provider.ts';
import { discardBody, jsonBody } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { createUpstreamDownload } from './upstream-download.ts';
import { BEARER_ACCESS, CredentialError, hostOf, isTrusted, targetOf } from './upstream-target.ts';
import type { Access, Address, Target } from './upstream-target.ts';
import type { Workbench } from './workbench.ts';

/** The dependencies of an HTTP adapter. */
export interface HttpProviderDeps {
  readonly secrets: SecretSource;
  readonly logger: Logger;
  /** Limit of one exchange in milliseconds; default 60 s, and for a synchronous generation only the call's signal. */
  readonly timeoutMs?: number;
  /** The threads of the process; default: of the adapter. */
  readonly threads?: AnswerThreads;
  /** Set by `admin models try` alone. */
  readonly workbench?: Workbench;
}

/** One submit. */
export interface SubmitExchange {
  /** Default: POST. */
  readonly method?: 'POST' | 'PUT';
  readonly path: Address;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent instead. */
  readonly content?: RequestBody | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set if the response contains the files themselves: a larger limit, and no timeout except the signal's. */
  readonly isSynchronous?: boolean;
  /** Of a response that is a file: `ExchangeRequest.fileHead`. */
  readonly fileHead?: ExchangeRequest['fileHead'];
  /**
   * How the provider's own codes classify a rejection; undefined leaves it to the status. Throws `ProviderFailure` if
   * they show that it was not a rejection.
   */
  readonly rejectionReason?: (
    status: number,
    json: unknown,
  ) => FailureReason | undefined | Promise<FailureReason | undefined>;
  /** How long a rejection asks us to wait, if neither its headers nor a usual field of its body say so. */
  readonly retryAfterMs?: (status: number, json: unknown) => Promise<number | undefined>;
  /** Statuses with which this protocol rejects work, whatever they mean elsewhere. */
  readonly rejectionStatuses?: readonly number[];
  /**
   * Whether a 2xx with this JSON rejects the work all the same, as in APIs with error codes of their own, or a 5xx
   * certainly did not accept it. A 5xx that is not JSON is not asked: a gateway may have answered for the provider.
   */
  readonly isRejection?: (status: number, json: unknown) => Promise<boolean>;
}

/** One submit to a protocol that has jobs. */
export interface JobSubmitExchange extends SubmitExchange {
  /** The job's id in a response, a rejection included: a 503 that names a job has accepted it. */
  readonly jobId: (json: unknown, status: number) => string | undefined | Promise<string | undefined>;
  /** What the response that names the job says about its consumption. Never throws: the job would be lost. */
  readonly consumption?: (status: number, json: unknown, jobId: string) => Promise<Consumption>;
}

/** A poll of a job, or the request to cancel it. */
export interface JobExchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: Address;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; default: nothing. */
  readonly body?: unknown;
  /** Sent instead. */
  readonly content?: RequestBody | undefined;
  /** As of a submit. */
  readonly retryAfterMs?: (status: number, json: unknown) => Promise<number | undefined>;
  /** Set if the response can contain the files themselves: a larger size limit. */
  readonly bringsFiles?: boolean;
  /** Set if the credential is not sent, even where it could be. */
  readonly isAnonymous?: boolean | undefined;
  /** Set if a 2xx is valid whatever its body is: some upstreams answer a cancel request with no body. */
  readonly isBodyOptional?: boolean;
  /** Statuses besides 2xx that are a definite response and not a failure to get one. */
  readonly definiteStatuses: readonly number[];
}

/** The exchanges of one protocol. */
export interface UpstreamCalls {
  /**
   * @returns the JSON of a 2xx.
   * @throws {ProviderRejection} nothing was accepted.
   * @throws {ProviderUnknown} something was sent; if the signal ended the wait, its reason is thrown instead.
   */
  submit(request: GenerationRequest, call: ProviderCall, submit: SubmitExchange): Promise<unknown>;
  /**
   * The same, if success is a job.
   *
   * @throws {ProviderUnknown} also with `NO_JOB_ID`: it was accepted, and cannot be polled.
   */
  submitJob(request: GenerationRequest, call: ProviderCall, submit: JobSubmitExchange): Promise<Submission>;
  /** The same, if success is the file itself, which is written into the call's scratch directory. */
  submitForFile(
    request: GenerationRequest,
    call: Pick<SubmitCall, 'signal' | 'scratch' | 'onFileBytes'>,
    submit: SubmitExchange,
  ): Promise<ReceivedFile>;
  /**
   * @returns a 2xx with JSON, or one of the definite statuses.
   * @throws {ProviderUnreachable} anything else; if the signal ended the wait, its reason is thrown instead.
   */
  query(request: GenerationRequest, call: ProviderCall, query: JobExchange): Promise<ExchangeAnswer>;
  /** `Provider.download`, the same for every HTTP adapter. */
  readonly download: (request: GenerationRequest, url: string, call: DownloadCall) => Promise<UpstreamFile>;
}

/** The default time limit of a call: 60 s. An API that only accepts jobs or reports on them responds well within it. */
const DEFAULT_TIMEOUT_MS = 60_000;
/**
 * The maximum size of a response with files: 64 MB hold ten 4K images in base64. No other response needs more than 1
 * MB.
 */
const MAX_FILES_BYTES = 64 * 1024 * 1024;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Creates the exchanges of one protocol, with connections of their own. */
export function createUpstreamCalls(
  protocol: string,
  deps: HttpProviderDeps,
  access: Access = BEARER_ACCESS,
): UpstreamCalls {
  const exchange = deps.workbench?.calls ?? createHttpExchange(deps.threads ?? createAnswerThreads());
  const fetchFile = createUpstreamDownload();
  const timeoutMs = deps.timeoutMs ?? DEFAULT_TIMEOUT_MS;

  /** Logs what the operator needs: names and codes, never a body. */
  const note = (
    level: 'warn' | 'error',
    request: Pick<GenerationRequest, 'taskId' | 'upstream'>,
    fields: Readonly<Record<string, string | number | undefined>>,
    message: string,
  ): void => {
    deps.logger[level](
      {
        taskId: request.taskId,
        protocol,
        upstream: upstreamName(request.upstream),
        host: hostOf(request.upstream),
        model: request.upstream.model,
        ...fields,
      },
      message,
    );
  };

  /** Whether the upstream may have rejected a token that expired or was revoked early, and the next call has another. */
  const renew = ({ upstream }: GenerationRequest): boolean => {
    const secret = upstream.secret === undefined ? undefined : deps.secrets.get(upstream.secret);
    return secret !== undefined && access.renew?.(secret, upstream) === true;
  };

  /** @throws {CredentialError} after the operator's log has the reason. */
  const findTarget = async (
    request: Pick<GenerationRequest, 'taskId' | 'upstream'>,
    address: Address,
    method: string,
    content: RequestBody | undefined,
    signal: AbortSignal,
  ): Promise<Target> => {
    const body = Buffer.isBuffer(content?.body) ? content.body : undefined;
    try {
      return await targetOf(request.upstream, address, { method, body, signal }, deps.secrets, access);
    } catch (error) {
      if (error instanceof CredentialError) {
        const level = error.isPermanent ? 'error' : 'warn';
        note(level, request, { credentialName: request.upstream.secret }, error.message);
      }
      throw error;
    }
  };

  const rejection = async (
    request: GenerationRequest,
    answer: ExchangeAnswer,
    submit: SubmitExchange,
  ): Promise<ProviderRejection> => {
    const { status, bodyFault: code, found } = answer;
    if (status === 401 && renew(request)) return new ProviderRejection('provider_unavailable', { retryAfterMs: 0 });
    const reason = (await submit.rejectionReason?.(status, answer.json)) ?? reasonOfStatus(status);
    const isOperators = reason === 'model_unavailable';
    note(
      isOperators ? 'error' : 'warn',
      request,
      { status, reason, code, ...found, credentialName: request.upstream.secret },
      isOperators
        ? 'upstream rejects our requests: check its base URL, model name, credential and balance'
        : 'upstream rejected the work',
    );
    if (isOperators) return new ProviderRejection(reason, { condition: credentialConditionOf(status) });
    if (reason !== 'provider_unavailable') return new ProviderRejection(reason);
    const retryAfterMs = answer.retryAfterMs ?? (await submit.retryAfterMs?.(status, answer.json));
    return new ProviderRejection(reason, {
      retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
      condition: isSuccess(status) ? 'busy' : conditionOf({ status, retryAfterMs }),
    });
  };

  /** @returns a success whose body is of the expected kind. */
  const send = async (
    request: GenerationRequest,
    call: ProviderCall,
    submit: SubmitExchange & Partial<JobSubmitExchange>,
    { fileTo, onFileBytes }: Pick<ExchangeRequest, 'fileTo' | 'onFileBytes'> = {},
  ): Promise<ExchangeAnswer> => {
    const { method = 'POST' } = submit;
    const content = submit.content ?? jsonBody(submit.body);
    const target = await findTarget(request, submit.path, method, content, call.signal).catch((error: unknown) => {
      discardBody(content);
      throw error instanceof CredentialError ? notAuthorized(error) : error;
    });
    let answer: ExchangeAnswer;
    try {
      answer = await exchange({
        url: target.url,
        upstream: upstreamName(request.upstream),
        method,
        headers: { ...target.headers, ...submit.headers },
        content,
        fileTo,
        fileHead: submit.fileHead,
        onFileBytes,
        signal: call.signal,
        timeoutMs: submit.isSynchronous === true ? deps.timeoutMs : timeoutMs,
        maxBytes: submit.isSynchronous === true ? MAX_FILES_BYTES : MAX_ANSWER_BYTES,
        onFreshConnection: true,
      });
    } catch (error) {
      if (!(error instanceof ExchangeLost)) throw error;
      const { wasSent, code } = error;
      if (!wasSent) {
        if (code === 'UND_ERR_INVALID_ARG') {
          note(
            'error',
            request,
            { code },
            'the model file makes no request that can be sent: check its path and headers',
          );
        } else if (code !== 'ABORTED') note('warn', request, { code }, 'the upstream could not be reached');
        throw unsent(code);
      }
      call.signal.throwIfAborted();
      note('warn', request, { code }, 'the upstream did not answer');
      throw new ProviderUnknown({ code });
    }
    const { status, json, bodyFault, found } = answer;
    if (isSuccess(status) && (fileTo === undefined ? json : answer.file) !== undefined) {
      if ((await submit.isRejection?.(status, json)) === true) throw await rejection(request, answer, submit);
      return answer;
    }
    const isRejected =
      isRejection(status) ||
      submit.rejectionStatuses?.includes(status) === true ||
      (status >= 500 && json !== undefined && (await submit.isRejection?.(status, json)) === true);
    if (isRejected && (await submit.jobId?.(json, status)) === undefined)
      throw await rejection(request, answer, submit);
    if (bodyFault === 'ABORTED') call.signal.throwIfAborted();
    note('warn', request, { status, code: bodyFault, ...found }, 'the upstream gave no clear answer');
    throw new ProviderUnknown({ status, code: bodyFault });
  };

  return {
    submit: async (request, call, submit) => (await send(request, call, submit)).json,

    async submitJob(request, call, submit) {
      const { status, json } = await send(request, call, submit);
      const jobId = await submit.jobId(json, status);
      if (jobId === undefined) throw new ProviderUnknown({ code: 'NO_JOB_ID' });
      return { kind: 'job', jobId, ...(await submit.consumption?.(status, json, jobId)) };
    },

    async submitForFile(request, call, submit) {
      const path = join(call.scratch, `response-${randomUUID()}`);
      const { file } = await send(request, call, submit, { fileTo: path, onFileBytes: call.onFileBytes });
      return file ?? { path, byteLength: 0 };
    },

    async query(request, call, query) {
      const content = query.content ?? (query.body === undefined ? undefined : jsonBody(query.body));
      const caller = query.isAnonymous === true ? withoutSecret(request) : request;
      const target = await findTarget(caller, query.path, query.method, content, call.signal).catch(
        (error: unknown) => {
          discardBody(content);
          throw error instanceof CredentialError ? new ProviderUnreachable({ code: 'NOT_AUTHORIZED' }) : error;
        },
      );
      let answer: ExchangeAnswer;
      try {
        answer = await exchange({
          url: target.url,
          upstream: upstreamName(request.upstream),
          method: query.method,
          headers: { ...target.headers, ...query.headers },
          content,
          signal: call.signal,
          timeoutMs,
          maxBytes: query.bringsFiles === true ? MAX_FILES_BYTES : MAX_ANSWER_BYTES,
          onFreshConnection: false,
        });
      } catch (error) {
        if (!(error instanceof ExchangeLost)) throw error;
        call.signal.throwIfAborted();
        throw new ProviderUnreachable({ code: error.code });
      }
      const { status, json, bodyFault, found } = answer;
      const isRead = json !== undefined || query.isBodyOptional === true;
      if ((isSuccess(status) && isRead) || query.definiteStatuses.includes(status)) return answer;
      if (bodyFault === 'ABORTED') call.signal.throwIfAborted();
      // A host that was sent no credential says nothing about it.
      const { isAuthorized } = target;
      if (isAuthorized && status === 401 && renew(request)) {
        throw new ProviderUnreachable({ status, code: 'TOKEN_EXPIRED' });
      }
      if (isAuthorized && (status === 401 || status === 403)) {
        note('error', request, { status, credentialName: request.upstream.secret }, 'upstream rejected our credential');
      } else if (status < 400) {
        note('warn', request, { status, code: bodyFault, ...found }, 'the upstream gave no clear answer');
      }
      const retryAfterMs = answer.retryAfterMs ?? (await query.retryAfterMs?.(status, json));
      throw new ProviderUnreachable({ status, code: bodyFault }, { retryAfterMs });
    },

    async download(request, url, call) {
      const address = new URL(url);
      if (!isTrusted(address, request.upstream, access)) return { from: 'elsewhere', url };
      const target = await findTarget(request, address, 'GET', undefined, call.signal).catch((error: unknown) => {
        throw error instanceof CredentialError
          ? new EgressError('unreachable', 'the credential of the upstream cannot be used')
          : error;
      });
      return fetchFile(target.url, target.headers, call);
    },
  };
}

/**
 * The bound of an answer that says that a job is still running, also where the answer about a finished one brings its
 * files: each poll may bring another.
 *
 * @throws {ProviderUnreachable} it is larger.
 */
export function assertRunningAnswerFits({ status, byteLength, retryAfterMs }: ExchangeAnswer): void {
  if (byteLength > MAX_ANSWER_BYTES)
    throw new ProviderUnreachable({ status, code: 'BODY_TOO_LARGE' }, { retryAfterMs });
}

/** The same request to an upstream that has no credential. */
function withoutSecret({ taskId, upstream }: GenerationRequest): Pick<GenerationRequest, 'taskId' | 'upstream'> {
  const { secret: _, ...open } = upstream;
  return { taskId, upstream: open };
}

/** Nothing was sent. A token that could not be obtained for the moment is worth another attempt, or another upstream. */
function notAuthorized({ isPermanent }: CredentialError): ProviderRejection {
  return isPermanent
    ? new ProviderRejection('model_unavailable', { condition: 'unauthorized' })
    : new ProviderRejection('provider_unavailable', { retryAfterMs: DEFAULT_RETRY_AFTER_MS, condition: 'down' });
}
