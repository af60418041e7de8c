/**
 * Comfy API v2: the requests and answers are those of its OpenAPI document, https://docs.comfy.org/openapi-v2.yaml. The
 * client on npm (`@comfyorg/sdk`) needs a newer Node.js than we do.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import { answering, cancelled, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { comparable, mapped } from './oracle.ts';

const ID = '7f3d2c1b-9a8e-4d6f-b012-3c4d5e6f7a8b';
const COMFY = { model: 'comfy_api/sdxl', input: { prompt: 'a boat' } };

const job = (status: string, more: object = {}): Scripted => ({
  json: {
    id: ID,
    status,
    created_at: '2026-11-27T10:00:00Z',
    started_at: null,
    completed_at: null,
    expires_at: '2026-11-28T10:00:00Z',
    queue_position: null,
    progress: null,
    outputs: [],
    error: null,
    urls: { self: `/api/v2/jobs/${ID}`, events: `/api/v2/jobs/${ID}/events`, cancel: `/api/v2/jobs/${ID}/cancel` },
    ...more,
  },
});
const error = (status: number, code: string): Scripted => ({ status, json: { error: { code, message: code } } });
const output = (name: string, url: string): object => ({
  node_id: 'save',
  name,
  type: 'image',
  content_type: 'image/png',
  size_bytes: 1_848_320,
  id: 'a',
  hash: null,
  url,
  url_expires_at: '2026-11-27T11:00:00Z',
});

describe('the mapping of Comfy API v2', () => {
  it('submits the workflow', async () => {
    await withRecorder(answering({ ...job('queued'), status: 201 }), async ({ origin, requests }) => {
      await withScratch(async ({ call: submit }) => {
        const { provider, requestFor } = mapped(COMFY.model, origin);
        const request = requestFor({ prompt: 'a boat', aspect_ratio: '3:2', n: 2, steps: 20, cfg_scale: 4, seed: 7 });

        assert.deepEqual(await provider.submit(request, submit), { kind: 'job', jobId: ID });

        const [recorded] = requests;
        assert.ok(recorded !== undefined);
        const { method, path, headers, body } = comparable(recorded, ['idempotency-key']);
        assert.equal(`${method} ${path}`, 'POST /api/v2/jobs');
        assert.deepEqual(headers, {
          authorization: 'Bearer the-key',
          'content-type': 'application/json',
          // A proxy that cannot reach its ComfyUI answers 503, and then rejects the key for good.
          'idempotency-key': undefined,
        });
        const { workflow } = body as { workflow: Record<string, { class_type: string; inputs: object }> };
        assert.deepEqual(Object.keys(body as object), ['workflow']);
        assert.deepEqual(workflow['canvas'], {
          class_type: 'EmptyLatentImage',
          inputs: { width: 1216, height: 832, batch_size: 2 },
        });
        assert.deepEqual(workflow['checkpoint'], {
          class_type: 'CheckpointLoaderSimple',
          inputs: { ckpt_name: 'sd_xl_base_1.0.safetensors' },
        });
      });
    });
  });

  it('waits for a job that has not ended, and passes on its progress', async () => {
    assert.deepEqual(await polled(COMFY, ID, job('queued', { queue_position: 2 })), { result: { kind: 'running' } });
    const progress = { value: 0.42, nodes_done: 11, nodes_total: 31 };
    assert.deepEqual(await polled(COMFY, ID, job('running', { progress })), {
      result: { kind: 'running', progress: 0.42 },
    });
    assert.deepEqual(await polled(COMFY, ID, job('canceling')), { result: { kind: 'running' } });
  });

  it('takes the files of a job that succeeded', async () => {
    const urls = ['https://a.example/1.png', 'https://a.example/2.png'];
    const outputs = urls.map((url, index) => output(`ComfyUI_0000${index}_.png`, url));
    assert.deepEqual(
      await polled(COMFY, ID, ({ method, url }) => {
        assert.equal(`${method} ${url}`, `GET /api/v2/jobs/${ID}`);
        return job('succeeded', { outputs });
      }),
      { result: { kind: 'done', files: urls.map((url) => ({ from: 'url', url })) } },
    );
  });

  it('fails with the job', async () => {
    const failed = { code: 'node_execution_error', message: 'out of memory' };
    for (const answer of [job('failed', { error: failed }), job('canceled'), error(404, 'not_found')]) {
      assert.deepEqual(await polled(COMFY, ID, answer), { failed: 'provider_error' });
    }
  });

  it('looks again at a job that is said to be gone, as the proxy also says of one that is just ending', async () => {
    await assert.rejects(polled(COMFY, ID, job('expired')), { name: 'ProviderUnreachable', code: 'NO_STATE' });
  });

  it('takes an error for a rejection', async () => {
    for (const [answer, reason] of [
      [error(401, 'unauthorized'), 'model_unavailable'],
      [error(402, 'insufficient_credits'), 'model_unavailable'],
      [error(422, 'invalid_workflow'), 'model_unavailable'],
      [error(429, 'queue_full'), 'provider_unavailable'],
    ] as const) {
      assert.equal(reasonOf(await submitted(COMFY, answer)), reason);
    }
    const hinted = await submitted(COMFY, { ...error(429, 'queue_full'), headers: { 'retry-after': '7' } });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(COMFY, error(500, 'upstream_error')), { name: 'ProviderUnknown' });
  });

  it('cancels a job, unless it has ended', async () => {
    assert.equal(
      await cancelled(COMFY, ID, ({ method, url }) => {
        assert.equal(`${method} ${url}`, `POST /api/v2/jobs/${ID}/cancel`);
        return job('canceling');
      }),
      'cancelled',
    );
    // The proxy, once its ComfyUI has removed a job that waited.
    assert.equal(await cancelled(COMFY, ID, job('expired')), 'cancelled');
    assert.equal(await cancelled(COMFY, ID, job('succeeded')), 'too_late');
  });
});
