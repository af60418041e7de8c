/**
 * What a Prometheus sees of a real api and a real worker: their families, that they move, and that they stay bounded.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { Server as HttpServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { TASK_QUEUES, taskQueueOf } from '../../src/domain/workflow-ids.ts';
import type { QueueName } from '../../src/domain/workflow-ids.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { everyMetric } from '../telemetry/every-metric.ts';
import { parseExposition, scrape } from '../telemetry/exposition.ts';
import type { Exposition } from '../telemetry/exposition.ts';
import { SDK_METRICS_IN_FILES } from '../telemetry/monitoring.ts';

const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';
const MODEL = 'darkroom/scene';
const BODY = { model: MODEL, input: { prompt: 'a lighthouse at sunset', resolution: '1k' } };

describe('the metrics of a running service', () => {
  let wire: DatabaseWire;
  let darkroom: Darkroom;
  let account: TestAccount;
  let receiver: HttpServer;
  let receiverUrl: string;
  let api: string;
  let worker: string;
  before(async () => {
    wire = await startDatabaseWire(servingUrl());
    receiver = createHttpServer((request, response) => {
      request.resume();
      response.writeHead(request.url === '/gone' ? 410 : 204).end();
    }).listen(0, '127.0.0.1');
    // A failure below must not keep the process alive.
    receiver.unref();
    await once(receiver, 'listening');
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const environment = { ADMIN_TOKEN, ADMIN_PORT: '0', EGRESS_ALLOW: receiverUrl };
    darkroom = await startDarkroom({ hasMetrics: true, databaseServer: wire.url, environment });
    const [apiUrl, workerUrl] = darkroom.metricsUrls;
    assert.ok(apiUrl !== undefined && workerUrl !== undefined);
    [api, worker] = [apiUrl, workerUrl];
    account = await darkroom.createAccount();
  });
  after(async () => {
    wire.repair();
    await darkroom.stop();
    wire.close();
    receiver.closeAllConnections();
    receiver.close();
  });

  async function runTask(more: object = {}): Promise<string> {
    const created = await account.client.create({ ...BODY, ...more });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const { taskId } = created.body.data;
    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    return taskId;
  }

  it('include every family, of the process, of the service and of Temporal, at one endpoint each', async () => {
    await runTask();
    const [ofApi, ofWorker] = [await scrape(api), await scrape(worker)];

    const own = (name: string, of: string) =>
      (of === 'api' ? /^darkroom_(?:http_(?:conn|event)|provider_credential)/ : /^darkroom_worker_/).test(name);
    const families = [...(await everyMetric()).keys()];
    const missing = (seen: Exposition, other: string) =>
      families.filter((name) => !seen.families.has(name) && !own(name, other));
    assert.deepEqual(missing(ofApi, 'worker'), []);
    assert.deepEqual(missing(ofWorker, 'api'), []);
    // The last one requires a failed request to Temporal, and a quiet test may not have any.
    const sdk = new Set(ofWorker.samples.map(({ name }) => name));
    const named = SDK_METRICS_IN_FILES.filter((each) => !each.includes('failure'));
    for (const name of named) assert.ok(sdk.has(name), name);
    assert.ok(ofApi.samples.some(({ name }) => name.startsWith('temporal_request')));
  });

  it('count the requests, stages and end of a task', async () => {
    const before = { api: await scrape(api), worker: await scrape(worker) };
    await runTask();
    const now = { api: await scrape(api), worker: await scrape(worker) };

    const moved = (of: 'api' | 'worker', name: string, labels: Record<string, string>) =>
      (now[of].value(name, labels) ?? 0) - (before[of].value(name, labels) ?? 0);
    const create = { route: '/v1/tasks', method: 'POST' };
    assert.equal(moved('api', 'darkroom_http_requests_total', { ...create, status: '200' }), 1);
    assert.equal(moved('api', 'darkroom_http_request_duration_seconds_count', { ...create, status_class: '2xx' }), 1);
    assert.ok(moved('api', 'darkroom_http_requests_total', { route: '/v1/tasks/{taskId}', method: 'GET' }) >= 1);
    assert.equal(moved('worker', 'darkroom_tasks_settled_total', { model: MODEL, status: 'success' }), 1);
    for (const stage of ['queued', 'handling', 'archiving', 'total']) {
      assert.equal(moved('worker', 'darkroom_task_stage_duration_seconds_count', { model: MODEL, stage }), 1, stage);
    }
    assert.equal(moved('worker', 'darkroom_upstream_requests_total', { upstream: 'embedded', outcome: 'answered' }), 1);
  });

  it('count the results of callbacks and egress', async () => {
    await runTask({ callback: { url: `${receiverUrl}/ok` } });
    await runTask({ callback: { url: `${receiverUrl}/gone` } });
    await waitFor(
      'both are over',
      async () => (await scrape(worker)).value('darkroom_callback_deliveries_total') === 2,
    );
    const seen = await scrape(worker);

    assert.equal(seen.value('darkroom_callback_deliveries_total', { state: 'delivered' }), 1);
    assert.equal(seen.value('darkroom_callback_deliveries_total', { state: 'stopped' }), 1);
    assert.equal(seen.value('darkroom_callback_attempts_total', { outcome: '2xx' }), 1);
    assert.equal(seen.value('darkroom_callback_attempts_total', { outcome: '4xx' }), 1);
    assert.equal(seen.value('darkroom_callback_attempt_duration_seconds_count'), 2);
    assert.equal(seen.value('darkroom_egress_requests_total', { use: 'post', outcome: 'ok' }), 2);
  });

  it('report dependencies up, workers running and nothing held for long', async () => {
    await waitFor('the figures of the quiet service', async () => {
      const seen = await scrape(worker);
      return seen.value('darkroom_tasks_open') === 0 && seen.value('darkroom_outbox_rows') === 0;
    });
    for (const url of [api, worker]) {
      for (const name of ['darkroom_database_up', 'darkroom_store_up', 'darkroom_temporal_up']) {
        await waitFor(`${name} of ${url}`, async () => (await scrape(url)).value(name) === 1);
      }
      const seen = await scrape(url);
      assert.equal(seen.value('darkroom_holds_open_micro_usd'), 0);
      assert.ok((seen.value('darkroom_database_pool_connections') ?? 0) >= 1);
      assert.ok((seen.value('process_resident_memory_bytes') ?? 0) > 0);
    }
    assert.equal((await scrape(worker)).value('darkroom_worker_running'), 6);
  });

  // With more of them a stopping worker loses a task (docs/decisions/0024), and the SDK silently ignores an option
  // for it.
  it('show one poller for activities on each queue', async () => {
    const labels = { poller_type: 'activity_task' };
    for (const name of Object.keys(TASK_QUEUES) as QueueName[]) {
      const queue = taskQueueOf(name, darkroom.installationId);
      const polls = async () => (await scrape(worker)).value('temporal_num_pollers', { ...labels, task_queue: queue });
      // There is none between one poll and the next.
      let seen = 0;
      await waitFor(`the worker polls ${queue}`, async () => {
        seen = (await polls()) ?? 0;
        return seen > 0;
      });
      assert.equal(seen, 1, queue);
    }
  });

  it('put all unknown paths and methods under one route, so that clients cannot create series', async () => {
    const count = async () => (await scrape(api)).samples.filter(({ name }) => name.startsWith('darkroom_')).length;
    await fetch(`${darkroom.url}/nothing`);
    await fetch(`${darkroom.url}/nothing`, { method: 'PUT' });
    await fetch(`${darkroom.url}/v1/tasks/tk-svc-none`);
    const first = await count();
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await fetch(`${darkroom.url}/nothing/${index}?${index}`);
        await fetch(`${darkroom.url}/v1/nothing-${index}`, { method: 'PUT' });
        await fetch(`${darkroom.url}/v1/tasks/tk-svc-${index}`);
      }),
    );

    assert.equal(await count(), first);
    const seen = await scrape(api);
    assert.ok((seen.value('darkroom_http_requests_total', { route: 'unmatched', status: '404' }) ?? 0) >= 100);
    const routes = new Set(seen.samples.flatMap(({ labels }) => labels['route'] ?? []));
    for (const route of routes) assert.match(route, /^unmatched$|^\/[\w/{}.-]*$/);
    assert.ok(![...routes].some((route) => route.includes('tk-svc')));
  });

  it('count text calls, their tokens and requests that are rejected', async () => {
    const models = (await account.client.send('GET', '/v1/models')).body as unknown as {
      data: { id: string; modality: string }[];
    };
    const model = models.data.find(({ modality }) => modality === 'text')?.id ?? assert.fail('there is no text model');
    const ask = { model, messages: [{ role: 'user', content: 'What is 2 + 2?' }] };
    assert.equal((await account.client.send('POST', '/v1/chat/completions', ask)).status, 200);
    const { port } = new URL(darkroom.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end('garbage\r\n\r\n');
    socket.resume();
    await once(socket, 'close');

    const seen = await scrape(api);
    assert.equal(seen.value('darkroom_text_calls_total', { model, outcome: 'answered' }), 1);
    assert.ok((seen.value('darkroom_text_tokens_total', { model, direction: 'input' }) ?? 0) > 0);
    assert.ok((seen.value('darkroom_text_tokens_total', { model, direction: 'output' }) ?? 0) > 0);
    assert.equal(seen.value('darkroom_text_first_byte_seconds_count', { model }), 1);
    assert.equal(seen.value('darkroom_text_streams_open'), 0);
    assert.equal(seen.value('darkroom_http_broken_requests_total'), 1);
  });

  it('name no account, key, task or URL', async () => {
    const taskId = await runTask();
    for (const url of [api, worker]) {
      const text = await (await fetch(`${url}/metrics`)).text();
      for (const secret of [
        account.id,
        account.keyId,
        account.client.key,
        taskId,
        'lighthouse',
        darkroom.testDatabase.url,
      ]) {
        assert.ok(!text.includes(secret), secret);
      }
    }
  });

  it('are served while the database is down, report that, and recover with it', async () => {
    wire.cut();
    for (const url of [api, worker]) {
      await waitFor(
        'the database is seen to be away',
        async () => (await scrape(url)).value('darkroom_database_up') === 0,
      );
      const seen = await scrape(url);
      await waitFor('Temporal is still there', async () => (await scrape(url)).value('darkroom_temporal_up') === 1);
      assert.equal(seen.families.has('darkroom_http_requests_total'), true);
      // An unknown value is not exported.
      await waitFor('old figures go', async () => (await scrape(url)).value('darkroom_tasks_open') === undefined);
    }
    const probe = await fetch(`${worker}/readyz`);
    assert.equal(probe.status, 503);
    assert.equal(((await probe.json()) as { database: boolean }).database, false);
    assert.equal((await fetch(`${worker}/healthz`)).status, 200);

    wire.repair();
    await waitFor('the database is seen again', async () => (await scrape(worker)).value('darkroom_database_up') === 1);
    await waitFor('the worker is ready', async () => (await fetch(`${worker}/readyz`)).status === 200);
    await waitFor('figures are back', async () => (await scrape(worker)).value('darkroom_tasks_open') === 0);
    await runTask();
  });

  // Proves C0-6.
  it('are served by the api to operators, and only with their token', async () => {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const log = await readFile(darkroom.logFile, 'utf8');
    const adminUrl = /"url":"([^"]+)","msg":"admin listener started"/.exec(log)?.[1];
    const response = await fetch(`${adminUrl}/metrics`, { headers });
    const seen = parseExposition(await response.text());

    assert.equal(response.status, 200);
    assert.equal(seen.families.get('darkroom_database_up'), 'gauge');
    assert.ok(seen.families.has('nodejs_eventloop_lag_p99_seconds'));
    assert.equal((await fetch(`${adminUrl}/metrics`)).status, 401);
    assert.equal((await fetch(`${darkroom.url}/metrics`)).status, 404);
  });

  it('report a worker as not ready from the moment it drains', async () => {
    const ready = () => fetch(`${worker}/readyz`).then(({ status }) => status);
    assert.equal(await ready(), 200);
    const [role] = darkroom.workers;
    const ended = role?.kill('SIGTERM');
    const seen: (number | 'gone')[] = [];
    while (seen.at(-1) !== 'gone') seen.push(await ready().catch(() => 'gone' as const));
    await ended;

    const firstBad = seen.findIndex((status) => status !== 200);
    assert.ok(seen.includes(503), JSON.stringify(seen));
    assert.ok(!seen.slice(firstBad).includes(200));
    await role?.start();
    await waitFor('it is ready again', async () => (await ready().catch(() => 0)) === 200);
  });
});
