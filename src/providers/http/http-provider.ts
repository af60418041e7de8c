/**
 * Any job API, as a model file describes it (binding.ts): the requests and the meaning of the
 * responses are expressions of that file. This adapter supplies everything that makes a provider safe: the
 * classification of responses, the limits, the credential that goes only to the configured origin, and the closed
 * lists of states and reasons.
 */
import { isSuccess, retryAfterMsOf } from '../answer-status.ts';
import { createAnswerThreads } from '../answer-threads.ts';
import { consumptionOf, microUsdOf } from '../consumption.ts';
import type { UpstreamProtocol } from '../protocols.ts';
import { ProviderFailure, ProviderRejection, ProviderUnreachable } from '../provider.ts';
import type { CancelAnswer, GenerationRequest, JobState, Provider, ProviderCall } from '../provider.ts';
import { assertRunningAnswerFits, createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps, JobExchange, SubmitExchange } from '../upstream-calls.ts';
import { urlOf } from '../upstream-target.ts';
import { passPreflight, scopeOf } from './ahead-of-submit.ts';
import { createAccess } from './auth/access.ts';
import { BODY_OUTPUT, HttpBindingSchema, findBinding } from './binding.ts';
import type { HttpBinding } from './binding.ts';
import { createModelFile } from './model-file.ts';
import type { ExpressionContext } from './model-file.ts';
import { bindSubmit, fieldsWithFiles, uploadFiles } from './submit-request.ts';
import { findBindingGaps, findMemberProblems, mediaFieldsOf, submitReads } from './validate-binding.ts';
import { addressOf, filesOf, jobIdOf, outcomeOf, progressOf, reasonOf, stateOf } from './values.ts';

/** A job that the upstream no longer knows. */
const GONE: readonly number[] = [404, 410];
/** Statuses of a result request that concern the job, and not us, the timing or the server. */
const FAILED_RESULTS: readonly number[] = [400, 402, 404, 406, 410, 413, 415, 422, 451];
const NOT_CANCELLED: readonly number[] = [400, 404, 405, 409, 410, 422, 501];

