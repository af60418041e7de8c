/** The requests that go ahead of a submit: whatever fails here, no work was accepted. */
import { DEFAULT_RETRY_AFTER_MS, conditionOf, credentialConditionOf, reasonOfStatus } from '../answer-status.ts';
import type { ExchangeAnswer } from '../http-exchange.ts';
import { ProviderRejection, ProviderUnreachable } from '../provider.ts';
import type { GenerationRequest, SubmitCall } from '../provider.ts';
import type { JobExchange, UpstreamCalls } from '../upstream-calls.ts';
import type { HttpBinding } from './binding.ts';
import { describeValue } from './expected-values.ts';
import { inputOf } from './model-file.ts';
import type { ModelFile } from './model-file.ts';
import { addressOf, reasonOf } from './values.ts';

/** Statuses that say something about the input or about us, as those of a submit do. */
const REJECTIONS: readonly number[] = [400, 402, 403, 404, 405, 410, 411, 413, 415, 422, 451];

type Member = 'preflight' | 'upload';

interface Ahead {
  readonly calls: UpstreamCalls;
  readonly call: SubmitCall;
}

/**
 * @param member of the binding that describes the request.
 * @returns the JSON of the response.
 * @throws {ProviderRejection}
 */
export async function sendAhead(
  member: Member,
  request: GenerationRequest,
  ahead: Ahead,
  exchange: Omit<JobExchange, 'definiteStatuses'>,
): Promise<unknown> {
  const { status, json } = await queryAhead(member, request, ahead, exchange);
  if (status < 400) return json;
  throw new ProviderRejection(reasonOfStatus(status), {
    condition: credentialConditionOf(status),
    note: `${member} rejected with ${status}`,
  });
}

/**
 * The same, where a rejection says something else than that of a submit.
 *
 * @returns a success, or a status that rejects.
 * @throws {ProviderRejection} there was no such response.
 */
export async function queryAhead(
  member: Member,
  request: GenerationRequest,
  { calls, call }: Ahead,
  exchange: Omit<JobExchange, 'definiteStatuses'>,
): Promise<ExchangeAnswer> {
  return calls.query(request, call, { ...exchange, definiteStatuses: REJECTIONS }).catch((error: unknown) => {
    if (!(error instanceof ProviderUnreachable)) throw error;
    const { status, code, retryAfterMs } = error;
    // Not a token that has just expired, of which the next attempt has another.
    if (status === 401 && code !== 'TOKEN_EXPIRED' && exchange.isAnonymous !== true) {
      const note = `${member} rejected with 401`;
      throw new ProviderRejection('model_unavailable', { condition: 'unauthorized', note });
    }
    throw new ProviderRejection('provider_unavailable', {
      retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
      condition: status === undefined ? 'down' : conditionOf({ status, retryAfterMs }),
      note: `${member} failed: ${error.message}`,
    });
  });
}

export function scopeOf({ upstream }: GenerationRequest, { hosts }: HttpBinding) {
  return { baseUrl: upstream.baseUrl, hosts };
}

/** Nothing was sent: the model file produces no request for this input, and a retry would not change that. */
export function unbound(member: string, value?: unknown): ProviderRejection {
  const found = value === undefined ? '' : `: it gives ${describeValue(value)}`;
  return new ProviderRejection('model_unavailable', {
    note: `http.${member} of the model file gives no usable value for this input${found}`,
  });
}

/**
 * Asks a provider ahead of a submit whether it has what the input names. Some servers ignore what they do not know, and
 * would do and deliver other work than was requested.
 *
 * @throws {ProviderRejection} the provider does not have it, or did not say so.
 */
export async function passPreflight(
  request: GenerationRequest,
  http: HttpBinding,
  call: SubmitCall,
  { file, calls }: { readonly file: ModelFile; readonly calls: UpstreamCalls },
): Promise<void> {
  const { preflight } = http;
  if (preflight === undefined) return;
  const { path } = await file.read(request, { path: preflight.path }, { document: inputOf(request) }, 'preflight');
  const address = addressOf(path, scopeOf(request, http));
  if (address === undefined) throw unbound('preflight.path');
  const document = await sendAhead(
    'preflight',
    request,
    { calls, call },
    // The list of all that a server has may be long.
    { method: 'GET', path: address, headers: http.headers ?? {}, bringsFiles: true },
  );
  const { refusal } = await file.read(request, { refusal: preflight.refusal }, { document }, 'preflight');
  // Nothing, which an expression that fails gives too, must not pass for consent.
  if (refusal === false) return;
  const reason = reasonOf(refusal);
  if (reason !== undefined) throw new ProviderRejection(reason);
  throw new ProviderRejection('model_unavailable', {
    note: 'http.preflight.refusal of the model file gives no usable value for this response',
  });
}
