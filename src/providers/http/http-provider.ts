/**
 * Any job API, as a model file describes it (binding.ts): the requests and the meaning of the
 * responses are expressions of that file. This adapter supplies everything that makes a provider safe: the
 * classification of responses, the limits, the credential that goes only to the configured origin, and the closed
 * lists of states and reasons.
 */
import { findBinding, submitReads } from './binding.ts';
import type { HttpBinding } from './binding.ts';
import { jobIdAt } from '../json-answer.ts';
import { ProviderUnreachable } from '../provider-unknown.ts';
import { ProviderFailure, ProviderRejection } from '../provider.ts';
import type { CancelAnswer, GenerationRequest, JobState, Provider, ProviderCall } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps, JobExchange, SubmitExchange } from '../upstream-calls.ts';
import { credentialHeaders, withCredential } from './credential.ts';
import { createModelFile } from './model-file.ts';
import type { Sight } from './model-file.ts';
import { filesOf, headerOf, microUsdOf, outcomeOf, pathOf, progressOf, reasonOf, stateOf } from './values.ts';

/** A job that the upstream no longer knows. */
const GONE: readonly number[] = [404, 410];
/** Statuses of a result request that concern the job, and not us, the timing or the server. */
const FAILED_RESULTS: readonly number[] = [400, 402, 404, 406, 410, 413, 415, 422, 451];
const NOT_CANCELLED: readonly number[] = [400, 404, 405, 409, 410, 422, 501];

