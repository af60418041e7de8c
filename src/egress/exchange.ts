/**
 * One request and its response under one deadline, on a connection of its own that is closed afterwards: kept
 * connections would outlive the check of the name they were made for. Idle timeouts do not stop a receiver that
 * drips, so the only clock is the deadline over the whole exchange.
 */
import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import { connectGuarded } from './connector.ts';
import type { ConnectSettings } from './connector.ts';
import { deferSocketEnd } from './defer-socket-end.ts';
import { BlockedError, EgressError, HandshakeError } from './egress-error.ts';
import { targetOf } from './policy.ts';

/** 16 kB of headers: Node's own default, set here because the peer is untrusted. */
const MAX_HEADER_BYTES = 16_384;

/** A clock and a way to stop, over everything that one call does. */
export interface Deadline {
  /** Aborts with an `EgressError` of kind `timeout`, or with the caller's own reason. */
  readonly signal: AbortSignal;
  /** Stops at once with a reason. */
  abort(reason: Error): void;
  /** Call this when the work is done. */
  clear(): void;
}

/** Starts the clock. `signal`: the caller's way to stop early; its reason is what the call then throws. */
export function startDeadline(timeoutMs: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const abortByCaller = (): void => controller.abort(signal?.reason);
  const timer = setTimeout(
    () => controller.abort(new EgressError('timeout', `no complete answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  if (signal?.aborted === true) abortByCaller();
  signal?.addEventListener('abort', abortByCaller, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    clear: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abortByCaller);
    },
  };
}

/** What is sent. */
export interface Outgoing {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A response whose body has not been read. `end` closes the connection and must be called, whatever happens. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Dispatcher.ResponseData['body'];
  end(): Promise<void>;
}

/**
 * Sends one request and waits for the head of the response.
 *
 * @throws whatever stopped it, unclassified: see `classify`.
 */
export async function exchange(outgoing: Outgoing, settings: ConnectSettings): Promise<Answer> {
  const target = targetOf(outgoing.url);
  if (target === undefined) throw new BlockedError('the host is neither a name nor an address');
  const client = new Client(outgoing.url.origin, {
    connect: (_options, callback) => {
      connectGuarded(target, settings).then(
        (socket) => callback(null, deferSocketEnd(socket)),
        (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
      );
    },
    // No second request is ever sent over this connection.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const end = (): Promise<void> => client.destroy();

  try {
    const answer = await client.request({
      path: `${outgoing.url.pathname}${outgoing.url.search}`,
      method: outgoing.method,
      headers: { 'user-agent': 'Darkroom', 'accept-encoding': 'identity', ...outgoing.headers },
      body: outgoing.body ?? null,
      signal: settings.signal,
      reset: true,
    });
    // The body also fails if it has no reader; readers see the failure all the same.
    answer.body.on('error', () => undefined);
    return { status: answer.statusCode, headers: flatten(answer.headers), body: answer.body, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * Assigns a failure to the class that callers see.
 *
 * @returns the reason of an abort as it is; `unreachable` for anything that is neither timeout nor TLS.
 */
export function classify(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof EgressError) return error;
  if (error instanceof HandshakeError) return new EgressError('tls', 'TLS could not be established', { cause: error });
  // No cause: from outside, a blocked address looks like any other that does not respond.
  if (error instanceof BlockedError) {
    return new EgressError('unreachable', 'the address could not be reached', { isBarred: true });
  }
  return new EgressError('unreachable', 'the address could not be reached', { cause: error });
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
