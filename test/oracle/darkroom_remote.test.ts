/** Another installation of Darkroom, compared with Darkroom's own client (`@darkroom/api`) and docs/contract.md. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { createApiClient } from '@darkroom/api/client/api-client';
import { withRecorder } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { KEY, comparable, mapped } from './oracle.ts';

const ID = 'tk-img-00000000000000000000000042';
const REMOTE = { model: 'darkroom_remote/scene', input: { prompt: 'a boat' } };
const call = { signal: new AbortController().signal };

const envelope = (data: object): Scripted => ({
  json: { code: 200, message: 'ok', data, error_code: '' },
});
const task = (status: string, more: object = {}): Scripted => envelope({ taskId: ID, status, ...more });
const error = (status: number, error_code: string): Scripted => ({
  status,
  json: { code: status, message: error_code, data: null, error_code },
});

describe('the mapping of another Darkroom', () => {
  it('sends what the client sends, and takes the task from the same answer', async () => {
    const script = ({ method, url }: Recorded, response: ServerResponse): unknown => {
      if (method === 'POST' && !url.endsWith('/cancel')) response.statusCode = 202;
      return method === 'POST' && url.endsWith('/cancel')
        ? task('fail', { error: { code: 'TASK_CANCELLED', message: 'cancelled' } }).json
        : task('handling', { progress: 0.5 }).json;
    };
    await withRecorder(script, async ({ origin, requests }) => {
      const { provider, requestFor } = mapped(REMOTE.model, origin);
      const client = createApiClient({ baseUrl: `${origin}/v1`, apiKey: KEY });
      const input = { prompt: 'a boat', aspect_ratio: '16:9', resolution: '2k', output_format: 'webp' };
      const request = requestFor(input);

      assert.deepEqual(await provider.submit(request, submitCall()), { kind: 'job', jobId: ID });
      const headers = { 'Idempotency-Key': request.taskId };
      const created = await client.call<{ taskId: string }>('POST', '/tasks', {
        body: { model: 'darkroom/scene', input },
        headers,
      });
      assert.equal(created.taskId, ID);
      assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running', progress: 0.5 });
      await client.call('GET', `/tasks/${ID}`);
      assert.equal((await provider.cancel(request, ID, call)).outcome, 'cancelled');
      await client.call('POST', `/tasks/${ID}/cancel`);

      const sent = requests.map((recorded) => comparable(recorded, ['idempotency-key']));
      assert.equal(sent.length, 6);
      assert.deepEqual([sent[0], sent[2], sent[4]], [sent[1], sent[3], sent[5]]);
    });
  });

  it('waits for a task that has not ended, and takes its outputs', async () => {
    for (const status of ['queued', 'handling', 'archiving']) {
      assert.deepEqual(await polled(REMOTE, ID, task(status)), { result: { kind: 'running' } });
    }
    const output = [{ type: 'image', url: 'https://a.example/1.png' }];
    assert.deepEqual(await polled(REMOTE, ID, task('success', { output })), {
      result: { kind: 'done', files: [{ from: 'url', url: 'https://a.example/1.png' }] },
    });
    assert.equal(await cancelled(REMOTE, ID, task('success', { output })), 'too_late');
  });

  it('fails with the task', async () => {
    const failed = (reason: string): Scripted => task('fail', { error: { code: 'GENERATION_FAILED', reason } });
    assert.deepEqual(await polled(REMOTE, ID, failed('content_rejected')), { failed: 'content_rejected' });
    assert.deepEqual(await polled(REMOTE, ID, failed('provider_error')), { failed: 'provider_error' });
    assert.deepEqual(await polled(REMOTE, ID, error(404, 'NOT_FOUND')), { failed: 'provider_error' });
  });

  it('takes an error for a rejection', async () => {
    for (const [answer, reason] of [
      [error(400, 'INVALID_REQUEST'), 'input_invalid'],
      [error(400, 'MODEL_UNAVAILABLE'), 'model_unavailable'],
      [error(401, 'UNAUTHORIZED'), 'model_unavailable'],
      [error(402, 'INSUFFICIENT_CREDITS'), 'model_unavailable'],
      [error(429, 'RATE_LIMITED'), 'provider_unavailable'],
      [error(503, 'SERVICE_UNAVAILABLE'), 'provider_unavailable'],
    ] as const) {
      assert.equal(reasonOf(await submitted(REMOTE, answer)), reason);
    }
    const hinted = await submitted(REMOTE, { ...error(429, 'RATE_LIMITED'), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(REMOTE, error(500, 'INTERNAL_ERROR')), { name: 'ProviderUnknown' });
  });
});