/** The adapter of protocol `http`; it is used bound to a binding, which determines what it declares. */
export function createHttpProvider(deps: HttpProviderDeps): Provider {
  const { secrets } = deps;
  const calls = createUpstreamCalls('http', deps, credentialHeaders);
  const file = createModelFile(deps.logger);

  const ask = async (
    request: GenerationRequest,
    call: ProviderCall,
    path: unknown,
    question: Omit<JobExchange, 'path' | 'headers'>,
  ) => {
    const known = pathOf(path);
    if (known === undefined) throw new ProviderUnreachable({ code: 'NO_PATH' });
    const { headers = {} } = bindingOf(request);
    return calls.ask(request, call, {
      ...question,
      path: withCredential(known, request.upstream, secrets),
      headers,
    });
  };

  const askState = async (request: GenerationRequest, jobId: string, call: ProviderCall, http: Polled) => {
    const { poll } = http;
    const order = await file.read(request, { path: poll.path, body: poll.body }, { jobId });
    const answer = await ask(request, call, order.path, {
      method: poll.method ?? 'GET',
      body: order.body,
      bringsFiles: http.result === undefined,
      definiteStatuses: poll.failedStatuses ?? GONE,
    });
    const { status, json } = answer;
    const sight = { jobId, httpStatus: status, document: json };
    if (status >= 400) return { ...answer, sight, state: 'failed' as const, progress: undefined };
    const said = await file.read(request, { state: poll.state, progress: poll.progress }, sight);
    return { ...answer, sight, state: stateOf(said.state), progress: progressOf(said.progress) };
  };

  /**
   * The response that contains the outputs of a finished job: that of a separate request, or the one that reported the
   * end.
   */
  const fetchResult = async (
    request: GenerationRequest,
    jobId: string,
    call: ProviderCall,
    { result, reason }: HttpBinding & { readonly result: NonNullable<HttpBinding['result']> },
  ): Promise<Sight> => {
    const { path } = await file.read(request, { path: result.path }, { jobId });
    const { status, json } = await ask(request, call, path, {
      method: 'GET',
      bringsFiles: true,
      definiteStatuses: result.failedStatuses ?? FAILED_RESULTS,
    });
    const sight = { jobId, httpStatus: status, document: json };
    if (status < 400) return sight;
    throw await failureOf(request, reason, sight);
  };

  const failureOf = async (request: GenerationRequest, reason: string | undefined, sight: Sight) => {
    const said = await file.read(request, { reason }, sight);
    return new ProviderFailure(reasonOf(said.reason) ?? 'provider_error');
  };

  const outputsOf = async (request: GenerationRequest, { outputs }: HttpBinding, sight: Sight) => {
    const files = filesOf((await file.read(request, { outputs }, sight)).outputs);
    if (files.length === 0) throw new ProviderFailure('no_output');
    return files;
  };

  const poll = async (request: GenerationRequest, jobId: string, call: ProviderCall): Promise<JobState> => {
    const http = polledBindingOf(request);
    const { status, retryAfterMs, sight, state, progress } = await askState(request, jobId, call, http);
    switch (state) {
      case undefined:
        throw new ProviderUnreachable({ status, code: 'NO_STATE' }, { retryAfterMs });
      case 'failed':
        throw await failureOf(request, http.reason, sight);
      case 'running':
        return running(progress, Math.max(retryAfterMs ?? 0, (http.poll.everySeconds ?? 0) * 1_000));
      case 'done': {
        const { result } = http;
        const last = result === undefined ? sight : await fetchResult(request, jobId, call, { ...http, result });
        return { kind: 'done', files: await outputsOf(request, http, last) };
      }
    }
  };

  const cancel = async (request: GenerationRequest, jobId: string, call: ProviderCall): Promise<CancelAnswer> => {
    const http = polledBindingOf(request);
    if (http.cancel === undefined) return { outcome: 'unsupported' };
    if (http.cancel.asksFirst === true) {
      const { state } = await askState(request, jobId, call, http);
      if (state === 'done' || state === 'failed') return { outcome: 'too_late' };
    }
    const order = await file.read(request, { path: http.cancel.path, body: http.cancel.body }, { jobId });
    const { status, json } = await ask(request, call, order.path, {
      method: http.cancel.method ?? 'POST',
      body: order.body,
      isBodyOptional: true,
      definiteStatuses: NOT_CANCELLED,
    });
    const said = await file.read(
      request,
      { outcome: http.cancel.outcome, cost: http.cancel.cost },
      { jobId, httpStatus: status, document: json },
    );
    const outcome = outcomeOf(said.outcome) ?? outcomeOfStatus(status);
    if (http.cancel.cost === undefined) return { outcome };
    const billedMicroUsd = microUsdOf(said.cost) ?? (await askCost(request, jobId, call, http));
    return { outcome, ...(billedMicroUsd === undefined ? {} : { billedMicroUsd }) };
  };

  /** The cost reported by a last poll of the job; undefined if the job can no longer be polled. */
  const askCost = async (request: GenerationRequest, jobId: string, call: ProviderCall, http: Polled) => {
    try {
      const { sight } = await askState(request, jobId, call, http);
      return microUsdOf((await file.read(request, { cost: http.cancel?.cost }, sight)).cost);
    } catch (error) {
      if (error instanceof ProviderUnreachable) return undefined;
      throw error;
    }
  };

  const submit: Provider['submit'] = async (request, call) => {
    const http = bindingOf(request);
    const { hookUrl } = call;
    const order = await file.readOrder(request, http, { hookUrl });
    const path = pathOf(order.path);
    // Nothing was sent: the model file produces no request for this input, and a retry would not change that.
    if (path === undefined || order.body === undefined) {
      const what = path === undefined ? 'submit.path' : 'submit.body';
      throw new ProviderRejection('model_unavailable', {
        note: `http.${what} of the model file makes nothing of this input`,
      });
    }
    const headers = Object.entries(order.headers).flatMap(([name, value]) => {
      const text = headerOf(value);
      return text === undefined ? [] : [[name, text] as const];
    });
    const exchange: SubmitExchange = {
      method: http.submit.method ?? 'POST',
      path: withCredential(path, request.upstream, secrets),
      headers: { ...http.headers, ...Object.fromEntries(headers) },
      body: order.body,
      async rejectionReason(httpStatus, document) {
        const said = await file.read(request, { refusal: http.submit.refusal }, { httpStatus, document });
        return reasonOf(said.refusal);
      },
    };
    if (http.jobId !== undefined) {
      return calls.submitJob(request, call, {
        ...exchange,
        async jobId(document) {
          const { jobId } = await file.read(request, { jobId: http.jobId }, { document, hookUrl });
          return jobIdAt(typeof jobId === 'number' ? String(jobId) : jobId);
        },
      });
    }
    const sight = { document: await calls.submit(request, call, { ...exchange, isSynchronous: true }) };
    // Such a response has no state: the same expression states why there are no outputs.
    const { reason } = await file.read(request, { reason: http.reason }, sight);
    const known = reasonOf(reason);
    if (known !== undefined) throw new ProviderFailure(known);
    return { kind: 'done', files: await outputsOf(request, http, sight) };
  };

  const provider: Provider = {
    protocol: 'http',
    isSubmitRepeatable: false,
    worksWhileSubmitting: false,
    submit,
    poll,
    cancel,
    download: (request, url, call) => calls.download(request, withOwnCredential(request, url), call),
    boundTo(upstream) {
      const binding = findBinding(upstream);
      return {
        ...provider,
        isSubmitRepeatable: binding?.isSubmitRepeatable === true,
        worksWhileSubmitting: binding?.jobId === undefined,
        callsBack: binding !== undefined && submitReads(binding, 'hookUrl'),
      };
    },
  };

  /** A credential that goes into the query is sent only to the configured origin. */
  function withOwnCredential({ upstream }: GenerationRequest, url: string): string {
    const isOwn = upstream.baseUrl !== undefined && new URL(url).origin === new URL(upstream.baseUrl).origin;
    return isOwn ? withCredential(url, upstream, secrets) : url;
  }

  return provider;
}

/** A binding with jobs, which can be polled. */
type Polled = HttpBinding & { readonly poll: NonNullable<HttpBinding['poll']> };

/** @throws {ProviderRejection} the definition has none: it was written for another protocol. */
function bindingOf({ upstream }: GenerationRequest): HttpBinding {
  const binding = findBinding(upstream);
  if (binding === undefined) {
    throw new ProviderRejection('model_unavailable', { note: 'the model file has no http for protocol http' });
  }
  return binding;
}

/** @throws {ProviderFailure} there are no jobs: an id can only come from a definition that was changed. */
function polledBindingOf({ upstream }: GenerationRequest): Polled {
  const http = findBinding(upstream);
  if (http?.poll === undefined) throw new ProviderFailure('outcome_unknown');
  return { ...http, poll: http.poll };
}

function outcomeOfStatus(status: number): CancelAnswer['outcome'] {
  if (status < 400) return 'cancelled';
  return status === 405 || status === 501 ? 'unsupported' : 'too_late';
}

function running(progress: number | undefined, pollAfterMs: number): JobState {
  return {
    kind: 'running',
    ...(progress === undefined ? {} : { progress }),
    ...(pollAfterMs === 0 ? {} : { pollAfterMs }),
  };
}
