/**
 * Ports of the standalone installation: a free one if the number does not matter, and a clear error if a wanted one is
 * taken.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { StandaloneError } from './standalone-error.ts';

const LOOPBACK = '127.0.0.1';

/**
 * The range for free ports: below those that systems assign to outgoing connections (from 32768 on Linux, from 49152
 * elsewhere). Otherwise one of these could take the port of a server that is down for a moment. The ports between are
 * those of the tests (test/support/reserve-port.ts).
 */
const LOWEST_FREE_PORT = 20_000;
export const ABOVE_FREE_PORTS = 26_000;
/** More than this many taken ports in a row are no coincidence: then the system picks one. */
const MOST_TRIES = 100;

/** Each port is returned only once: the caller that received it may be about to use it. */
const given = new Set<number>();

/** A port that is free now and was not returned to another caller in this process. It is not reserved: use it soon. */
export async function findFreePort(host = LOOPBACK): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = randomInt(LOWEST_FREE_PORT, ABOVE_FREE_PORTS);
    if (given.has(port)) continue;
    given.add(port);
    try {
      return await tryPort(port, host);
    } catch (error) {
      if (errorCodeOf(error) !== 'EADDRINUSE') throw error;
    }
  }
  return tryPort(0, host);
}

/**
 * Checks a wanted port, or picks a free one for 0.
 *
 * @param purpose what listens there, in the user's terms: "the API".
 * @param variable the environment variable that changes it.
 * @throws {StandaloneError} the port is taken or not allowed.
 */
export async function claimPort(wanted: number, purpose: string, variable: string, host = LOOPBACK): Promise<number> {
  try {
    return wanted === 0 ? await findFreePort(host) : await tryPort(wanted, host);
  } catch (error) {
    const code = errorCodeOf(error);
    const problem =
      code === 'EADDRINUSE'
        ? 'is in use by another program'
        : code === 'EACCES'
          ? 'may not be used by this user'
          : `cannot be used on ${host} (${code ?? String(error)})`;
    throw new StandaloneError(
      `port ${wanted}, for ${purpose}, ${problem}. Set ${variable} to another port (0 picks a free one).`,
      { cause: error },
    );
  }
}

/** Whether a port can be listened on; 0: any. @returns the port. */
export async function tryPort(port: number, host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const found = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => resolve(found));
    });
  });
}

/**
 * Ports to which no browser connects, whatever a page requests: the "bad ports" of the Fetch standard
 * (fetch.spec.whatwg.org, "Port blocking") that a program may open without privileges, without those that a machine may
 * use itself: NFS, SIP. They are used by servers that must listen on loopback and do not check `Host`: no other setting
 * prevents a page from reaching them by DNS rebinding.
 */
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