/** The adapter of protocol `http`; it is used bound to a binding, which determines what it declares. */
export function createHttpProvider(deps: HttpProviderDeps): Provider {
  const { threads = createAnswerThreads() } = deps;
  const calls = createUpstreamCalls('http', { ...deps, threads }, createAccess(deps.workbench?.tokens));
  const file = createModelFile(deps.logger, threads, deps.workbench);

  const query = async (
    request: GenerationRequest,
    call: ProviderCall,
    path: unknown,
    options: Omit<JobExchange, 'path' | 'headers'>,
  ) => {
    const http = bindingOf(request);
    const address = addressOf(path, scopeOf(request, http));
    if (address === undefined) throw new ProviderUnreachable({ code: 'NO_PATH' });
    return calls.query(request, call, { ...options, path: address, headers: http.headers ?? {} });
  };

  const pollState = async (request: GenerationRequest, jobId: string, call: ProviderCall, http: Polled) => {
    const { poll } = http;
    const { signal } = call;
    const parts = await file.read(request, { path: poll.path, body: poll.body }, { jobId, signal }, 'poll');
    const answer = await query(request, call, parts.path, {
      method: poll.method ?? 'GET',
      body: parts.body,
      bringsFiles: http.result === undefined,
      definiteStatuses: poll.failedStatuses ?? GONE,
      retryAfterMs: retryAfterOf(request, poll.retryAfter, 'poll'),
    });
    const { status, json } = answer;
    const context = { jobId, httpStatus: status, document: json, signal };
    if (status >= 400) return { ...answer, context, state: 'failed' as const, progress: undefined };
    const values = await file.read(request, { state: poll.state, progress: poll.progress }, context, 'poll');
    return { ...answer, context, state: stateOf(values.state), progress: progressOf(values.progress) };
  };

  /**
   * The response of a separate request that contains the outputs of a finished job.
   *
   * @param polled the response that reported the end.
   */
  const fetchResult = async (
    request: GenerationRequest,
    jobId: string,
    call: ProviderCall,
    http: WithResult,
    polled: unknown,
  ): Promise<ExpressionContext> => {
    const { result } = http;
    const { path } = await file.read(
      request,
      { path: result.path },
      { jobId, document: polled, signal: call.signal },
      'result',
    );
    const { status, json } = await query(request, call, path, {
      method: 'GET',
      bringsFiles: true,
      definiteStatuses: result.failedStatuses ?? FAILED_RESULTS,
    });
    const context = { jobId, httpStatus: status, document: json, signal: call.signal };
    if (status < 400) return context;
    throw await failureOf(request, http, context);
  };

  const failureOf = async (request: GenerationRequest, http: Failing, context: ExpressionContext) => {
    const values = await file.read(request, { reason: http.reason, unbilled: http.unbilled }, context);
    const consumption = await consumed(request, http, context);
    const isUnbilled = values.unbilled === true;
    return new ProviderFailure(reasonOf(values.reason) ?? 'provider_error', { isUnbilled, consumption });
  };

  /**
   * Read apart from the outputs and the job's id: an expression that does not end would end theirs too.
   *
   * @param within the member of the binding that has the expressions; default: the binding itself.
   */
  const consumed = async (
    request: GenerationRequest,
    { usage, cost }: Pick<HttpBinding, 'usage' | 'cost'>,
    context: ExpressionContext,
    within?: 'submit',
  ) => consumptionOf(await file.read(request, { usage, cost }, context, within));

  const doneWith = async (request: GenerationRequest, http: HttpBinding, context: ExpressionContext) => {
    const { outputs } = await file.read(request, { outputs: http.outputs }, context);
    const files = filesOf(outputs, request.upstream, request.input);
    const consumption = await consumed(request, http, context);
    if (files.length === 0) throw new ProviderFailure(await emptyReasonOf(request, http, context), { consumption });
    return { kind: 'done' as const, files, ...consumption };
  };

  /**
   * Why finished work has no outputs: the provider may have withheld them. It did not fail, so that `provider_error`,
   * with which many expressions end, states nothing.
   */
  const emptyReasonOf = async (request: GenerationRequest, { reason }: HttpBinding, context: ExpressionContext) => {
    const known = reasonOf((await file.read(request, { reason }, context)).reason);
    return known === undefined || known === 'provider_error' ? 'no_output' : known;
  };

  const poll = async (request: GenerationRequest, jobId: string, call: ProviderCall): Promise<JobState> => {
    const http = polledBindingOf(request);
    const polled = await pollState(request, jobId, call, http);
    const { status, retryAfterMs, context, state, progress } = polled;
    switch (state) {
      case undefined:
        throw new ProviderUnreachable({ status, code: 'NO_STATE' }, { retryAfterMs });
      case 'failed':
        throw await failureOf(request, http, context);
      case 'running':
        assertRunningAnswerFits(polled);
        return running(progress, Math.max(retryAfterMs ?? 0, (http.poll.everySeconds ?? 0) * 1_000));
      case 'done': {
        const { result } = http;
        if (result === undefined) return doneWith(request, http, context);
        if (isBody(http)) {
          const files = await resultFile(request, jobId, result.path, context.document);
          return { kind: 'done', files, ...(await consumed(request, http, context)) };
        }
        return doneWith(request, http, await fetchResult(request, jobId, call, { ...http, result }, context.document));
      }
    }
  };

  const cancel = async (request: GenerationRequest, jobId: string, call: ProviderCall): Promise<CancelAnswer> => {
    const http = polledBindingOf(request);
    if (http.cancel === undefined) return { outcome: 'unsupported' };
    if (http.cancel.asksFirst === true) {
      const { state } = await pollState(request, jobId, call, http);
      if (state === 'done' || state === 'failed') return { outcome: 'too_late' };
    }
    const parts = await file.read(request, { path: http.cancel.path, body: http.cancel.body }, { jobId }, 'cancel');
    const { status, json } = await query(request, call, parts.path, {
      method: http.cancel.method ?? 'POST',
      body: parts.body,
      isBodyOptional: true,
      definiteStatuses: NOT_CANCELLED,
    });
    const values = await file.read(
      request,
      { outcome: http.cancel.outcome, cost: http.cancel.cost },
      { jobId, httpStatus: status, document: json },
      'cancel',
    );
    const outcome = outcomeOf(values.outcome) ?? outcomeOfStatus(status);
    if (http.cancel.cost === undefined) return { outcome };
    const billedMicroUsd = microUsdOf(values.cost) ?? (await pollCost(request, jobId, call, http));
    return { outcome, ...(billedMicroUsd === undefined ? {} : { billedMicroUsd }) };
  };

  /** The cost reported by a last poll of the job; undefined if the job can no longer be polled. */
  const pollCost = async (request: GenerationRequest, jobId: string, call: ProviderCall, http: Polled) => {
    try {
      const { context } = await pollState(request, jobId, call, http);
      return microUsdOf((await file.read(request, { cost: http.cancel?.cost }, context, 'cancel')).cost);
    } catch (error) {
      if (error instanceof ProviderUnreachable) return undefined;
      throw error;
    }
  };

  /** The result is a file: it is fetched as every file is, with the credential if its host may have it. */
  const resultFile = async (request: GenerationRequest, jobId: string, text: string, polled: unknown) => {
    const { path } = await file.read(request, { path: text }, { jobId, document: polled }, 'result');
    const address = addressOf(path, scopeOf(request, bindingOf(request)));
    const url = address === undefined ? undefined : urlOf(request.upstream, address);
    if (url === undefined) throw new ProviderUnreachable({ code: 'NO_PATH' });
    return [{ from: 'url', url: url.href }] as const;
  };

  const submit: Provider['submit'] = async (request, call) => {
    const http = bindingOf(request);
    await passPreflight(request, http, call, { file, calls });
    const exchange: SubmitExchange = {
      method: http.submit.method ?? 'POST',
      ...(await bindSubmit(request, http, call, { file, calls })),
      async rejectionReason(httpStatus, document) {
        const values = await file.read(request, { refusal: http.submit.refusal }, { httpStatus, document }, 'submit');
        return reasonOf(values.refusal);
      },
      retryAfterMs: retryAfterOf(request, http.submit.retryAfter, 'submit'),
      isRejection: async (httpStatus, document) => isRefusal(request, http, { httpStatus, document }),
    };
    const { hookUrl } = call;
    if (http.jobId !== undefined) {
      return calls.submitJob(request, call, {
        ...exchange,
        async jobId(document, status) {
          const context = { document, hookUrl, isTentative: !isSuccess(status) };
          const { jobId } = await file.read(request, { jobId: http.jobId }, context);
          return jobIdOf(jobId);
        },
        consumption: (httpStatus, document, jobId) =>
          consumed(request, http.submit, { httpStatus, document, jobId }, 'submit'),
      });
    }
    if (isBody(http)) {
      const { path, byteLength } = await calls.submitForFile(request, call, { ...exchange, isSynchronous: true });
      if (byteLength === 0) throw new ProviderFailure('no_output');
      return { kind: 'done', files: [{ from: 'file', path }] };
    }
    const context = { document: await calls.submit(request, call, { ...exchange, isSynchronous: true }) };
    // Such a response has no state: the same expression states why there are no outputs.
    const { reason } = await file.read(request, { reason: http.reason }, context);
    const known = reasonOf(reason);
    if (known !== undefined) {
      throw new ProviderFailure(known, { consumption: await consumed(request, http, context) });
    }
    return doneWith(request, http, context);
  };

  /** Whether a 2xx or a 5xx is a refusal. One with a job or with files took the work, whatever else it says. */
  const isRefusal = async (
    request: GenerationRequest,
    http: HttpBinding,
    context: ExpressionContext & { readonly httpStatus: number },
  ) => {
    const { refusal } = http.submit;
    if (refusal === undefined || (isBody(http) && isSuccess(context.httpStatus))) return false;
    const { jobId, outputs } = http;
    const refused = await file.read(request, { refusal }, context, 'submit');
    if (reasonOf(refused.refusal) === undefined) return false;
    const values = await file.read(request, { jobId, outputs }, { ...context, isTentative: true });
    return jobId === undefined
      ? filesOf(values.outputs, request.upstream, request.input).length === 0
      : jobIdOf(values.jobId) === undefined;
  };

  /** How long a response asks us to wait, as the model file reads it. */
  const retryAfterOf = (request: GenerationRequest, text: string | undefined, within: string) => {
    return async (httpStatus: number, document: unknown): Promise<number | undefined> => {
      const { retryAfter } = await file.read(request, { retryAfter: text }, { httpStatus, document }, within);
      return retryAfterMsOf(retryAfter);
    };
  };

  const provider: Provider = {
    protocol: 'http',
    isSubmitRepeatable: false,
    worksWhileSubmitting: false,
    submit,
    poll,
    cancel,
    download: calls.download,
    boundTo(upstream) {
      const binding = findBinding(upstream);
      return {
        ...provider,
        isSubmitRepeatable: binding?.isSubmitRepeatable === true,
        worksWhileSubmitting: binding?.jobId === undefined,
        takesMediaAsFiles: binding === undefined ? false : fieldsWithFiles(binding),
        callsBack: binding !== undefined && submitReads(binding, 'hookUrl'),
        ...(binding?.upload === undefined
          ? {}
          : { upload: (request, call) => uploadFiles(request, binding, call, { file, calls }) }),
      };
    },
  };

  return provider;
}

