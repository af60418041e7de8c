/** Traces, as a collector receives them: one task through all its processes, and the client's own trace. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { startTracing } from '../../src/telemetry/otlp-tracing.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { startTraceCollector } from '../support/trace-collector.ts';
import type { Span, TraceCollector } from '../support/trace-collector.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const CLIENT_TRACE = 'a1'.repeat(16);
const PROMPT = 'a very private fox';

describe('the traces of a task', () => {
  let collector: TraceCollector;
  let darkroom: Darkroom;
  before(async () => {
    collector = await startTraceCollector();
    darkroom = await startDarkroom({
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20for-the-collector',
        // Nothing listens there.
        EGRESS_ALLOW: 'http://127.0.0.1:1',
        CALLBACK_OFFSETS_SECONDS: '0',
      },
    });
  });
  after(async () => {
    await darkroom.stop();
    collector.close();
  });

  it('follow it from the request through the launcher and every activity to its callback', async () => {
    const { client } = await darkroom.createAccount();
    const traceparent = `00-${CLIENT_TRACE}-${'b2'.repeat(8)}-01`;
    const body = {
      model: 'darkroom/poster',
      input: { prompt: PROMPT },
      callback: { url: 'http://127.0.0.1:1/hook' },
    };
    const created = await client.send('POST', '/v1/tasks', body, { traceparent, 'Idempotency-Key': 'traced' });
    const { taskId } = created.body.data;
    await client.waitForTerminal(taskId);
    await client.send('GET', `/v1/tasks/${taskId}`, undefined, { traceparent });
    await client.send('POST', '/v1/tasks', body, { 'Idempotency-Key': 'traced' });

    const traceId = createHash('sha256').update(taskId).digest('hex').slice(0, 32);
    const wanted = [
      'POST /v1/tasks',
      'archiveOutputs',
      'deliver to Temporal: deliver_callback',
      'deliver to Temporal: start_task',
      'sendCallback',
      'submitGeneration',
    ];
    const ofTask = (): Span[] => collector.spans.filter((span) => span.traceId === traceId);
    const ofClient = (): Span[] => collector.spans.filter((span) => span.traceId === CLIENT_TRACE);
    const namesOf = (spans: readonly Span[]): string[] => spans.map(({ name }) => name).toSorted();
    await waitFor(
      () => `spans, and not only ${namesOf(ofTask()).join(', ')}`,
      () => wanted.every((name) => namesOf(ofTask()).includes(name)) && ofClient().length > 0,
    );

    const [root, ...others] = ofTask().filter(({ parentSpanId }) => parentSpanId === undefined);
    assert.deepEqual([root?.name, root?.service, others], ['POST /v1/tasks', 'darkroom-api', []]);
    assert.deepEqual(
      root?.links.map((link) => link.traceId),
      [CLIENT_TRACE],
    );
    for (const span of ofTask().filter((each) => each !== root)) {
      assert.equal(span.parentSpanId, root?.spanId, span.name);
      assert.equal(span.attributes['darkroom.task_id'], taskId);
    }
    const sent = ofTask().find(({ name }) => name === 'sendCallback');
    assert.deepEqual([sent?.service, sent?.failure], ['darkroom-worker', 'CallbackExhausted']);
    const [read] = ofClient();
    assert.deepEqual([read?.name, read?.parentSpanId], ['GET /v1/tasks/:taskId', 'b2'.repeat(8)]);
    assert.deepEqual(
      read?.links.map((link) => link.traceId),
      [traceId],
    );
    assert.equal(new Set(collector.authorizations).size, 1);
    assert.equal(collector.authorizations[0], 'Bearer for-the-collector');
    for (const sentBody of collector.bodies) assert.doesNotMatch(sentBody, /private fox|127\.0\.0\.1:1\b|dk_live/);
  });
});

describe('tracing', () => {
  it('records a task everywhere or nowhere, by its id alone', async () => {
    const collector = await startTraceCollector();
    const settings = { endpoint: collector.url, headers: {}, ratio: 0.5 };
    const processes = [startTracing(settings, 'api'), startTracing(settings, 'worker')];
    const taskIds = Array.from({ length: 200 }, () => newTaskId());
    for (const tracing of processes) {
      for (const taskId of taskIds) {
        tracing.request({ name: 'POST', startedAt: 1, attributes: {}, taskId, isCreation: true });
        tracing.task(taskId, { name: 'work', startedAt: 1, attributes: { 'darkroom.task_id': taskId } });
      }
    }
    await Promise.all(processes.map((tracing) => tracing.close()));
    collector.close();

    const counts = new Map<string, number>();
    for (const { traceId } of collector.spans) counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
    assert.deepEqual(new Set(counts.values()), new Set([4]));
    assert.ok(counts.size > 50 && counts.size < 150, String(counts.size));
  });

  it('loses nothing else when the collector rejects spans, is down, or returns garbage', async () => {
    const rejecting = await startTraceCollector(500);
    for (const endpoint of [rejecting.url, 'http://127.0.0.1:1']) {
      const tracing = startTracing({ endpoint, headers: {}, ratio: 1 }, 'api');
      tracing.request({ name: 'GET', startedAt: 1, attributes: {}, traceparent: 'garbage' });
      await tracing.close();
    }
    rejecting.close();
    await NO_TRACES.close();
  });

  it('ignores an invalid traceparent', async () => {
    const collector = await startTraceCollector();
    const tracing = startTracing({ endpoint: collector.url, headers: {}, ratio: 1 }, 'api');
    const broken = [
      '',
      '00-00-00-01',
      `00-${'0'.repeat(32)}-${'b2'.repeat(8)}-01`,
      `ff-${CLIENT_TRACE}-${'b2'.repeat(8)}-01`,
    ];
    for (const traceparent of broken) tracing.request({ name: 'GET', startedAt: 1, attributes: {}, traceparent });
    await tracing.close();
    collector.close();

    assert.equal(collector.spans.length, broken.length);
    for (const { parentSpanId, traceId } of collector.spans) {
      assert.equal(parentSpanId, undefined);
      assert.notEqual(traceId, CLIENT_TRACE);
    }
  });
});
