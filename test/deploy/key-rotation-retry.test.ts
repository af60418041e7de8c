/**
 * `URL_SIGNING_KEY` is rotated between two attempts of a submit: the first one's response is lost, and its worker
 * restarts with the new key. Upstreams that recognize repeated submits by the task's id compare the request bodies,
 * and these contain URLs of ours: the task's images, and the callback URL.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import sharp from 'sharp';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const OLD = randomBytes(24).toString('hex');
const NEW = randomBytes(24).toString('hex');

/**
 * An upstream of both protocols, which responds to no submit while it is `mute`, and to another body under a known id
 * with 422.
 */
class ComparingUpstream {
  isMute = true;
  readonly #bodies = new Map<string, string[]>();
  readonly #image: Buffer;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(image: Buffer) {
    this.#image = image;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The bodies that it received for a task, attempt by attempt. */
  bodiesOf(taskId: string): readonly string[] {
    return this.#bodies.get(taskId) ?? [];
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const files = [{ url: `${this.url}/image.png`, type: 'image' }];
    if (url === '/image.png') response.end(this.#image);
    else if (method === 'GET') response.end(JSON.stringify({ data: { status: 'success', output: files } }));
    else this.#submit(String(headers['idempotency-key']), await text(request), response);
  }

  #submit(taskId: string, body: string, response: ServerResponse): void {
    const bodies = [...this.bodiesOf(taskId), body];
    this.#bodies.set(taskId, bodies);
    if (this.isMute) response.destroy();
    else if (body === bodies[0]) response.end(JSON.stringify({ data: { taskId: `far-${taskId}` } }));
    else response.writeHead(422).end(JSON.stringify({ error_code: 'IDEMPOTENCY_KEY_MISMATCH' }));
  }
}

const HTTP = {
  isSubmitRepeatable: true,
  submit: {
    path: "'/tasks'",
    headers: { 'Idempotency-Key': '$taskId' },
    body: '{ "images": image_urls, "hook": $hookUrl }',
  },
  jobId: 'data.taskId',
  poll: { path: "'/tasks/' & $jobId", state: "data.status = 'success' ? 'done' : 'running'" },
  outputs: 'data.output.url',
};

const modelOf = (name: string, upstream: Readonly<Record<string, unknown>>) => ({
  name: `test/${name}`,
  modality: 'image',
  ownedBy: 'test',
  created: 1_763_683_200,
  description: 'an upstream that compares what it is sent',
  routes: { default: { upstreams: [{ model: 'far/edits', ...upstream }] } },
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['prompt', 'image_urls'],
    properties: {
      prompt: { type: 'string', maxLength: 100 },
      image_urls: { type: 'array', maxItems: 3, items: { type: 'string', contentMediaType: 'image/*' } },
    },
  },
  pricing: { unit: 'image', usd: '0.03' },
  typicalSeconds: 1,
  examples: [{ prompt: 'anything', image_urls: [] }],
});

describe('a submit that is retried after its URL signing key was replaced', () => {
  let upstream: ComparingUpstream;
  let darkroom: Darkroom;
  let account: TestAccount;
  let modelsDir: string;
  let imageUrl: string;
  before(async () => {
    const image = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#2f6f78' } })
      .png()
      .toBuffer();
    upstream = new ComparingUpstream(image);
    await upstream.start();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const models = [
      modelOf('tasks', { protocol: 'tasks', baseUrl: upstream.url }),
      modelOf('http', { protocol: 'http', baseUrl: upstream.url, http: HTTP }),
    ];
    for (const model of models)
      await writeFile(path.join(modelsDir, `${path.basename(model.name)}.json`), JSON.stringify(model));
    darkroom = await startDarkroom({
      environment: { MODELS_DIR: modelsDir, URL_SIGNING_KEY: OLD, URL_SIGNING_KEY_FALLBACKS: NEW },
    });
    account = await darkroom.createAccount();
    const uploaded = await fetch(`${darkroom.url}/v1/files`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' },
      body: new Blob([image]),
    });
    imageUrl = ((await uploaded.json()) as { data: { url: string } }).data.url;
  });
  after(async () => {
    await darkroom?.stop();
    upstream?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function create(model: string): Promise<string> {
    const created = await account.client.create({ model, input: { prompt: 'p', image_urls: [imageUrl] } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  it('sends the same request as the first attempt, with valid URLs', async () => {
    const taskIds = [await create('test/tasks'), await create('test/http')];
    await waitFor('both were submitted', () => taskIds.every((taskId) => upstream.bodiesOf(taskId).length > 0));
    const [worker, api] = [...darkroom.workers, ...darkroom.apis];

    await worker?.kill();
    await api?.kill('SIGTERM');
    for (const role of [api, worker]) await role?.start({ URL_SIGNING_KEY: NEW, URL_SIGNING_KEY_FALLBACKS: OLD });
    upstream.isMute = false;

    const tasks = await Promise.all(taskIds.map((taskId) => account.client.waitForTerminal(taskId)));
    const sentOf = taskIds.map((taskId) => upstream.bodiesOf(taskId));
    assert.ok(sentOf.every(({ length }) => length > 1));
    assert.deepEqual(
      tasks.map(({ status, error }, index) => [status, error?.reason, new Set(sentOf[index]).size]),
      [
        ['success', undefined, 1],
        ['success', undefined, 1],
      ],
    );
    const [, sent = ''] = taskIds.map((taskId) => upstream.bodiesOf(taskId)[0]);
    const { images, hook } = JSON.parse(sent) as { images: readonly string[]; hook: string };
    const answers = [await fetch(images[0] ?? ''), await fetch(hook, { method: 'POST' })];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
  });
});
