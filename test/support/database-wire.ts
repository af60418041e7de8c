/** A connection to PostgreSQL that a test can cut, stall, or deprive of a response. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { addPooler, directServer } from './pooled-run.ts';

export interface DatabaseWire {
  /** The server's URL through the wire. */
  readonly url: string;
  cut(): void;
  /** Cuts all connections as soon as a statement of this name is sent. @returns when that has happened. */
  cutAt(statementName: string): Promise<void>;
  repair(): void;
  /**
   * Holds every query and response until `resume`. Connections are still established: a server whose disk stalls
   * accepts them, and a client that connects then waits longer than if it did not.
   */
  stall(): void;
  resume(): void;
  /**
   * Cuts the one connection that sends the next statement of this name, when the server has responded to it.
   *
   * @returns when that has happened.
   */
  loseAnswer(statementName: string): Promise<void>;
  close(): void;
}

/** One direction of a connection. */
interface Way {
  readonly from: Socket;
  readonly to: Socket;
  /** Forwards the bytes instead of a pipe, for a connection that is established during a stall. */
  readonly passSignIn?: (bytes: Buffer) => void;
}

/** The first byte of what a client sends until it is authenticated: the length of its startup message, or `p`. */
const OF_SIGN_IN = new Set([0x00, 0x70]);

/** Forwards what establishes a connection, and holds the rest. */
function startSignIn(from: Socket, to: Socket): Way {
  const passSignIn = (bytes: Buffer): void => {
    if (OF_SIGN_IN.has(bytes[0] ?? 0)) to.write(bytes);
    else from.off('data', passSignIn).pause().unshift(bytes);
  };
  from.on('data', passSignIn);
  return { from, to, passSignIn };
}

function startPipe(from: Socket, to: Socket): Way {
  from.pipe(to);
  return { from, to };
}

/** @param server the URL of the real server. */
export async function startDatabaseWire(server: string): Promise<DatabaseWire> {
  const target = new URL(server);
  const open = new Set<Socket>();
  const ways = new Set<Way>();
  let isCut = false;
  let isStalled = false;
  let cutting: { readonly name: string; readonly onCut: () => void } | undefined;
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  let losing: { readonly name: string; readonly onLost: () => void } | undefined;
  const wire: Server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    for (const way of [isStalled ? startSignIn(near, far) : startPipe(near, far), startPipe(far, near)]) {
      const { from, to } = way;
      open.add(from);
      ways.add(way);
      from.on('error', () => undefined);
      from.once('close', () => {
        open.delete(from);
        ways.delete(way);
        to.destroy();
      });
    }
    near.on('data', (chunk: Buffer) => {
      if (cutting !== undefined && chunk.includes(cutting.name)) {
        const { onCut } = cutting;
        cutting = undefined;
        cut();
        onCut();
      }
      if (losing === undefined || !chunk.includes(losing.name)) return;
      const { onLost } = losing;
      losing = undefined;
      far.unpipe(near);
      far.once('data', () => {
        near.destroy();
        onLost();
      });
      far.resume();
    });
  });
  wire.listen(0, '127.0.0.1').unref();
  await once(wire, 'listening');
  const url = new URL(server);
  url.hostname = '127.0.0.1';
  url.port = String((wire.address() as AddressInfo).port);
  if (directServer(server) !== server) addPooler(url.href, server);
  return {
    url: url.href,
    cut,
    cutAt: (name) =>
      new Promise((onCut) => {
        cutting = { name, onCut };
      }),
    repair() {
      isCut = false;
    },
    stall() {
      isStalled = true;
      for (const { from, to } of ways) from.unpipe(to).pause();
    },
    resume() {
      isStalled = false;
      for (const { from, to, passSignIn } of ways) {
        if (passSignIn !== undefined) from.off('data', passSignIn);
        from.unpipe(to).pipe(to);
      }
    },
    loseAnswer: (name) =>
      new Promise((onLost) => {
        losing = { name, onLost };
      }),
    close() {
      wire.close();
      for (const socket of open) socket.destroy();
    },
  };
}
