/** Shared by the text endpoints: from a decoded call to its response, streamed or not, with the account's limits. */
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { accessEnded } from '../../text/answer.ts';
import type { DecodedTextCall } from '../../text/answer.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { DEPRECATION_HEADERS } from '../middleware/response-headers.ts';
import { problemOf, textProblemOf } from '../app/errors.ts';
import { setTextLimitHeaders } from '../middleware/limits.ts';
import { sendTextStream } from './stream.ts';

/** The rate limit headers of every text response, named as OpenAI's are. */
export const TEXT_RESPONSE_HEADERS = {
  'x-ratelimit-limit-requests': 'The number of text calls that are allowed per minute.',
  'x-ratelimit-remaining-requests': 'The number of text calls that are allowed now.',
  'x-ratelimit-reset-requests': 'The time until the full limit is available again, for example `12s`.',
  'x-ratelimit-limit-tokens': 'The number of tokens that are allowed per minute.',
  'x-ratelimit-remaining-tokens': 'The number of tokens that are allowed now.',
  'x-ratelimit-reset-tokens': 'The time until the full limit is available again.',
  ...DEPRECATION_HEADERS,
};

/** How long a client that has lost access has to read the error that reports it. */
const GRACE_MS = 3_000;

/** @returns the whole response; undefined where it was sent as a stream. */
export async function answerTextCall(
  http: HttpContext,
  { ctx, caller }: { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller },
  decoded: Omit<DecodedTextCall, 'problemOf'>,
): Promise<unknown> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  const onStop = (): void => gone.abort(http.stopSignal.reason);
  let cut: NodeJS.Timeout | undefined;
  const unregister = http.openResponses.register(caller, (reason) => {
    gone.abort(reason);
    cut = setTimeout(() => ctx.res.destroy(), GRACE_MS);
  });
  ctx.res.once('close', onClose);
  // A client that disconnected while the request was read emits no further `close`, and must not pay for an answer.
  if (ctx.res.destroyed) onClose();
  http.stopSignal.addEventListener('abort', onStop);
  if (http.stopSignal.aborted) onStop();
  const call = { ...decoded, problemOf: (error: unknown) => textProblemOf(problemOf(error)) };
  try {
    const answer = await http.textAnswers.answer(caller, call, gone);
    try {
      setTextLimitHeaders(http, ctx, caller);
      if (answer.kind === 'body') return answer.body;
      await sendTextStream(ctx, answer.frames);
      return undefined;
    } finally {
      await answer.close();
    }
  } catch (error) {
    if (!ctx.headerSent) setTextLimitHeaders(http, ctx, caller);
    throw accessEnded(gone.signal) ?? error;
  } finally {
    clearTimeout(cut);
    unregister();
    ctx.res.off('close', onClose);
    http.stopSignal.removeEventListener('abort', onStop);
  }
}
