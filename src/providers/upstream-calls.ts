/**
 * What every HTTP adapter does alike: find the address and the credential of a binding, exchange, and sort what came
 * back into the three kinds of outcome of `provider.ts`. An adapter adds only its provider's paths and words.
 *
 * Sorting a submit (architecture, "Submitting is split from waiting, and never repeated blindly"):
 * - nothing sent, a 4xx, or 503 without a job: `ProviderRefusal`;
 * - lost after sending, another 5xx, an answer that is no JSON: `ProviderUnknown`;
 * - 408 and 409 are unknown too: gateways answer 408 when the work behind them took too long, and an API with
 *   idempotency keys answers 409 while the first request of a key is still in flight.
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import type { Logger } from '../telemetry/log.ts';
import type { SecretSource } from '../upstreams/secrets.ts';
import { createHttpExchange, ExchangeLost } from './http-exchange.ts';
import type { ExchangeAnswer } from './http-exchange.ts';
import { ProviderUnknown, ProviderUnreachable } from './provider-unknown.ts';
import { ProviderRefusal } from './provider.ts';
import type { GenerationRequest, ProviderCall, UpstreamBinding } from './provider.ts';

/** What an HTTP adapter is made from. */
export interface HttpProviderDeps {
  readonly secrets: SecretSource;
  readonly logger: Logger;
  /** Bound of one exchange in milliseconds; default 60 s, and for a synchronous generation the call's signal alone. */
  readonly timeoutMs?: number;
}

/** One submit. */
export interface SubmitExchange {
  /** Below the binding's base address, with a leading `/`. */
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set where the answer brings the files themselves: a longer bound, and no time-out but the signal's. */
  readonly isSynchronous?: boolean;
  /**
   * What the provider's own codes say of a refusal; undefined leaves it to the status. Throws `ProviderFailure` where
   * they say that it was no refusal.
   */
  readonly refusalReason?: (status: number, json: unknown) => FailureReason | undefined;
  /** The job's id in an answer, where the protocol has jobs: a 503 that names a job has accepted it. */
  readonly jobId?: (json: unknown) => string | undefined;
}

/** A question about a job, or the request to stop it. */
export interface JobExchange {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Statuses beside 2xx that are an answer and not an obstacle. */
  readonly definiteStatuses: readonly number[];
}

/** The exchanges of one protocol. */
export interface UpstreamCalls {
  /**
   * @returns the JSON of a 2xx.
   * @throws {ProviderRefusal} nothing was accepted.
   * @throws {ProviderUnknown} something was sent; where the signal ended the wait, its reason is thrown instead.
   */
  submit(request: GenerationRequest, call: ProviderCall, submit: SubmitExchange): Promise<unknown>;
  /**
   * @returns a 2xx with JSON, or one of the definite statuses.
   * @throws {ProviderUnreachable} anything else; where the signal ended the wait, its reason is thrown instead.
   */
  ask(request: GenerationRequest, call: ProviderCall, question: JobExchange): Promise<ExchangeAnswer>;
}

/** 60 s: any API that only takes orders or reports on them answers well within it. */
const DEFAULT_TIMEOUT_MS = 60_000;
/** 5 s: how long to stay away from a provider that did not say how long. */
const DEFAULT_RETRY_AFTER_MS = 5_000;
/** 64 MB holds ten base64 images of 4K; nothing else that a provider says needs more than 1 MB. */
const MAX_SYNCHRONOUS_BYTES = 64 * 1024 * 1024;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Statuses of a submit that say nothing of whether the work was accepted. */
const UNKNOWN_STATUSES: readonly number[] = [408, 409, 499];
/** "Go elsewhere", with the method kept or for good: the base address is wrong, and nothing was done. */
const MOVED_STATUSES: readonly number[] = [301, 307, 308];
const INPUT_STATUSES: readonly number[] = [400, 413, 415, 422];

