/**
 * What the responses of all of OpenAI's media endpoints have in common: their headers, their warnings, and the words of
 * the reference about them.
 */
import type { ErrorCode } from '@darkroom/api/facts/error-kinds';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { ResolvedModel } from '../../catalogue/catalogue.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { createBudget, setOpenAiLimitHeaders, setRateLimitHeaders } from '../middleware/limits.ts';
import { DEPRECATION_HEADERS } from '../middleware/response-headers.ts';

export type MediaRequest = { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller };

/** Errors of every one of these endpoints, */
export const MEDIA_ERRORS = [
  'MODEL_UNAVAILABLE',
  'INSUFFICIENT_BALANCE',
  'IDEMPOTENCY_KEY_MISMATCH',
  'NOT_FOUND',
  'TASK_PRUNED',
] as const satisfies readonly ErrorCode[];
/** and of those that take files. */
export const MEDIA_FORM_ERRORS = [
  ...MEDIA_ERRORS,
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies readonly ErrorCode[];

/** Request headers of these endpoints. */
export const MEDIA_REQUEST_HEADERS = {
  'Idempotency-Key':
    '1-255 visible ASCII characters. Repeating a request with the same key and the same body never creates a second task.',
  Prefer:
    '`respond-async` returns 202 with the task at once. `wait=N` returns it after N seconds, at most 30, unless the task has ended before.',
  'X-Stainless-Retry-Count':
    "Sent by OpenAI's clients: above 0, the request is an automatic retry, which attaches to the task of the attempt before.",
};

/** Response headers of these endpoints. */
export function mediaResponseHeaders(http: HttpContext): Readonly<Record<string, string>> {
  return {
    [taskIdHeader(http)]: 'The id of the task. Also sent with errors, once there is a task.',
    'openai-processing-ms': 'How long the request took, in milliseconds.',
    ...DEPRECATION_HEADERS,
  };
}

/** The response header with the id of the task. */
export function taskIdHeader({ config }: HttpContext): string {
  return `${config.callbacks.headerPrefix}-Task-Id`;
}

/** The response header that names the fields of a request that were ignored, and its description. */
export function warningHeaderOf(http: HttpContext): Readonly<Record<string, string>> {
  return { [warningHeader(http)]: 'The fields that were ignored, and why.' };
}

function warningHeader({ config }: HttpContext): string {
  return `${config.callbacks.headerPrefix}-Warning`;
}

/** Says in a header of the response which fields were ignored, if any were. */
export function warnOfIgnored(
  http: HttpContext,
  { ctx }: Pick<MediaRequest, 'ctx'>,
  { definition }: ResolvedModel,
  fields: readonly string[],
): void {
  if (fields.length === 0) return;
  ctx.set(warningHeader(http), `${fields.join(', ')}: ignored, the model ${definition.name} does not have it`);
}

/**
 * Does the work of a request, and sets the headers that every response of these endpoints has.
 *
 * @param work sends the head of the response only after it has called `setHeaders`, or leaves that to others.
 */
export async function withMediaHeaders<Result>(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  work: (setHeaders: () => void) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const setHeaders = (): void => {
    const budget = createBudget(caller);
    ctx.set('openai-processing-ms', String(Math.round(performance.now() - startedAt)));
    setOpenAiLimitHeaders(http, ctx, 'requests', budget);
    setRateLimitHeaders(http, ctx, budget);
  };
  try {
    return await work(setHeaders);
  } finally {
    if (!ctx.headerSent) setHeaders();
  }
}
