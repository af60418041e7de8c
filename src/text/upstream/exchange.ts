/**
 * One POST to an upstream over kept connections, reported as it happens: head, pieces, end. No redirects, no proxy
 * from the environment, no encoding; no timers but the caller's. As in the adapters of media
 * (providers/http-exchange.ts), undici reports when it begins to write, and so whether anything was sent; there a
 * response is read to its end, and here it is passed on while it arrives.
 */
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { connectorOf } from '../../egress/end-when-read.ts';

export interface OutgoingRequest {
  readonly origin: string;
  /** Query included. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
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
  /** Ends the connection, and with it the upstream's work. */
  abort(): void;
}

export type StartExchange = (request: OutgoingRequest, receiver: Receiver) => RunningExchange;

/** 10 s to connect, as everywhere: an upstream that takes longer is down, and another may take the call. */
const CONNECT_TIMEOUT_MS = 10_000;

export interface TextExchanges {
  readonly start: StartExchange;
  /** Everything under way is lost. */
  close(): Promise<void>;
}

/**
 * Creates exchanges with their own connections, as many as there are calls. Idle ones do not keep the process alive.
 */
export function createTextExchanges(): TextExchanges {
  const shared = { connect: connectorOf(CONNECT_TIMEOUT_MS), headersTimeout: 0, bodyTimeout: 0 };
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
  let controller: Dispatcher.DispatchController | undefined;
  let isOver = false;

  const lose = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    receiver.lost(codeOf(error), controller !== undefined);
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
    agent.dispatch(
      { origin: request.origin, path: request.path, method: 'POST', headers: request.headers, body: request.body },
      handler,
    );
  } catch (error) {
    // For example an invalid header. The caller is notified once it has the returned object.
    queueMicrotask(() => lose(error));
  }
  return {
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
    abort() {
      if (isOver) return;
      isOver = true;
      controller?.abort(new Error('given up'));
    },
  };
}

/** The code of an error of Node or undici; its message may contain an address and is dropped. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'FAILED';
}
