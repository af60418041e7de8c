/** Addresses where no provider responds: for tests of how adapters handle that. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A port of this machine on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Runs work alongside a server that accepts connections and never sends anything, so that no TLS handshake completes.
 */
export async function withSilentServer(
  work: (port: number, connected: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work((server.address() as AddressInfo).port, once(server, 'connection'));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}
