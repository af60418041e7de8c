/** What OpenAI's clients do by themselves: they repeat a request whose response did not arrive (docs/decisions/0047). */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';

/** Whether a request is such a repetition. */
export function isAutomaticRetry(ctx: Pick<ParameterizedContext, 'get'>): boolean {
  return /^[1-9]\d{0,5}$/.test(ctx.get('X-Stainless-Retry-Count'));
}

/** @param end called once, with whether the whole response was sent. */
export function whenClosed(res: ServerResponse, end: (isFinished: boolean) => void): void {
  if (res.closed || res.destroyed) {
    end(false);
    return;
  }
  let isFinished = false;
  res.once('finish', () => {
    isFinished = true;
  });
  res.once('close', () => end(isFinished));
}
