/**
 * A provider that delivers only part of what was requested (contract §3): the task succeeds with what there is, and
 * only that is charged.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

const ASKED = 4;

/**
 * A service of protocol `tasks` that makes as many images as the prompt says, whatever `n` is: `3`; or `2-1`, two
 * after one that it lists and does not have.
 */
function startProvider(image: Buffer): Promise<Server> {
  const server = createServer((request, response) => {
    const [, first, second, count] = (request.url ?? '').split('/');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = (data: unknown): void => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ code: 200, message: 'success', data, error_code: '' }));
    };
    if (first === 'image') {
      if (second === 'missing') response.statusCode = 404;
      response.end(second === 'missing' ? '' : image);
      return;
    }
    assert.deepEqual([first, second], ['v1', 'tasks']);
    if (request.method === 'GET') {
      const [delivered = 0, missing = 0] = (count ?? '').split('-').map(Number);
      const output = Array.from({ length: delivered + missing }, (_, index) => ({
        url: `${base}/image/${index < missing ? 'missing' : index}`,
        type: 'image',
      }));
      answer({ status: 'success', output });
      return;
    }
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => answer({ taskId: (JSON.parse(text) as { input: { prompt: string } }).input.prompt }));
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

describe('a provider that delivers another number than requested', { concurrency: true }, () => {
  let provider: Server;
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    const image = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#2f6f78' } })
      .png()
      .toBuffer();
    provider = await startProvider(image);
    const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const definition = {
      name: 'test/several',
      modality: 'image',
      ownedBy: 'test',
      created: 1_763_683_200,
      description: 'a provider that counts for itself',
      routes: { default: { upstreams: [{ protocol: 'tasks', baseUrl: `${baseUrl}/v1`, model: 'far/several' }] } },
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt', 'n'],
        properties: {
          prompt: { type: 'string', minLength: 1, maxLength: 100 },
          n: { type: 'integer', minimum: 1, maximum: 10 },
        },
      },
      pricing: { unit: 'image', usd: '0.03', count: { field: 'n', default: 1 } },
      typicalSeconds: 1,
      examples: [{ prompt: '1', n: 1 }],
    };
    await writeFile(path.join(modelsDir, 'several.json'), JSON.stringify(definition));
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW: baseUrl, MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom.stop();
    provider.closeAllConnections();
    provider.close();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function run(delivered: number | string): Promise<ApiTask> {
    const account: TestAccount = await darkroom.createAccount();
    const input = { prompt: String(delivered), n: ASKED };
    const { status, body } = await account.client.create({ model: 'test/several', input });
    assert.equal(status, 200, JSON.stringify(body));
    const task = await account.client.waitForTerminal(body.data.taskId);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    return task;
  }

  // Proves C3-15.
  it('makes the task succeed with those delivered, and only those are captured', async () => {
    const task = await run(3);

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.equal(task.output?.length, 3);
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.12', captured: '0.09', released: '0.03' });
    const names = task.output.map(({ url }) => new URL(url).pathname.split('/').at(-1));
    assert.deepEqual(
      names,
      [1, 2, 3].map((index) => `${task.taskId}-${index}.png`),
    );
    for (const { url } of task.output) assert.equal((await fetch(url)).status, 200);
  });

  // Proves C3-15.
  it('makes the task succeed with the others when a listed file is missing, and fail when all are', async () => {
    const some = await run('2-1');
    const none = await run('0-2');

    assert.equal(some.status, 'success', JSON.stringify(some));
    assert.equal(some.output?.length, 2);
    assert.equal(some.billing.captured, '0.06');
    assert.equal(none.error?.reason, 'no_output');
    assert.equal(none.billing.captured, '0');
  });

  it('is never paid more than the hold when it delivers more', async () => {
    const task = await run(6);

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.12', captured: '0.12', released: '0' });
  });
});
