/**
 * The connections of a listener: which are open and which requests are being answered, so that it can shut down without
 * cutting off anything that a client waits for; how many there may be; and how slowly a client may read.
 */
import type { EventEmitter } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { HttpConfig } from '../../config/listeners.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import { addressBlock, isTrusted, unmapIpv4 } from './client-address.ts';

/** The interval of the log line that reports all connections closed in it, in milliseconds. */
const LOG_INTERVAL_MS = 1_000;

/** @param event reports a connection that can be written to: `secureConnection` of a server with TLS. */
export function openConnections(server: EventEmitter, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

interface DrainableListener {
  readonly listener: RequestListener;
  /** From now on every response that begins announces that it is the last one of its connection. */
  drain(): void;
  /** Responses that began before also end their connection: no new request may follow on it. */
  finish(): void;
}

export function drainable(listener: RequestListener): DrainableListener {
  const answering = new Set<ServerResponse>();
  let isDraining = false;
  return {
    listener(request, response) {
      answering.add(response);
      response.once('close', () => answering.delete(response));
      if (isDraining) response.setHeader('Connection', 'close');
      listener(request, response);
    },
    drain() {
      isDraining = true;
      for (const response of answering) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    // Not while draining: a client that was not notified may be sending its next request at that very moment.
    finish() {
      for (const response of answering) {
        // Read now: a finished response no longer has its socket.
        const { socket } = response;
        response.once('finish', () => socket?.end());
      }
    },
  };
}

type Limits = Pick<HttpConfig, 'maxConnections' | 'maxConnectionsPerAddress' | 'trustedProxies'>;

/**
 * Limits how many connections a listener has open: in total, and per peer (`MAX_CONNECTIONS`,
 * `MAX_CONNECTIONS_PER_ADDRESS`). Connections beyond that are closed before a byte of them is read. Which client a
 * connection serves is not known yet, so a trusted proxy, which serves all clients, counts towards the total only. To
 * be called before the server listens.
 */
export function limitConnections(server: Server, limits: Limits, logger: Logger, metrics?: ShareMetrics): void {
  const report = createTally(logger);
  if (limits.maxConnections > 0) {
    server.maxConnections = limits.maxConnections;
    server.on('drop', () => report('inAll'));
  }
  if (limits.maxConnectionsPerAddress === 0) return;
  const shares = createTenantShares({ resource: 'connections', perTenant: limits.maxConnectionsPerAddress, metrics });
  server.on('connection', (socket: Socket) => {
    const address = unmapIpv4(socket.remoteAddress ?? '');
    if (isTrusted(limits.trustedProxies, address)) return;
    const lease = shares.tryTake(addressBlock(address));
    if (typeof lease === 'string') {
      socket.destroy();
      report('ofOneAddress');
      return;
    }
    socket.once('close', () => lease.release());
  });
}

/** Logs the first at once, and the following ones together at intervals. */
function createTally(logger: Logger): (limit: 'inAll' | 'ofOneAddress') => void {
  let closed = { inAll: 0, ofOneAddress: 0 };
  let timer: NodeJS.Timeout | undefined;
  const report = (): void => {
    timer = undefined;
    if (closed.inAll + closed.ofOneAddress === 0) return;
    logger.warn({ closed }, 'connections closed: limit reached');
    closed = { inAll: 0, ofOneAddress: 0 };
    timer = setTimeout(report, LOG_INTERVAL_MS);
    timer.unref();
  };
  return (limit) => {
    closed[limit] += 1;
    if (timer === undefined) report();
  };
}

/** How slowly clients may read. The bounds of event streams are tighter (event-stream.ts, text/call.ts). */
export interface ReadingBounds {
  /** How long a client may be behind, however little it reads. 60 s is what other servers allow, too. */
  readonly graceMs: number;
  /** The average rate that it has to reach from then on. */
  readonly bytesPerSecond: number;
  readonly checkIntervalMs: number;
}

/**
 * The minimum rate at which a client must read: 4 kB/s. At this rate the largest file takes some 15 h; every usable
 * connection is faster.
 */
export const READING_BOUNDS: ReadingBounds = { graceMs: 60_000, bytesPerSecond: 4_000, checkIntervalMs: 5_000 };

/** Since when a client has been behind, and what it had read by then. */
interface Behind {
  readonly since: number;
  readonly taken: number;
}

/**
 * Ends connections whose client requested something and does not read it: a file read a byte at a time holds a
 * connection and its buffers for as long as the client likes. All connections are checked at intervals, and nothing
 * is done for each request.
 *
 * What counts is the time for which a client was behind without a break, against what it read in that time and what
 * is still buffered for it: a body that was written in one piece counts as read only when all of it was sent.
 *
 * @returns a function that stops the checks.
 */
export function cutSlowReaders(open: ReadonlySet<Socket>, bounds: ReadingBounds): () => void {
  const behind = new WeakMap<Socket, Behind>();

  const check = (): void => {
    const now = performance.now();
    for (const socket of open) {
      const waiting = socket.writableLength;
      if (waiting === 0) {
        behind.delete(socket);
        continue;
      }
      const taken = socket.bytesWritten - waiting;
      const begin = behind.get(socket);
      if (begin === undefined) {
        behind.set(socket, { since: now, taken });
        continue;
      }
      const allowedMs = bounds.graceMs + ((taken - begin.taken + waiting) / bounds.bytesPerSecond) * 1000;
      if (now - begin.since > allowedMs) socket.destroy();
    }
  };
  const clock = setInterval(check, bounds.checkIntervalMs);
  clock.unref();
  return () => clearInterval(clock);
}
