/** An api whose Temporal has lost the namespace, and every worker that it starts with it: it serves, and stops in order. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

let darkroom: Darkroom;
before(async () => {
  darkroom = await startDarkroom({ workers: 0 });
});
after(() => darkroom.stop());

it('goes on serving, replaces its workers, and ends with 0 at SIGTERM', async () => {
  const [api = assert.fail()] = darkroom.apis;
  const { client } = await darkroom.createAccount();
  await darkroom.temporal.connection.operatorService.deleteNamespace({ namespace: darkroom.namespace });

  // The SDK gives up after a minute or two.
  await waitFor('both of its workers have failed', async () => {
    const log = await readFile(darkroom.logFile, 'utf8');
    return (
      /"queue":"batches","msg":"a worker of this api failed/.test(log) &&
      /"queue":"background","msg":"a worker of this api failed/.test(log)
    );
  });
  const created = await client.create({ model: 'darkroom/scene', input: { prompt: 'a mill', resolution: '1k' } });
  assert.equal(created.status, 200);

  assert.equal(await api.kill('SIGTERM'), 0);
  const log = await readFile(darkroom.logFile, 'utf8');
  assert.doesNotMatch(log, /\n {4}at /, 'a stack beside the log');
});
