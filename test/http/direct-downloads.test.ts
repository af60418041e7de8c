/**
 * `DOWNLOADS=direct` (contract §3): our URLs redirect clients to the store. The store itself gets no request here,
 * and none runs; that the download then works is shown on a real S3 server in wide/direct-downloads.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

const HOUR_SECONDS = 3_600;

describe('a download from a store that clients can reach', () => {
  let served: ServedApp;
  let url: string;
  before(async () => {
    served = await serveApp({
      environment: {
        STORE_URL: 's3://outputs/kept',
        S3_ENDPOINT: 'http://127.0.0.1:1',
        S3_PUBLIC_ENDPOINT: 'https://files.example.com',
        S3_ACCESS_KEY_ID: 'the-key',
        S3_SECRET_ACCESS_KEY: 'the-secret',
        DOWNLOADS: 'direct',
      },
    });
    const account = await served.newAccount();
    const { taskId } = (await account.client.create(body())).body.data;
    await claimOutbox(served.room.database, 10);
    const stored = { objectKey: 'outputs/one', sizeBytes: 10, sha256: 'a'.repeat(64), mimeType: 'image/png' };
    await settleTask(
      served.room.database,
      taskId as TaskId,
      { status: 'success', outputs: [{ type: 'image', ...stored, width: 1, height: 1 }], capturedMicroUsd: 10_000n },
      { retentionDays: 7 },
    );
    url = (await account.client.get(taskId)).body.data.output?.[0]?.url ?? '';
  });
  after(() => served.close());

  // Proves C3-11.
  it('is redirected to the public URL of the object, for as long as our URL is valid, with its type and name', async () => {
    const response = await fetch(url, { redirect: 'manual' });

    assert.equal(response.status, 307);
    assert.equal(response.headers.get('cache-control'), 'private, no-store');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    const target = new URL(response.headers.get('location') ?? '');
    assert.equal(target.origin, 'https://files.example.com');
    assert.equal(target.pathname, '/outputs/kept/outputs/one');
    assert.equal(target.searchParams.get('response-content-type'), 'image/png');
    assert.match(
      target.searchParams.get('response-content-disposition') ?? '',
      /^inline; filename="tk-svc-\w+-1\.png"$/,
    );
    const seconds = Number(target.searchParams.get('X-Amz-Expires'));
    assert.ok(seconds > 0 && seconds < HOUR_SECONDS);
    assert.ok(!target.href.includes('the-secret'));
  });

  it('is signed for HEAD when HEAD is requested', async () => {
    const locations = await Promise.all(
      ['GET', 'HEAD'].map(async (method) => {
        const { headers } = await fetch(url, { method, redirect: 'manual' });
        return new URL(headers.get('location') ?? '').searchParams.get('X-Amz-Signature');
      }),
    );
    assert.notEqual(locations[0], locations[1]);
  });

  it('is rejected as usual when the URL is forged', async () => {
    assert.equal((await fetch(`${url.slice(0, -6)}xxxxxx`.replace('/media/v1.', '/media/v1.x'))).status, 403);
  });
});
