/**
 * Shared by the text endpoints: from a decoded call to its response, whole or as a stream, with the account's limits.
 * Each event of a stream is a write of its own, at the pace of the client, with a comment after silence (contract §4,
 * §9). The answer stops when the client stops reading or disconnects.
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { accessEnded } from '../../text/answer.ts';
import type { DecodedTextCall } from '../../text/answer.ts';
import { DONE } from '../../text/encoder.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { problemOf, textProblemOf } from '../app/errors.ts';
import { setTextLimitHeaders } from '../middleware/limits.ts';
import { DEPRECATION_HEADERS } from '../middleware/response-headers.ts';

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
/** Contract §4: "a comment `: keep-alive` after 15 s of silence". */
const SILENCE_MS = 15_000;
export const KEEP_ALIVE = ': keep-alive\n\n';
/**
 * The time without reading after which a client is disconnected, in milliseconds: it has disappeared without closing
 * the connection.
 */
const UNREAD_MS = 60_000;

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

/** Responds with a stream, until it ends or the client disconnects. */
export async function sendTextStream(
  ctx: ParameterizedContext<RequestState>,
  frames: AsyncIterable<string>,
): Promise<void> {
  const { res: response } = ctx;
  ctx.respond = false;
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
  });
  const silence = setInterval(() => {
    if (response.writableLength === 0 && !response.destroyed) response.write(KEEP_ALIVE);
  }, SILENCE_MS);
  try {
    for await (const frame of frames) {
      if (response.destroyed) return;
      silence.refresh();
      if (!response.write(frame)) await drained(response);
    }
    response.end();
  } finally {
    clearInterval(silence);
    // The response is still open here only if something threw: the client must not wait for more.
    if (!response.writableEnded) response.destroy();
  }
}

/** Sends the stream of a stored answer, which is cut once its caller loses access. */
export async function sendFrames(
  http: Pick<HttpContext, 'openResponses'>,
  { ctx, caller }: { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller },
  frames: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  const unregister = http.openResponses.register(caller, () => ctx.res.destroy());
  try {
    await sendTextStream(ctx, ctx.method === 'HEAD' ? nothing() : framesToTheEnd(frames));
  } finally {
    unregister();
  }
}

async function* framesToTheEnd(frames: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* frames;
  yield DONE;
}

async function* nothing(): AsyncGenerator<string> {}

/** Resolves when the client has read on or disconnected; a client that does neither is disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => response.destroy(), UNREAD_MS);
    const done = (): void => {
      clearTimeout(cut);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
    if (response.destroyed) done();
  });
}

/** @returns aborted when the response has ended or its client has disconnected. */
export function closedSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  if (response.closed) closed.abort();
  return closed.signal;
}
