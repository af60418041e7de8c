/** The instruments: their names, and that outside parties cannot influence the number of series. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { everyMetric } from './every-metric.ts';
import { parseExposition } from './exposition.ts';
import type { Exposition } from './exposition.ts';

async function read(metrics: ReturnType<typeof createMetrics>): Promise<Exposition> {
  return parseExposition(await metrics.registry.metrics());
}

describe('the metrics of a process', () => {
  it('follow the naming rules of Prometheus', async () => {
    const ours = [...(await everyMetric())].filter(([name]) => !/^(?:nodejs|process)_/.test(name));
    assert.ok(ours.length > 30);
    for (const [name, type] of ours) {
      assert.match(name, /^darkroom_[a-z_]+$/);
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      if (type === 'histogram') assert.match(name, /_seconds$/);
    }
  });

  it('of two registries in one program are independent', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.tasks.repaired('restarted');

    assert.equal((await read(one)).value('darkroom_repairs_total', { kind: 'restarted' }), 1);
    assert.equal((await read(other)).value('darkroom_repairs_total', { kind: 'restarted' }), 0);
  });

  it('begin at zero when the label values are known, so that a first event is an increase', async () => {
    const first = await read(createMetrics());

    assert.equal(first.value('darkroom_callback_attempts_total', { outcome: '5xx' }), 0);
    assert.equal(first.value('darkroom_callback_deliveries_total', { state: 'exhausted' }), 0);
    assert.equal(first.value('darkroom_repairs_total', { kind: 'callback' }), 0);
    assert.equal(first.value('darkroom_egress_requests_total', { use: 'post', outcome: 'blocked' }), 0);
  });

  it('state what is wrong only as long as it is', async () => {
    const metrics = createMetrics();
    const rejects = async (kind: string) => (await read(metrics)).value('darkroom_temporal_rejects', { kind });
    assert.equal(await rejects('start_task'), 0);
    metrics.outbox.rejected('start_task');
    metrics.outbox.connectionRejected();
    assert.deepEqual([await rejects('start_task'), await rejects('connection')], [1, 1]);
    metrics.outbox.delivered('start_task');
    metrics.outbox.connected();
    assert.deepEqual([await rejects('start_task'), await rejects('connection')], [0, 0]);
    assert.equal((await read(metrics)).value('darkroom_outbox_refused_total', { kind: 'start_task' }), 1);
  });

  it('name each bad model file and the position in it, up to a number of files', async () => {
    const metrics = createMetrics();
    const rejected = async (labels: Record<string, string>): Promise<number | undefined> =>
      (await read(metrics)).value('darkroom_model_files_rejected', labels);
    metrics.passes.modelFilesRejected([
      { file: 'a.json', member: 'pricing.usd' },
      { file: 'a.json', member: 'created' },
      { file: 'b.json', member: undefined },
    ]);
    assert.equal(await rejected({ file: 'a.json', member: 'pricing.usd' }), 2);
    assert.equal(await rejected({ file: 'b.json', member: '' }), 1);

    metrics.passes.modelFilesRejected([]);
    assert.equal(await rejected({ file: 'a.json', member: 'pricing.usd' }), undefined);

    metrics.passes.modelFilesRejected(Array.from({ length: 50 }, (_, index) => ({ file: `${index}`, member: 'name' })));
    assert.equal(await rejected({ file: '19', member: 'name' }), 1);
    assert.equal(await rejected({ file: '20', member: 'name' }), undefined);
    assert.equal(await rejected({ file: 'others', member: '' }), 30);
  });

  it('name routes as the reference does, and group unknown methods', async () => {
    const metrics = createMetrics();
    metrics.requests.begun();
    metrics.requests.ended('/v1/tasks/:taskId/events', 'GET', 200, 0.01);
    for (const method of ['PROPFIND', 'MKCOL', 'PURGE']) {
      metrics.requests.begun();
      metrics.requests.ended('/v1/models/*modelName', method, 404, 0.01);
    }
    const seen = await read(metrics);

    const task = { route: '/v1/tasks/{taskId}/events', method: 'GET' };
    assert.equal(seen.value('darkroom_http_requests_total', { ...task, status: '200' }), 1);
    assert.equal(seen.value('darkroom_http_request_duration_seconds_count', { ...task, status_class: '2xx' }), 1);
    const model = { route: '/v1/models/{modelName...}', method: 'other', status: '404' };
    assert.equal(seen.value('darkroom_http_requests_total', model), 3);
    assert.equal(seen.value('darkroom_http_requests_in_flight'), 0);
  });

  it('record the stages of a task, and not those that it did not reach', async () => {
    const metrics = createMetrics();
    const ended = { model: 'acme/images', queuedSeconds: 2, totalSeconds: 9 } as const;
    metrics.tasks.settled({ ...ended, status: 'success', reason: null, handlingSeconds: 5, archivingSeconds: 2 });
    metrics.tasks.settled({
      ...ended,
      status: 'fail',
      reason: 'cancelled',
      handlingSeconds: null,
      archivingSeconds: null,
    });
    const seen = await read(metrics);

    const { model } = ended;
    const count = (stage: string) => seen.value('darkroom_task_stage_duration_seconds_count', { model, stage });
    assert.deepEqual(['queued', 'handling', 'archiving', 'total'].map(count), [2, 1, 1, 2]);
    assert.equal(seen.value('darkroom_task_stage_duration_seconds_sum', { model, stage: 'total' }), 18);
    assert.equal(seen.value('darkroom_tasks_settled_total', { model, status: 'fail', reason: 'cancelled' }), 1);
  });

  it('group callback attempts by class', async () => {
    const metrics = createMetrics();
    for (const httpStatus of [200, 204, 302, 410, 503]) metrics.callbacks.attempted({ httpStatus }, 0.1);
    metrics.callbacks.attempted({ errorClass: 'tls' }, 0.1);
    const seen = await read(metrics);

    const of = (outcome: string) => seen.value('darkroom_callback_attempts_total', { outcome });
    assert.deepEqual(['2xx', '3xx', '4xx', '5xx', 'tls', 'timeout'].map(of), [2, 1, 1, 1, 1, 0]);
    assert.equal(seen.value('darkroom_callback_attempt_duration_seconds_count'), 6);
  });
});
