/** What an account may do with text models, and where it stands: told as OpenAI tells it (issue "Limits"). */
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import type { HttpContext } from '../app/context.ts';
import type { RequestState } from '../middleware/middleware.ts';

/** The account's text calls (contract §9). */
export function textBudget(caller: Caller): Budget {
  return { id: `text:${caller.accountId}`, perMinute: caller.textRequestsPerMinute };
}

/** In the `x-ratelimit-*` headers of a text answer, as things stand. */
export function tellTextLimits(http: HttpContext, ctx: ParameterizedContext<RequestState>, caller: Caller): void {
  const budgets = { requests: textBudget(caller), tokens: http.textAnswers.tokenBudget(caller) };
  for (const [kind, budget] of Object.entries(budgets)) {
    const { limit, remaining, resetAt } = http.rateLimiter.state(budget);
    ctx.set(`x-ratelimit-limit-${kind}`, String(limit));
    ctx.set(`x-ratelimit-remaining-${kind}`, String(remaining));
    ctx.set(`x-ratelimit-reset-${kind}`, `${Math.max(0, resetAt - Math.floor(http.now() / 1000))}s`);
  }
}
