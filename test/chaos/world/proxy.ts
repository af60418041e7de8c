/**
 * A link between two parts of the world that can be made faulty: a TCP proxy on the loopback. It counts what each
 * kind of fault affected, because a fault that affected nothing proves nothing.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinkFault } from '../schedule.ts';

/** `full`: HTTP requests are answered with the error that there is no space left. */
export type LinkState = 'pass' | LinkFault | 'full';

/** How a faulty link affected those who used it. */
export interface LinkTally {
  /** Connections that existed or were attempted during the fault. */
  connections: number;
  /** Bytes that arrived late or never. */
  bytes: number;
}

export interface Link {
  readonly port: number;
  /** Sets the state from now on. @returns what the previous state affected. */
  set(state: LinkState): LinkTally;
  /** What the current state has affected so far. */
  readonly met: LinkTally;
  close(): Promise<void>;
}

const LATENCY_MS = 400;
const BYTES_PER_SECOND = 20_000;
/** A connection that lost bytes is dead; its ends notice when they use it, or this much after the link is restored. */
const DEAD_FOR_MS = 5_000;

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  hasLostBytes: boolean;
}

/** @param targetPort of the real part, on the loopback. @param port to listen on; 0 takes any free one. */
export async function openLink(targetPort: number, port = 0): Promise<Link> {
  const pairs = new Set<Pair>();
  /** Clients that were accepted only to receive the error that there is no space. */
  const refused = new Set<Socket>();
  let state: LinkState = 'pass';
  let tally: LinkTally = { connections: 0, bytes: 0 };
  let closing = Promise.resolve();

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => undefined);
    if (state !== 'pass') tally.connections += 1;
    if (state === 'reset') {
      client.resetAndDestroy();
      return;
    }
    if (state === 'full') {
      refused.add(client);
      client.once('close', () => refused.delete(client));
      answerFull(client);
      return;
    }
    const pair: Pair = {
      client,
      server: connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true }),
      hasLostBytes: false,
    };
    pairs.add(pair);
    join(pair);
  });
  // Both ends are closed together: a remaining one would wait forever.
  const drop = (pair: Pair): void => {
    pairs.delete(pair);
    for (const socket of [pair.client, pair.server]) if (!socket.destroyed) socket.resetAndDestroy();
  };
  const join = (pair: Pair): void => {
    for (const socket of [pair.client, pair.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => drop(pair));
      socket.on('close', (hadError) => {
        if (hadError || pair.client.destroyed || pair.server.destroyed) {
          if (pair.client.destroyed && pair.server.destroyed) pairs.delete(pair);
          else if (hadError) drop(pair);
        }
      });
    }
    pump(pair, pair.client, pair.server);
    pump(pair, pair.server, pair.client);
    pair.client.resume();
  };
  const pump = (pair: Pair, from: Socket, to: Socket): void => {
    from.on('data', (chunk: Buffer) => {
      from.pause();
      void forward(pair, to, chunk).then(() => from.resume());
    });
    from.on('end', () => {
      if (state === 'half-open') pair.hasLostBytes = true;
      else to.end();
    });
  };
  const forward = async (pair: Pair, to: Socket, chunk: Buffer): Promise<void> => {
    if (state === 'half-open') {
      pair.hasLostBytes = true;
      tally.bytes += chunk.length;
      return;
    }
    if (pair.hasLostBytes) {
      drop(pair);
      return;
    }
    if (state === 'latency' || state === 'bandwidth') {
      tally.bytes += chunk.length;
      await sleep(state === 'latency' ? LATENCY_MS : (chunk.length / BYTES_PER_SECOND) * 1000);
    }
    if (to.writable && !to.write(chunk))
      await Promise.race([once(to, 'drain'), once(to, 'close')]).catch(() => undefined);
  };

  await listen(server, port);
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    port: ownPort,
    set(next) {
      const met = tally;
      const before = state;
      state = next;
      tally = { connections: next === 'pass' ? 0 : pairs.size, bytes: 0 };
      if (next === 'reset' || next === 'refuse' || next === 'full') for (const pair of pairs) drop(pair);
      // A server closes only when no client is connected.
      if (next === 'refuse') for (const client of refused) client.destroy();
      if (next === 'refuse') closing = closed(server);
      if (before === 'refuse' && next !== 'refuse') closing = closing.then(() => listen(server, ownPort));
      if (before === 'half-open') {
        const dead = [...pairs].filter(({ hasLostBytes }) => hasLostBytes);
        setTimeout(() => dead.forEach(drop), DEAD_FOR_MS).unref();
      }
      return met;
    },
    get met() {
      return tally;
    },
    async close() {
      await closing;
      for (const pair of pairs) drop(pair);
      for (const client of refused) client.destroy();
      if (server.listening) await closed(server);
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function closed(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

const FULL = '<?xml version="1.0"?><Error><Code>XMinioStorageFull</Code><Message>no space left</Message></Error>';

/** Answers any request, once its head has arrived. */
function answerFull(client: Socket): void {
  client.once('data', () => {
    client.end(
      `HTTP/1.1 507 Insufficient Storage\r\nContent-Type: application/xml\r\nContent-Length: ${FULL.length}\r\nConnection: close\r\n\r\n${FULL}`,
    );
  });
  // A client that disconnects without a request.
  client.once('end', () => client.end());
  client.resume();
}
