/** The way to PostgreSQL, which a test can cut. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface DatabaseWire {
  /** The server by way of the wire. */
  readonly url: string;
  cut(): void;
  mend(): void;
  close(): void;
}

/** @param server the URL of the real one. */
export async function startDatabaseWire(server: string): Promise<DatabaseWire> {
  const target = new URL(server);
  const open = new Set<Socket>();
  let isCut = false;
  const wire: Server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        open.delete(socket);
        (socket === near ? far : near).destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
  });
  wire.listen(0, '127.0.0.1').unref();
  await once(wire, 'listening');
  const url = new URL(server);
  url.hostname = '127.0.0.1';
  url.port = String((wire.address() as AddressInfo).port);
  return {
    url: url.href,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    close() {
      wire.close();
      for (const socket of open) socket.destroy();
    },
  };
}
