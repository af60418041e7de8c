/**
 * Ports of the embedded installation: a free one where nobody cares, and a clear word where a wanted one is taken.
 */
import { createServer } from 'node:net';
import { EmbeddedError, systemCode } from './embedded-error.ts';

const LOOPBACK = '127.0.0.1';

/** A port that is free now. Nothing keeps it free: use it at once. */
export async function findFreePort(): Promise<number> {
  return tryPort(0, LOOPBACK);
}

/**
 * Checks a wanted port, or picks a free one for 0.
 *
 * @param purpose what listens there, as the user knows it: "the API".
 * @param variable the environment variable that changes it.
 * @throws {EmbeddedError} the port is taken or not allowed.
 */
export async function claimPort(wanted: number, purpose: string, variable: string, host = LOOPBACK): Promise<number> {
  try {
    return await tryPort(wanted, host);
  } catch (error) {
    const code = systemCode(error);
    const problem =
      code === 'EADDRINUSE'
        ? 'is in use by another program'
        : code === 'EACCES'
          ? 'may not be used by this user'
          : `cannot be used on ${host} (${code === '' ? String(error) : code})`;
    throw new EmbeddedError(
      `port ${wanted}, for ${purpose}, ${problem}. Set ${variable} to another port (0 picks a free one).`,
      { cause: error },
    );
  }
}

async function tryPort(port: number, host: string): Promise<number> {
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
