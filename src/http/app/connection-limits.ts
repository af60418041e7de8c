/**
 * Limits how many connections a listener has open: in total, and per peer (`MAX_CONNECTIONS`,
 * `MAX_CONNECTIONS_PER_ADDRESS`). Connections beyond that are closed before a byte of them is read. Whose requests a
 * connection will carry is not known yet, so a trusted proxy, which carries those of all clients, counts towards the
 * total only.
 */
import type { Server, Socket } from 'node:net';
import type { HttpConfig } from '../../config/config.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics-shares.ts';
import type { Logger } from '../../telemetry/log.ts';
import { addressBlock, isTrusted, plain } from './client-address.ts';

/** One line reports all connections that were closed in this time. */
const TELL_EVERY_MS = 1_000;

type Limits = Pick<HttpConfig, 'maxConnections' | 'maxConnectionsPerAddress' | 'trustedProxies'>;

/** To be called before the server listens. */
export function limitConnections(server: Server, limits: Limits, logger: Logger, metrics?: ShareMetrics): void {
  const tell = createTally(logger);
  if (limits.maxConnections > 0) {
    server.maxConnections = limits.maxConnections;
    server.on('drop', () => tell('inAll'));
  }
  if (limits.maxConnectionsPerAddress === 0) return;
  const shares = createTenantShares({ resource: 'connections', perTenant: limits.maxConnectionsPerAddress, metrics });
  server.on('connection', (socket: Socket) => {
    const address = plain(socket.remoteAddress ?? '');
    if (isTrusted(limits.trustedProxies, address)) return;
    const lease = shares.tryTake(addressBlock(address));
    if (typeof lease === 'string') {
      socket.destroy();
      tell('ofOneAddress');
      return;
    }
    socket.once('close', () => lease.release());
  });
}

/** Reports the first at once, and then all those that followed meanwhile. */
function createTally(logger: Logger): (limit: 'inAll' | 'ofOneAddress') => void {
  let closed = { inAll: 0, ofOneAddress: 0 };
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    timer = undefined;
    if (closed.inAll + closed.ofOneAddress === 0) return;
    logger.warn({ closed }, 'connections beyond the limit were closed');
    closed = { inAll: 0, ofOneAddress: 0 };
    timer = setTimeout(tell, TELL_EVERY_MS);
    timer.unref();
  };
  return (limit) => {
    closed[limit] += 1;
    if (timer === undefined) tell();
  };
}
