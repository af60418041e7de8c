/**
 * Sends the response of a text call: each event in a write of its own, at the pace of the client, with a comment after
 * silence (contract §4, §9). The answer stops when the client stops reading or disconnects.
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { DONE } from '../../text/encoder.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';

/** Contract §4: "a comment `: keep-alive` after 15 s of silence". */
const SILENCE_MS = 15_000;
export const KEEP_ALIVE = ': keep-alive\n\n';
/**
 * The time without reading after which a client is disconnected, in milliseconds: it has disappeared without closing
 * the connection.
 */
const UNREAD_MS = 60_000;

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

/**
 * Sends the stream of a stored answer. Like the streams of tasks it counts towards the responses that an account may
 * have open, and is cut once its caller loses access.
 *
 * @throws {ShareExhaustedError} nothing was sent.
 */
export async function sendStoredStream(
  http: Pick<HttpContext, 'openResponses' | 'waitingResponses'>,
  request: { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller },
  frames: Iterable<string>,
): Promise<void> {
  await holdShareUntilClosed(http.waitingResponses, request.caller.accountId, request.ctx.res);
  await sendFrames(http, request, frames);
}

/** The same for a response that counts already. */
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