/** Makes the exchanges of one protocol, with connections of their own. */
export function createUpstreamCalls(protocol: string, deps: HttpProviderDeps): UpstreamCalls {
  const exchange = createHttpExchange();
  const timeoutMs = deps.timeoutMs ?? DEFAULT_TIMEOUT_MS;

  /** Says what the operator needs: names and codes, never a body. */
  const note = (
    level: 'warn' | 'error',
    request: GenerationRequest,
    fields: Readonly<Record<string, string | number | undefined>>,
    message: string,
  ): void => {
    deps.logger[level](
      {
        taskId: request.taskId,
        protocol,
        upstream: hostOf(request.upstream),
        model: request.upstream.model,
        ...fields,
      },
      message,
    );
  };

  const refusal = (request: GenerationRequest, answer: ExchangeAnswer, submit: SubmitExchange): ProviderRefusal => {
    const { status } = answer;
    const reason = submit.refusalReason?.(status, answer.json) ?? reasonOfStatus(status);
    const isOperators = reason === 'model_unavailable';
    note(
      isOperators ? 'error' : 'warn',
      request,
      { status, reason, credentialName: request.upstream.secret },
      isOperators
        ? 'the upstream refuses us: check its base address, its model name, its credential and its balance'
        : 'the upstream refused the work',
    );
    if (reason !== 'provider_unavailable') return new ProviderRefusal(reason);
    return new ProviderRefusal(reason, { retryAfterMs: answer.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS });
  };

  return {
    async submit(request, call, submit) {
      const target = targetOf(request.upstream, submit.path, deps.secrets);
      if (typeof target === 'string') {
        note('error', request, { credentialName: request.upstream.secret }, target);
        throw new ProviderRefusal('model_unavailable');
      }
      let answer: ExchangeAnswer;
      try {
        answer = await exchange({
          ...target,
          method: 'POST',
          headers: { ...target.headers, ...submit.headers, 'content-type': 'application/json' },
          body: submit.body,
          signal: call.signal,
          timeoutMs: submit.isSynchronous === true ? deps.timeoutMs : timeoutMs,
          maxBytes: submit.isSynchronous === true ? MAX_SYNCHRONOUS_BYTES : MAX_ANSWER_BYTES,
          onFreshConnection: true,
        });
      } catch (error) {
        if (!(error instanceof ExchangeLost)) throw error;
        const { wasSent, code } = error;
        if (!wasSent) {
          if (code !== 'ABORTED') note('warn', request, { code }, 'the upstream could not be reached');
          throw unsent(code);
        }
        call.signal.throwIfAborted();
        note('warn', request, { code }, 'the upstream did not answer');
        throw new ProviderUnknown({ code });
      }
      const { status, json, bodyFault } = answer;
      if (isSuccess(status) && json !== undefined) return json;
      if (isRefusal(status) && submit.jobId?.(json) === undefined) throw refusal(request, answer, submit);
      if (bodyFault === 'ABORTED') call.signal.throwIfAborted();
      note('warn', request, { status, code: bodyFault }, 'the upstream gave no clear answer');
      throw new ProviderUnknown({ status, code: bodyFault });
    },

    async ask(request, call, question) {
      const target = targetOf(request.upstream, question.path, deps.secrets);
      if (typeof target === 'string') {
        note('error', request, { credentialName: request.upstream.secret }, target);
        throw new ProviderUnreachable({ code: 'NOT_CONFIGURED' });
      }
      let answer: ExchangeAnswer;
      try {
        answer = await exchange({
          ...target,
          method: question.method,
          signal: call.signal,
          timeoutMs,
          maxBytes: MAX_ANSWER_BYTES,
          onFreshConnection: false,
        });
      } catch (error) {
        if (!(error instanceof ExchangeLost)) throw error;
        call.signal.throwIfAborted();
        throw new ProviderUnreachable({ code: error.code });
      }
      const { status, json, bodyFault, retryAfterMs } = answer;
      if ((isSuccess(status) && json !== undefined) || question.definiteStatuses.includes(status)) return answer;
      if (bodyFault === 'ABORTED') call.signal.throwIfAborted();
      if (status === 401 || status === 403) {
        note(
          'error',
          request,
          { status, credentialName: request.upstream.secret },
          'the upstream refuses our credential',
        );
      }
      throw new ProviderUnreachable({ status, code: bodyFault }, { retryAfterMs });
    },
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isRefusal(status: number): boolean {
  if (UNKNOWN_STATUSES.includes(status)) return false;
  return (status >= 400 && status < 500) || status === 503 || MOVED_STATUSES.includes(status);
}

function reasonOfStatus(status: number): FailureReason {
  if (status === 429 || status === 503 || status === 425) return 'provider_unavailable';
  return INPUT_STATUSES.includes(status) ? 'input_invalid' : 'model_unavailable';
}

/** The refusal of work that never left: to be tried again, at once where it was we who gave up. */
function unsent(code: string): ProviderRefusal {
  if (code === 'UND_ERR_INVALID_ARG') return new ProviderRefusal('model_unavailable');
  return new ProviderRefusal('provider_unavailable', { retryAfterMs: code === 'ABORTED' ? 0 : DEFAULT_RETRY_AFTER_MS });
}

/** Where a call goes and with which credential, or the sentence that tells the operator what is missing. */
function targetOf(
  upstream: UpstreamBinding,
  path: string,
  secrets: SecretSource,
): { readonly url: URL; readonly headers: Readonly<Record<string, string>> } | string {
  const address = `${(upstream.baseUrl ?? '').replace(/\/+$/, '')}${path}`;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    return 'the model names no usable base address for its upstream';
  }
  const headers = { 'user-agent': 'darkroom' };
  if (upstream.secret === undefined) return { url: new URL(address), headers };
  const secret = secrets.get(upstream.secret);
  if (secret === undefined) return 'no credential is configured for this upstream: set UPSTREAM_<NAME>_KEY';
  return { url: new URL(address), headers: { ...headers, authorization: `Bearer ${secret}` } };
}

/** The host, for the log: enough to know which upstream it is, without path or user info. */
function hostOf(upstream: UpstreamBinding): string | undefined {
  const { baseUrl } = upstream;
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}
