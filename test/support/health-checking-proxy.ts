/**
 * A minimal load balancer: it requests `/readyz` from each upstream five times a second, distributes requests in turn
 * over the upstreams that have not failed several checks in a row, on keep-alive connections, and retries nothing. It
 * logs every request that an upstream does not answer completely: for its client that request failed.
 */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const CHECK_EVERY_MS = 200;
/** A check that is not answered for this long has failed. */
const CHECK_TIMEOUT_MS = 30_000;
/** This many checks in a row, like the default of balancers: a single failed one on a busy machine means little. */
const FAILED_CHECKS = 3;

export interface HealthCheckingProxy {
  readonly url: string;
  /** One line for each request that an upstream did not answer completely. */
  readonly failures: readonly string[];
  /** How many requests each upstream received. */
  readonly sent: readonly number[];
  isReady(index: number): boolean;
  close(): Promise<void>;
}

export async function startHealthCheckingProxy(upstreams: readonly string[]): Promise<HealthCheckingProxy> {
  const targets = upstreams.map((url) => {
    const { hostname, port } = new URL(url);
    return { hostname, port, agent: new Agent({ keepAlive: true }), isReady: false, failedChecks: 0, sent: 0 };
  });
  const failures: string[] = [];
  let next = 0;

  const check = async (target: (typeof targets)[number]): Promise<void> => {
    const url = `http://${target.hostname}:${target.port}/readyz`;
    const response = await fetch(url, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).catch(() => undefined);
    await response?.body?.cancel();
    target.failedChecks = response?.status === 200 ? 0 : target.failedChecks + 1;
    if (target.failedChecks === 0) target.isReady = true;
    if (target.failedChecks >= FAILED_CHECKS) target.isReady = false;
  };
  let isClosed = false;
  const watch = async (target: (typeof targets)[number]): Promise<void> => {
    while (!isClosed) {
      await check(target);
      await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS));
    }
  };
  const watching = targets.map(watch);

  const server = createServer((incoming, outgoing) => {
    const ready = targets.filter(({ isReady }) => isReady);
    const target = ready[next++ % ready.length];
    const what = `${incoming.method} ${incoming.url}`;
    if (target === undefined) {
      failures.push(`${what}: no upstream is ready`);
      outgoing.writeHead(502).end();
      return;
    }
    target.sent += 1;
    const { hostname, port, agent } = target;
    const { connection: _hop, ...headers } = incoming.headers;
    const forwarded = request(
      { hostname, port, agent, method: incoming.method, path: incoming.url, headers },
      (answer) => {
        const { connection: _hop, 'keep-alive': _alive, ...answered } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, answered);
        answer.pipe(outgoing);
        answer.once('close', () => {
          if (answer.complete) return;
          failures.push(`${what}: broken off by ${port}`);
          outgoing.destroy();
        });
      },
    );
    forwarded.on('error', (error: NodeJS.ErrnoException) => {
      failures.push(`${what}: ${error.code ?? error.message} of ${port}`);
      outgoing.destroy();
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    get sent() {
      return targets.map(({ sent }) => sent);
    },
    isReady: (index) => targets[index]?.isReady === true,
    async close() {
      isClosed = true;
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all([closed, ...watching]);
      for (const { agent } of targets) agent.destroy();
    },
  };
}