/** How a binding reads a failed job. */
type Failing = Pick<HttpBinding, 'reason' | 'unbilled' | 'usage' | 'cost'>;

type WithResult = HttpBinding & { readonly result: NonNullable<HttpBinding['result']> };

/** Whether a response is itself the file. */
export function isBody({ outputs }: HttpBinding): boolean {
  return outputs.trim() === BODY_OUTPUT;
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

export const httpProtocol: UpstreamProtocol = {
  name: 'http',
  fields: { http: HttpBindingSchema },
  problemsOf(upstream) {
    const binding = findBinding(upstream);
    return binding === undefined ? [] : within(findMemberProblems(binding));
  },
  gapsOf(upstream) {
    const binding = findBinding(upstream);
    return [
      ...(binding === undefined ? ['http: missing for protocol http'] : []),
      ...(upstream.baseUrl === undefined ? ['baseUrl: missing for protocol http'] : []),
      ...(binding === undefined ? [] : within(findBindingGaps(binding))),
    ];
  },
  mediaFieldsOf(upstream) {
    const binding = findBinding(upstream);
    return binding === undefined
      ? []
      : mediaFieldsOf(binding).map(([position, field]) => [`http.${position}`, field] as const);
  },
  hookOf: (upstream) => findBinding(upstream)?.hook,
  create: createHttpProvider,
};

function within(problems: readonly string[]): readonly string[] {
  return problems.map((problem) => `http.${problem}`);
}
