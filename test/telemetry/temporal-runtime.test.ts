/** The metrics of Temporal's SDK: read with ours, and not an obstacle to a connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, it } from 'node:test';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { checkTemporal, connectTemporal } from '../../src/temporal/connection.ts';
import { installTemporalRuntime, temporalLogger } from '../../src/temporal/runtime.ts';
import { temporalAddress } from '../support/test-namespace.ts';

const HERE = { address: temporalAddress(), namespace: 'default', apiKey: undefined, tls: undefined };
const UNREACHABLE = { ...HERE, address: '127.0.0.1:1' };

/** The URLs that were requested, the last one last. */
const asked: URL[] = [];
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  asked.push(new URL(input instanceof Request ? input.url : input));
  return fetch(input, init);
};
after(() => {
  globalThis.fetch = fetch;
});

it('reports the cause in an error line of the SDK', () => {
  const lines: unknown[] = [];
  const logger = { ...silentLogger(), error: (...line: unknown[]) => lines.push(line) } as unknown as Logger;
  const failed = new Error('the grace time is over');
  temporalLogger(logger).error('Worker failed', { error: failed, taskQueue: 'media' });
  temporalLogger(logger).error('No cause');

  assert.deepEqual(lines, [
    [{ temporal: { taskQueue: 'media' }, err: failed }, 'Worker failed'],
    [{ temporal: {} }, 'No cause'],
  ]);
});

it('gives the SDK another port when its own was taken while it was disconnected', async () => {
  const runtime = await installTemporalRuntime(silentLogger(), true);
  const rejection = await connectTemporal(UNREACHABLE).catch((error: unknown) => error);
  assert.ok(rejection instanceof Error);
  await runtime.recover(rejection);
  assert.equal(await runtime.readMetrics(), '');
  const first = Number(asked.at(-1)?.port);
  assert.ok(first > 0);

  const squatter = createServer().listen(first, '127.0.0.1');
  await once(squatter, 'listening');
  const unable = await connectTemporal(HERE).catch((error: unknown) => error);
  assert.match(String(unable), /prometheus metrics exporter/);
  await runtime.recover(unable);
  const connection = await connectTemporal(HERE);
  squatter.close();

  await checkTemporal(connection);
  assert.match(await runtime.readMetrics(), /^temporal_request_total\{/m);
  assert.notEqual(Number(asked.at(-1)?.port), first);
  // If the error is reported again while all is well, it leaves the connection unchanged.
  await runtime.recover(unable);
  await checkTemporal(connection);
  assert.match(await runtime.readMetrics(), /^temporal_request_total\{/m);
  await connection.close();
});
