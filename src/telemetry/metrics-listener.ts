/**
 * The listener for scrapes and probes: plain HTTP on a port of its own (`METRICS_PORT`), on loopback by default. It
 * requires no credential and exposes no secret, and is not part of the API: none of it is on the public listener. It
 * has limits against slow clients like that one (src/http/app/server.ts), but tighter ones: scrapers are near.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MetricsConfig } from '../config/listeners.ts';
import { hostInUrl, PortInUseError } from '../config/listeners.ts';
import type { Logger } from './log.ts';
import { METRICS_TYPE } from './metrics.ts';

const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
};
/**
 * The time after which a connection without traffic is closed, in milliseconds, even if a response has not been read.
 * It is longer than the keep-alive.
 */
const IDLE_MS = 70_000;
/** The maximum number of connections: for Prometheus, its replica, the probes and an occasional reader. */
const MAX_CONNECTIONS = 64;

/** The answer of a probe: 200 or 503, and the states of its parts. */
export interface ProbeAnswer {
  readonly isGood: boolean;
  readonly parts: Readonly<Record<string, unknown>>;
}

export interface MetricsPages {
  /** Everything, in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  /** The probes by path. */
  readonly probes: ReadonlyMap<string, () => Promise<ProbeAnswer>>;
}

export interface MetricsListener {
  /** `http://127.0.0.1:9464`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * @param changes time-outs of tests, which cannot wait for ours.
 * @throws {PortInUseError}
 */
export async function listenForMetrics(
  { host, port }: MetricsConfig,
  pages: MetricsPages,
  logger: Logger,
  changes: Partial<typeof LIMITS> = {},
): Promise<MetricsListener> {
  const server = createServer({ ...LIMITS, ...changes }, (request, response) => {
    answer(request, response, pages).catch((err: unknown) => {
      logger.warn({ err, path: request.url === '/metrics' ? '/metrics' : 'a probe' }, 'scrape failed');
      if (response.headersSent) response.destroy();
      else reply(response, 500, 'text/plain; charset=utf-8', 'the figures could not be read\n');
    });
  });
  server.setTimeout(IDLE_MS);
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(port, 'METRICS_PORT') : error);
    });
    server.listen(port, host, resolve);
  });
  const url = `http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`;
  logger.info({ url }, 'metrics listener started');
  return {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, pages: MetricsPages): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? '';
  const probe = pages.probes.get(path);
  if (path !== '/metrics' && probe === undefined) {
    reply(response, 404, 'text/plain; charset=utf-8', 'not found\n');
    return;
  }
  if (request.method !== 'GET') {
    response.setHeader('Allow', 'GET');
    reply(response, 405, 'text/plain; charset=utf-8', 'only GET\n');
    return;
  }
  if (probe === undefined) {
    reply(response, 200, METRICS_TYPE, await pages.metrics());
    return;
  }
  const { isGood, parts } = await probe();
  reply(response, isGood ? 200 : 503, 'application/json; charset=utf-8', `${JSON.stringify(parts)}\n`);
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}
