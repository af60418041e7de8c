/**
 * Where a process is scraped and probed: plain HTTP on a port of its own (`METRICS_PORT`), loopback unless it is told
 * otherwise. It takes no credential and holds no secret, and is no part of the API: nothing of it is on the public
 * listener. Bounded against slow clients like that one (src/http/app/server.ts), and closer: whoever scrapes is near.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MetricsConfig } from '../config/config.ts';
import { hostInUrl } from '../config/listeners.ts';
import { PortInUseError } from '../config/port-in-use-error.ts';
import type { Logger } from './log.ts';
import { METRICS_TYPE } from './metrics.ts';

const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
};
/** A connection on which nothing moves for so long is cut, be it that an answer is not read. Above the keep-alive. */
const IDLE_MS = 70_000;
/** One Prometheus, its twin, the probes, and somebody who looks. */
const MAX_CONNECTIONS = 64;

/** What a probe says: 200 or 503, and the parts that it is made of. */
export interface ProbeAnswer {
  readonly isGood: boolean;
  readonly parts: Readonly<Record<string, unknown>>;
}

export interface MetricsPages {
  /** Everything, in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  /** By path. */
  readonly probes: ReadonlyMap<string, () => Promise<ProbeAnswer>>;
}

export interface MetricsListener {
  /** `http://127.0.0.1:9464`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * @param changes time-outs of a test that cannot wait for ours.
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
      logger.warn({ err, path: request.url === '/metrics' ? '/metrics' : 'a probe' }, 'a scrape was not answered');
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
  logger.info({ url }, 'metrics are served');
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
