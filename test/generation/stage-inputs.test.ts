/** URLs of media that a provider fetches itself: a name that resolves into the operator's network is not passed on. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { parseDataUrl } from '../../src/domain/data-url.ts';
import type { ResolveName } from '../../src/egress/name-resolver.ts';
import type { GenerationContext } from '../../src/generation/context.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { createInputFetches } from '../../src/generation/slots.ts';
import { stageInputs } from '../../src/generation/stage-inputs.ts';
import type { TaskRoute } from '../../src/generation/task-route.ts';
import { ShareExhaustedError } from '../../src/limits/tenant-shares.ts';
import type { Lease } from '../../src/limits/tenant-shares.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { egressOf } from '../egress/loopback.ts';
import { stub } from '../support/stub.ts';

const image = { type: 'string', contentMediaType: 'image/*' };
const inputSchema = {
  type: 'object',
  properties: { image_urls: { type: 'array', items: image } },
};

/** @param isForFiles whether the provider takes files and we fetch them. */
function stage(
  t: TestContext,
  resolve: ResolveName,
  urls: readonly string[],
  isForFiles = false,
  scratch = '/nowhere',
): Promise<unknown> {
  const { egress } = egressOf(t, [], { resolve });
  const input = { image_urls: urls };
  const context = stub<GenerationContext>({
    database: { query: () => Promise.resolve([]) },
    egress,
    inputFetches: createInputFetches(),
    inspector: { inspectFile: async () => ({ mimeType: 'image/heic', kind: 'image', extension: 'heic' }) },
    frameDecoders: { run: (_accountId, work) => work(stub<Lease>({})) },
  });
  const task = stub<WorkingTask>({ accountId: 'ac-1', input });
  const route = stub<TaskRoute>({
    request: { input },
    provider: { takesMediaAsFiles: isForFiles },
    definition: { inputSchema, pricing: { unit: 'task' } },
  });
  return stageInputs(context, task, route, { scratch, signal: new AbortController().signal });
}

const failing =
  (problem: Error): ResolveName =>
  () =>
    Promise.reject(problem);
const coded = (code: string): Error => Object.assign(new Error(code), { code });
const fault = (kind: string, field: string) => (error: unknown) => {
  assert.ok(error instanceof GenerationFailure);
  assert.deepEqual(error.fault, { kind, field });
  return error.isPermanent;
};

describe('URLs of media that a provider fetches itself', () => {
  it('are passed on unchanged when every name is public, and each host is resolved once', async (t) => {
    const asked: string[] = [];
    const urls = [
      'https://one.test/a.png',
      'https://one.test/b.png',
      'https://two.test/c.png',
      'https://8.8.8.8/d.png',
    ];

    const request = await stage(
      t,
      async (name) => {
        asked.push(name);
        return ['8.8.8.8'];
      },
      urls,
    );

    assert.deepEqual(asked, ['one.test', 'two.test']);
    assert.deepEqual((request as { input: unknown }).input, { image_urls: urls });
  });

  it('are JPEG where a data URL has a photograph of a phone', async (t) => {
    const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-stage-'));
    t.after(() => rm(scratch, { recursive: true }));
    const heic = await readFile(packageFile('packages/media/test/files/turned.heic'), 'base64');
    const other = 'data:image/png;base64,AAEC';

    const request = await stage(
      t,
      failing(new Error('nothing is resolved')),
      [other, `data:image/heic;base64,${heic}`],
      false,
      scratch,
    );

    const { image_urls: urls } = (request as { input: { image_urls: readonly string[] } }).input;
    assert.equal(urls[0], other);
    const jpeg = parseDataUrl(urls[1] ?? '');
    assert.equal(jpeg?.mimeType, 'image/jpeg');
    assert.deepEqual(jpeg.bytes.subarray(0, 3), Buffer.from([0xff, 0xd8, 0xff]));
  });

  it('fail the task by their field when the name leads to an address that is not public', async (t) => {
    const resolve: ResolveName = async (name) => [name === 'inside.test' ? '10.0.0.5' : '8.8.8.8'];

    await assert.rejects(
      stage(t, resolve, ['https://one.test/a.png', 'https://inside.test/a.png']),
      fault('unreachable', 'image_urls.1'),
    );
  });

  it('fail it when the name does not exist here, and when it cannot be resolved', async (t) => {
    const urls = ['https://minio.storage/a.png'];

    await assert.rejects(stage(t, failing(coded('ENOTFOUND')), urls), fault('unreachable', 'image_urls.0'));
    await assert.rejects(stage(t, failing(coded('ESERVFAIL')), urls), fault('too_slow', 'image_urls.0'));
  });

  it('are retried when the account has too many lookups in progress', async (t) => {
    const busy = failing(new ShareExhaustedError('resolver', 'tenant', 1));

    for (const isForFiles of [false, true]) {
      await assert.rejects(
        stage(t, busy, ['https://one.test/a.png'], isForFiles),
        (error: unknown) =>
          error instanceof GenerationFailure &&
          error.reason === 'provider_unavailable' &&
          !error.isPermanent &&
          Number(error.retryAfterMs) >= 1_000,
      );
    }
  });
});
