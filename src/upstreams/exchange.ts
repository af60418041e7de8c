/**
 * One request to an upstream over kept connections, reported as it happens: head, pieces, end. No redirects, no proxy
 * from the environment, no encoding; no timers but the caller's. It answers the question on which everything else
 * depends: was anything sent?
 *
 * undici calls `onRequestStart` after the connection is established and before it writes the first byte. An exchange
 * that ended before that call has certainly sent nothing, whatever the error was; no list of error codes is needed.
 * The base URLs come from the operator's model definitions, so they may be private; URLs that a provider
 * returns (results) are fetched elsewhere, by the guarded client.
 */
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { timeOutMs } from '../config/time-outs.ts';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { createConnector } from '../egress/upstream-connector.ts';

export interface OutgoingRequest {
  readonly origin: string;
  /** Query included. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is destroyed if it is not sent to its end. */
  readonly body: string | Buffer | Readable | null;
  /** Whether to open a connection for this exchange alone: a kept one may turn out dead only after we wrote to it. */
  readonly onFreshConnection: boolean;
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Callbacks of an exchange. After `end`, `lost` or an `abort` nothing more comes. */
export interface Receiver {
  head(status: number, headers: AnswerHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  /** @param code of Node or undici. @param wasSent false: the upstream certainly received nothing. */
  lost(code: string, wasSent: boolean): void;
}

export interface RunningExchange {
  /** No more pieces for now. */
  pause(): void;
  resume(): void;
  /**
   * Ends the connection, and with it the upstream's work.
   *
   * @returns whether the upstream can have received the request.
   */
  abort(): boolean;
}

export type StartExchange = (request: OutgoingRequest, receiver: Receiver) => RunningExchange;

/** 10 s to connect: an upstream that takes longer is down, and failing early lets another take the work. */
const CONNECT_TIMEOUT_MS = timeOutMs(10_000);

export interface Exchanges {
  readonly start: StartExchange;
  /** Ends all connections; calls in progress fail. */
  close(): Promise<void>;
}

/**
 * Creates exchanges with their own connections, as many as there are calls. Idle ones do not keep the process alive.
 */
export function createExchanges(): Exchanges {
  // undici's own idle timeouts would cut off a synchronous generation at 5 min.
  const shared = { connect: createConnector(CONNECT_TIMEOUT_MS), headersTimeout: 0, bodyTimeout: 0 };
  const pooled = new Agent({ ...shared, pipelining: 1 });
  const fresh = new Agent({ ...shared, pipelining: 0 });
  return {
    start: (request, receiver) => start(request.onFreshConnection ? fresh : pooled, request, receiver),
    async close() {
      await Promise.all([pooled.destroy(), fresh.destroy()]);
    },
  };
}

function start(agent: Agent, request: OutgoingRequest, receiver: Receiver): RunningExchange {
  const { body } = request;
  let controller: Dispatcher.DispatchController | undefined;
  let isOver = false;
  // A server cannot have accepted a request that it did not receive completely.
  let isRead = !(body instanceof Readable);
  if (body instanceof Readable) body.once('end', () => (isRead = true));

  const lose = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    if (body instanceof Readable) body.destroy();
    receiver.lost(codeOf(error), controller !== undefined && isRead);
  };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // Aborting here prevents the first byte from being written.
      if (isOver) started.abort(new Error('given up'));
      else controller = started;
    },
    onResponseStart(_controller, status, headers) {
      if (status >= 200 && !isOver) receiver.head(status, headers);
    },
    onResponseData(_controller, chunk) {
      // After each pause, undici reports a piece without bytes.
      if (!isOver && chunk.length > 0) receiver.data(chunk);
    },
    onResponseEnd() {
      if (isOver) return;
      isOver = true;
      receiver.end();
    },
    onResponseError: (_controller, error) => lose(error),
  };
  try {
    const { origin, path, method, headers } = request;
    agent.dispatch({ origin, path, method, headers, body }, handler);
  } catch (error) {
    // For example an invalid header. The caller is notified once it has the returned object.
    queueMicrotask(() => lose(error));
  }
  return {
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
    abort() {
      if (isOver) return false;
      isOver = true;
      controller?.abort(new Error('given up'));
      if (body instanceof Readable) body.destroy();
      return controller !== undefined && isRead;
    },
  };
}

/** The code of an error of Node or undici; its message may contain a URL and is dropped. */
function codeOf(error: unknown): string {
  const code = errorCodeOf(error);
  return code !== undefined && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'FAILED';
}
