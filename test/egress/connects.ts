/**
 * Watches where this process connects to, at the last place before the operating system. What a test may reach passes;
 * anything else is written down and fails as if nobody listened there, so that public addresses are seen to be gone to
 * without a packet leaving the machine.
 */
import { Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** One attempt to connect. */
export interface Connect {
  readonly host: string;
  readonly port: number;
}

/**
 * Until the test is over, nothing but these ports of the loopback is connected to.
 *
 * @returns what else was tried, in order.
 */
export function watchConnects(test: TestContext, reachablePorts: readonly number[] = []): readonly Connect[] {
  const tried: Connect[] = [];
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function watched(this: Socket, ...args: unknown[]): Socket {
    const [first] = args;
    // `net.connect` hands over its arguments as one array that it has put in order.
    const [options] = (Array.isArray(first) ? first : args) as [Partial<Connect>];
    const host = options.host ?? 'localhost';
    const port = Number(options.port);
    if (host === '127.0.0.1' && reachablePorts.includes(port)) return Reflect.apply(connect, this, args) as Socket;
    tried.push({ host, port });
    setImmediate(() => this.destroy(Object.assign(new Error('nobody listens there'), { code: 'ECONNREFUSED' })));
    return this;
  };
  test.after(() => {
    Socket.prototype.connect = connect;
  });
  return tried;
}
