/**
 * Ports to which no browser connects, whatever a page requests: the "bad ports" of the Fetch standard
 * (fetch.spec.whatwg.org, "Port blocking") that a program may open without privileges. They are used by servers that
 * must listen on loopback and do not check `Host`: no other setting prevents a page from reaching them by DNS
 * rebinding.
 */
import { StandaloneError } from './standalone-error.ts';
import { tryPort } from './ports.ts';

/** Without those that a machine may use itself: NFS, SIP. */
export const BLOCKED_PORTS: readonly number[] = [
  6665, 6666, 6667, 6668, 6669, 6697, 6566, 6000, 4045, 3659, 1719, 1720, 1723, 10_080,
];

/** Where the next search begins, so that two concurrent searches rarely find the same port. */
let next = process.pid;

/**
 * Such ports that are free now. They are not reserved: use them soon.
 *
 * @throws {StandaloneError} there are not enough.
 */
export async function findBlockedPorts(count: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let tries = 0; tries < BLOCKED_PORTS.length && found.length < count; tries++) {
    next = (next + 1) % BLOCKED_PORTS.length;
    const port = BLOCKED_PORTS[next] ?? 0;
    const isFree = await tryPort(port, '127.0.0.1').then(
      () => true,
      () => false,
    );
    if (isFree) found.push(port);
  }
  if (found.length === count) return found;
  throw new StandaloneError(
    `Temporal's Web UI needs ${count} ports of those that browsers never connect to, and ${found.length} are free: ${BLOCKED_PORTS.join(', ')}. Free some of them.`,
  );
}
