/** An api whose Temporal has lost the namespace: it accepts tasks, says what is missing, and stops in order. */
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

it('goes on accepting tasks, logs what is missing, and ends with 0 at SIGTERM', async () => {
  const [api = assert.fail()] = darkroom.apis;
  const { client } = await darkroom.createAccount();
  await darkroom.temporal.connection.operatorService.deleteNamespace({ namespace: darkroom.namespace });

  // The server goes on using a deleted namespace until its caches have forgotten it.
  await waitFor('a delivery is rejected', async () => {
    const created = await client.create({ model: 'darkroom/scene', input: { prompt: 'a mill', resolution: '1k' } });
    assert.equal(created.status, 200);
    return /"msg":"Temporal rejects outbox deliveries/.test(await readFile(darkroom.logFile, 'utf8'));
  });

  assert.equal(await api.kill('SIGTERM'), 0);
  const log = await readFile(darkroom.logFile, 'utf8');
  assert.doesNotMatch(log, /\n {4}at /, 'a stack beside the log');
});
