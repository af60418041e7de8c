/**
 * Credentials that Temporal rejects before there is a connection, as it does once they are revoked: processes log it
 * at once, count it for the alert, and show the backlog; everything continues by itself when they are accepted.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { startForbiddingProxy } from '../support/forbidding-proxy.ts';
import type { ForbiddingProxy } from '../support/forbidding-proxy.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { scrape } from '../telemetry/exposition.ts';

let proxy: ForbiddingProxy;
let darkroom: Darkroom;
before(async () => {
  proxy = await startForbiddingProxy(temporalAddress());
  darkroom = await startDarkroom({ hasMetrics: true });
});
after(async () => {
  await darkroom.stop();
  proxy.close();
});

it('is logged as an error and counted, beside the tasks that wait, until the credentials are accepted', async () => {
  proxy.forbid('GetSystemInfo');
  for (const role of [...darkroom.apis, ...darkroom.workers]) await role.kill('SIGTERM');
  for (const api of darkroom.apis) await api.start({ TEMPORAL_ADDRESS: proxy.address });
  const [api = ''] = darkroom.metricsUrls;
  const account = await darkroom.createAccount();

  const { body } = await account.client.create({
    model: 'darkroom/scene',
    input: { prompt: 'a mill', resolution: '1k' },
  });

  await waitFor('the alerts have what they go by', async () => {
    const seen = await scrape(api);
    const rejected = seen.value('darkroom_outbox_refused_total', { kind: 'connection' }) ?? 0;
    const age = seen.value('darkroom_outbox_oldest_age_seconds', { kind: 'start_task' }) ?? 0;
    return rejected > 0 && age > 0;
  });
  const seen = await scrape(api);
  assert.equal(seen.value('darkroom_outbox_rows', { kind: 'start_task' }), 1);
  assert.equal(seen.value('darkroom_temporal_up'), 0);
  const errors = (await readFile(darkroom.logFile, 'utf8')).split('\n').filter((line) => line.includes('"level":50'));
  assert.equal(errors.length, 1, errors.join('\n'));
  assert.match(errors[0] ?? '', /"reason":"permission_denied".*tasks are accepted and wait.* rejects our credentials/);

  const starting = darkroom.workers.map((role) => role.start({ TEMPORAL_ADDRESS: proxy.address }));
  await waitFor('the worker says so too', async () =>
    /the worker waits for Temporal: .* rejects our credentials/.test(await readFile(darkroom.logFile, 'utf8')),
  );
  proxy.forbid();
  await Promise.all(starting);
  assert.equal((await account.client.waitForTerminal(body.data.taskId)).status, 'success');
});
