/**
 * The listening socket: plain HTTP on loopback or behind trusted proxies, TLS where a certificate is configured. The
 * time-outs are those that held against slow clients when they were measured.
 */
import { STATUS_CODES, createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { HttpConfig } from '../../config/listeners.ts';
import { PortInUseError, hostInUrl } from '../../config/listeners.ts';
import { timeOutMs } from '../../config/time-outs.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import { newId } from '../../domain/ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import { errorBody } from '../../text/encoder.ts';
import { SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY } from '../middleware/response-headers.ts';
import { READING_BOUNDS, cutSlowReaders, drainable, limitConnections, openConnections } from './connections.ts';
import type { ReadingBounds } from './connections.ts';
import { RequestError, invalidRequest, problemOf, textProblemOf } from './errors.ts';
import { readCertificate, watchCertificate } from './tls-certificates.ts';
import type { CertificateWatch } from './tls-certificates.ts';

const LIMITS = {
  // Both count from the first byte of a request, so that neither has to be longer than a connection may be idle.
  headersTimeout: timeOutMs(10_000),
  requestTimeout: timeOutMs(30_000),
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
  // Node rejects requests without one with a bare status: guards.ts rejects them instead.
  requireHostHeader: false,
  /** The time limit of the TLS handshake. */
  handshakeTimeout: timeOutMs(10_000),
  // A peer that vanished, its machine or its line: the operating system probes, and ends the connection.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
};

/** How long a client that sent an invalid request has to read the response and to close. */
const LINGER_MS = 2_000;

export interface RunningServer {
  readonly server: Server;
  /** `http://127.0.0.1:8787`: where the socket listens. */
  readonly url: string;
  /** Still accepts requests, and closes each connection after its next response: clients then reconnect elsewhere. */
  drain(): void;
  /** Checks the files of the certificate, if it has one. */
  reloadCertificate(): Promise<void>;
  /** Accepts no more connections, lets requests finish during the grace period, then closes the rest. */
  close(graceMs: number): Promise<void>;
}

/** Connections whose request is bounded by the reader of its body, and not by the request time-out. */
const boundByReader = new WeakSet<Duplex>();

/**
 * Exempts a request from the request time-out, which is for bodies that arrive in one go: an upload on a slow line
 * takes minutes, and its reader bounds it (upload-line.ts). The next request of the connection has the time-out
 * again.
 *
 * @returns a function that ends this; a body that is not read to its end by then is for the caller to cut off.
 */
export function exemptFromTimeout({ socket }: IncomingMessage): () => void {
  boundByReader.add(socket);
  return () => void boundByReader.delete(socket);
}

/** Error codes of Node's HTTP parser, with the kind of error that each becomes. */
const BROKEN_REQUESTS: Readonly<Record<string, ErrorKind>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * What the parser rejects never becomes a request: it is answered here, still in the envelope (contract §1), with the
 * fields that clients of OpenAI's API read as well, as it may come from one of them.
 */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, isTls: boolean): void {
  const { code = '' } = error;
  // The server emits this once per request, and does nothing by itself where there is a listener.
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && boundByReader.has(socket)) return;
  // No response can reach a client that disconnected, or one that connected without TLS where TLS is required.
  const isAnswerable = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!isAnswerable || !socket.writable) {
    socket.destroy();
    return;
  }
  const kind = BROKEN_REQUESTS[code];
  const problem = problemOf(kind === undefined ? invalidRequest('invalid request: not HTTP') : new RequestError(kind));
  const { status } = factsOf(problem.kind);
  const body = JSON.stringify(errorBody(textProblemOf(problem)));
  const headers = [
    ['Content-Type', 'application/json; charset=utf-8'],
    ['Content-Length', Buffer.byteLength(body)],
    ['X-Request-Id', newId('req')],
    ...SECURITY_HEADERS,
    ...(isTls ? [STRICT_TRANSPORT_SECURITY] : []),
    ['Connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...headers].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/**
 * HTTP/0.9 is a request line without a version and a response without a head: such a connection is closed without a
 * response, because a part of another request would look like one too.
 */
function withoutOldProtocol(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (request.httpVersionMajor < 1) request.socket.destroy();
    else listener(request, response);
  };
}

/**
 * How many listeners for one event a response may have before Node reports a leak on standard error. With Node's
 * default of ten it reported one for each streamed tool call: every layer listens for the end of the response, once.
 */
const MAX_LISTENERS = 30;

function withRoomForListeners(listener: RequestListener): RequestListener {
  return (request, response) => {
    response.setMaxListeners(MAX_LISTENERS);
    listener(request, response);
  };
}

export interface ListenOptions {
  readonly logger: Logger;
  /** Metrics that count the connections of each address. */
  readonly shares?: ShareMetrics;
  /** Replaces some limits; for tests, which cannot wait as long. */
  readonly limits?: Partial<typeof LIMITS>;
  readonly reading?: ReadingBounds;
}

/** @throws {PortInUseError} @throws {CertificateError} */
export async function listen(
  config: HttpConfig,
  listener: RequestListener,
  { logger, limits, reading = READING_BOUNDS, shares }: ListenOptions,
): Promise<RunningServer> {
  const requests = drainable(withRoomForListeners(withoutOldProtocol(listener)));
  const { server, certificate } = await createServer(config, requests.listener, { ...LIMITS, ...limits }, logger);
  const isTls = config.tls !== undefined;
  limitConnections(server, config, logger, shares);
  const accepted = openConnections(server, 'connection');
  const open = isTls ? openConnections(server, 'secureConnection') : accepted;
  const stopChecking = cutSlowReaders(open, reading);
  // Rejected in guards.ts as well; without a listener Node responds with a bare status.
  server.on('checkExpectation', requests.listener);
  server.on('clientError', (error, socket) => answerBrokenRequest(error, socket, isTls));
  const finish = (): void => {
    stopChecking();
    certificate?.close();
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      finish();
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(config.port) : error);
    });
    server.listen(config.port, config.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    server,
    url: `${isTls ? 'https' : 'http'}://${hostInUrl(config.host)}:${port}`,
    drain: () => requests.drain(),
    async reloadCertificate() {
      await certificate?.reload();
    },
    async close(graceMs) {
      requests.drain();
      requests.finish();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      // No client waits on connections that sent nothing yet, and the server does not count them as idle.
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
      const cut = setTimeout(() => {
        for (const socket of accepted) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
      finish();
    },
  };
}

async function createServer(
  config: HttpConfig,
  listener: RequestListener,
  limits: typeof LIMITS,
  logger: Logger,
): Promise<{ readonly server: Server | HttpsServer; readonly certificate?: CertificateWatch }> {
  const options = { ...limits, keepAliveTimeout: config.keepAliveMs };
  if (config.tls === undefined) return { server: createHttpServer(options, listener) };
  const certificate = await readCertificate(config.tls);
  const server = createHttpsServer({ ...options, ...certificate.context }, listener);
  const serve = ({ context }: { readonly context: SecureContextOptions }): void => server.setSecureContext(context);
  return { server, certificate: watchCertificate(config.tls, certificate, serve, logger) };
}
