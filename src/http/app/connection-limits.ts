/**
 * Limits how many connections a listener has open: in total, and per peer (`MAX_CONNECTIONS`,
 * `MAX_CONNECTIONS_PER_ADDRESS`). Connections beyond that are closed before a byte of them is read. Which client a
 * connection serves is not known yet, so a trusted proxy, which serves all clients, counts towards the total only.
 */
import type { Server, Socket } from 'node:net';
import type { HttpConfig } from '../../config/config.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/log.ts';
import { addressBlock, isTrusted, unmapIpv4 } from './client-address.ts';

/** The interval of the log line that reports all connections closed in it, in milliseconds. */
const LOG_INTERVAL_MS = 1_000;

type Limits = Pick<HttpConfig, 'maxConnections' | 'maxConnectionsPerAddress' | 'trustedProxies'>;

/** To be called before the server listens. */
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
