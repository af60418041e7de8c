/** What remains of a budget, in the headers that OpenAI's clients read. */
import type { ParameterizedContext } from 'koa';
import type { Budget } from '../../limits/rate-limiter.ts';
import type { HttpContext, RequestState } from '../app/context.ts';

/** The headers of every response of the endpoints that OpenAI's clients use, with a line for each. */
export const OPENAI_LIMIT_HEADERS = {
  'x-ratelimit-limit-requests': 'The number of requests of this kind that are allowed per minute.',
  'x-ratelimit-remaining-requests': 'The number of requests of this kind that are allowed now.',
  'x-ratelimit-reset-requests': 'The time until the full limit is available again, for example `12s`.',
};

/** @param kind what the budget counts. */
export function setOpenAiLimitHeaders(
  http: Pick<HttpContext, 'rateLimiter' | 'now'>,
  ctx: Pick<ParameterizedContext<RequestState>, 'set'>,
  kind: 'requests' | 'tokens',
  budget: Budget,
): void {
  const { limit, remaining, resetAt } = http.rateLimiter.state(budget);
  ctx.set(`x-ratelimit-limit-${kind}`, String(limit));
  ctx.set(`x-ratelimit-remaining-${kind}`, String(remaining));
  ctx.set(`x-ratelimit-reset-${kind}`, `${Math.max(0, resetAt - Math.floor(http.now() / 1000))}s`);
}
