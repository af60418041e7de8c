/** An account's limits for text models and what remains of them, in the form that OpenAI uses. */
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { setOpenAiLimitHeaders } from '../middleware/openai-limits.ts';

/** The account's budget of text calls (contract §9). */
export function textBudget(caller: Caller): Budget {
  return { id: `text:${caller.accountId}`, perMinute: caller.textRequestsPerMinute };
}

/** Sets the `x-ratelimit-*` headers of a text response to the current state. */
export function setTextLimitHeaders(http: HttpContext, ctx: ParameterizedContext<RequestState>, caller: Caller): void {
  setOpenAiLimitHeaders(http, ctx, 'requests', textBudget(caller));
  setOpenAiLimitHeaders(http, ctx, 'tokens', http.textAnswers.tokenBudget(caller));
}
