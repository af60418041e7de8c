/**
 * The listening socket: plain HTTP on loopback or behind trusted proxies, TLS where a certificate is configured. The
 * time-outs are those that stack.md, "Node and Koa", found to hold against slow clients.
 */
import { readFile } from 'node:fs/promises';
import { STATUS_CODES, createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpConfig } from '../config/config.ts';
import { newId } from '../domain/ids.ts';
import { failure } from '../wire/envelope.ts';

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
};

export interface RunningServer {
  readonly server: Server;
  /** `http://127.0.0.1:8787`: where the socket listens. */
  readonly url: string;
  /** Takes no more connections, lets requests finish until the grace time is over, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

/** The port that was asked for belongs to another process. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError';

  constructor(port: number, variable: 'PORT' | 'ADMIN_PORT' = 'PORT') {
    super(`port ${port} is in use; stop what listens there, or set ${variable} to another`);
  }
}

/** Connections whose request is bounded by whoever reads its body, and not by the request time-out. */
const boundByReader = new WeakSet<Duplex>();

/**
 * Takes a request out of the request time-out, which is for bodies that arrive in one go: an upload on a slow line takes
 * minutes, and its reader bounds it (upload-body.ts). The next request of the connection has the time-out again.
 *
 * @returns ends this; a body that is not read to its end by then is for the caller to cut off.
 */
export function leaveToReader({ socket }: IncomingMessage): () => void {
  boundByReader.add(socket);
  return () => void boundByReader.delete(socket);
}

const BROKEN_REQUESTS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the request headers are larger than 8 kB'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
};

/** What the parser refuses never becomes a request: it is answered here, in the envelope all the same (contract §1). */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // The server tells this once of a request and does nothing by itself where there is a listener.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && boundByReader.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = BROKEN_REQUESTS[error.code ?? ''] ?? [400, 'invalid request: not HTTP'];
  const body = JSON.stringify(failure(status, 'INVALID_REQUEST', message));
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${newId('req')}`,
    'Connection: close',
  ];
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * @param changes time-outs of a test that cannot wait for ours.
 * @throws {PortInUseError}
 */
export async function listen(
  config: HttpConfig,
  listener: RequestListener,
  changes: Partial<typeof LIMITS> = {},
): Promise<RunningServer> {
  const limits = { ...LIMITS, ...changes };
  const server =
    config.tls === undefined
      ? createHttpServer(limits, listener)
      : createHttpsServer(
          { ...limits, cert: await readFile(config.tls.certificateFile), key: await readFile(config.tls.keyFile) },
          listener,
        );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(config.port) : error);
    });
    server.listen(config.port, config.host, resolve);
  });
  server.on('clientError', answerBrokenRequest);
  const { port } = server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    server,
    url: `${config.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}
