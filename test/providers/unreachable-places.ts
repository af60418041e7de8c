/** Addresses at which no provider answers: for tests of what adapters make of that. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A port of this machine on which nobody listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs something beside a server that takes connections and never says a word, so that no TLS handshake ends. */
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
