/**
 * Watches the connections of this process, at the last point before the operating system. Addresses that a test may
 * reach pass; any other is recorded and fails as if nothing listened there, so that connections to public addresses
 * are observed without a packet leaving the machine.
 */
import { Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** One attempt to connect. */
export interface Connect {
  readonly host: string;
  readonly port: number;
}

/** What a test restores: it may watch twice, and its hooks run in the order in which they were added. */
const { connect: connectOfNode } = Socket.prototype;

/**
 * Until the test is over, only connections to these ports of the loopback are made.
 *
 * @returns the other attempts, in order.
 */
export function watchConnects(test: TestContext, reachablePorts: readonly number[] = []): readonly Connect[] {
  const tried: Connect[] = [];
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function watched(this: Socket, ...args: unknown[]): Socket {
    const [first] = args;
    // `net.connect` passes on its arguments as one normalized array.
    const [options] = (Array.isArray(first) ? first : args) as [Partial<Connect>];
    const host = options.host ?? 'localhost';
    const port = Number(options.port);
    if (host === '127.0.0.1' && reachablePorts.includes(port)) return Reflect.apply(connect, this, args) as Socket;
    tried.push({ host, port });
    setImmediate(() => this.destroy(Object.assign(new Error('nothing listens there'), { code: 'ECONNREFUSED' })));
    return this;
  };
  test.after(() => {
    Socket.prototype.connect = connectOfNode;
  });
  return tried;
}
