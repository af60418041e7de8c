/**
 * `fetch` to an application in this same process, without a network: for features offered over another protocol that
 * are to be validated, limited and answered by the same routes. Such a request is one of the client that sent the outer
 * request: its key, its address, its request id.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import inject from 'light-my-request';

/** The headers that decide whose request it is, from which page, and whether it came over HTTPS. */
const OF_THE_CLIENT = ['authorization', 'origin', 'x-forwarded-for', 'x-forwarded-proto', 'user-agent'] as const;

/** Responses that have no body because of their status (RFC 9110 §15). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface InProcessFetchOptions {
  readonly handle: RequestListener;
  /** The request on whose behalf these are made. */
  readonly outer: IncomingMessage;
  readonly requestId: string;
  /** To be awaited before a large body is processed as a whole (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** The one origin that is served here; no other is reachable. */
  readonly origin: string;
}

/** @returns a `fetch` whose responses are complete when they arrive: it is not for streams. It follows no redirect. */
export function createInProcessFetch(options: InProcessFetchOptions): typeof globalThis.fetch {
  const { handle, outer, requestId, origin, nextTurn } = options;
  const ofTheClient = Object.fromEntries(
    OF_THE_CLIENT.flatMap((name) => {
      const values = outer.headersDistinct[name];
      return values === undefined ? [] : [[name, values.join(', ')]];
    }),
  );

  return async (input, init) => {
    await nextTurn?.();
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.origin !== origin) throw new TypeError(`${url.origin} is not this service`);
    const payload = Buffer.from(await request.arrayBuffer());
    const { signal } = request;
    signal.throwIfAborted();
    let abort: () => void = () => undefined;
    try {
      const { statusCode, headers, rawPayload } = await inject(
        (inner, response) => {
          // As Node's own server provides them; no header is sent twice here.
          const distinct = Object.entries(inner.headers).map(([name, value]) => [name, [value].flat()]);
          Object.defineProperty(inner, 'headersDistinct', { value: Object.fromEntries(distinct) });
          abort = () => void response.destroy();
          signal.addEventListener('abort', abort, { once: true });
          handle(inner, response);
        },
        {
          method: request.method as 'GET',
          url: `${url.pathname}${url.search}`,
          authority: url.host,
          remoteAddress: outer.socket.remoteAddress ?? '',
          headers: { ...Object.fromEntries(request.headers), ...ofTheClient, 'x-request-id': requestId },
          ...(payload.length === 0 ? {} : { payload }),
        },
      );
      const body = WITHOUT_BODY.has(statusCode) ? null : new Uint8Array(rawPayload);
      return new Response(body, { status: statusCode, headers: headersOf(headers) });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };
}

function headersOf(sent: NodeJS.Dict<number | string | string[]>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(sent)) {
    for (const each of [value ?? []].flat()) headers.append(name, String(each));
  }
  return headers;
}
