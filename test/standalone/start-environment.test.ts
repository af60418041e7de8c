/**
 * `npm start` with what its environment names: a proxy that accepts every connection and never responds, and a port
 * for metrics.
 */
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { claimPort } from '../../src/standalone/ports.ts';
import { reservePort } from '../support/reserve-port.ts';
import { supervise, temporaryDirectory } from './fixtures/supervised.ts';
import type { Supervised } from './fixtures/supervised.ts';

/** A free port with a free one after it. */
async function findTwoFreePorts(): Promise<number> {
  for (;;) {
    const port = await reservePort();
    const next = port === 65_535 ? undefined : await claimPort(port + 1, 'a test', 'none').catch(() => undefined);
    if (next !== undefined) return port;
  }
}

describe('npm start', () => {
  const taken: Socket[] = [];
  const proxy = createServer((socket) => taken.push(socket.on('error', () => undefined)));
  let directory: string;
  let dataDir: string;
  let metricsPort: number;
  let running: Supervised;
  before(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    directory = await temporaryDirectory();
    dataDir = path.join(directory, 'data');
    metricsPort = await findTwoFreePorts();
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const names = ['http_proxy', 'https_proxy', 'all_proxy', 'grpc_proxy'];
    running = supervise(dataDir, {
      METRICS_PORT: String(metricsPort),
      ...Object.fromEntries(
        names.flatMap((name) => [[name, address] as const, [name.toUpperCase(), address] as const]),
      ),
    });
    await running.printed('Stop:  ');
  });
  after(async () => {
    await running.stop();
    for (const socket of taken) socket.destroy();
    proxy.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('becomes ready behind a proxy that never responds, and sends it no request', () => {
    assert.equal(taken.length, 0);
  });

  it(
    'gives METRICS_PORT to the api, and the next port to the worker',
    { skip: process.platform !== 'linux' },
    async () => {
      const record = JSON.parse(await readFile(path.join(dataDir, 'processes.json'), 'utf8')) as Record<
        'api' | 'worker',
        { pid: number }
      >;
      const portOf = async ({ pid }: { pid: number }) =>
        /(?:^|\0)METRICS_PORT=(\d+)/.exec(await readFile(`/proc/${pid}/environ`, 'utf8'))?.[1];

      assert.equal(await portOf(record.api), String(metricsPort));
      assert.equal(await portOf(record.worker), String(metricsPort + 1));
    },
  );
});
