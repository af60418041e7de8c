/**
 * One task's output, or an upload, as the next one's input: over HTTP alone, through real processes, on loopback,
 * where none of our own files may be fetched over the network (contract §7 "Uploads").
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { reservePort } from '../support/reserve-port.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

/** A careless client would parse it as XML; it is not an accepted image. */
const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';

interface Submitted {
  readonly idempotencyKey: string | undefined;
  readonly input: { readonly prompt: string; readonly image_urls: readonly string[] };
}

/** The outside world: images at URLs of all kinds, and a provider of protocol `tasks` that fetches its inputs. */
class Outside {
  readonly submitted: Submitted[] = [];
  /** What the provider received for the URLs in its inputs. */
  readonly fetched: { readonly status: number; readonly bytes: Buffer }[] = [];
  readonly #server: Server;
  readonly #image: Buffer;

  constructor(image: Buffer) {
    this.#image = image;
    this.#server = createServer((request, response) => {
      const url = request.url ?? '';
      const answer = (data: unknown): void => {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ code: 200, message: 'success', data, error_code: '' }));
      };
      if (request.method === 'POST' && url === '/v1/tasks') {
        let text = '';
        request.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        request.on('end', () => {
          const key = request.headers['idempotency-key'];
          const { input } = JSON.parse(text) as { input: Submitted['input'] };
          this.submitted.push({ idempotencyKey: typeof key === 'string' ? key : undefined, input });
          void this.#fetchInputs(input).then(() => answer({ taskId: 'far-task' }));
        });
        return;
      }
      if (url.startsWith('/v1/tasks/')) {
        answer({ status: 'success', output: [{ url: `${this.url}/image.png`, type: 'image' }] });
        return;
      }
      if (url === '/image.png') response.end(this.#image);
      else if (url === '/broken.png') response.end(this.#image.subarray(0, 60));
      else if (url === '/torn.png') response.end(this.#image.subarray(0, this.#image.length - 40));
      else if (url === '/page') response.end('<html>no image</html>');
      else if (url === '/drawing.svg') response.end(DRAWING);
      else response.writeHead(404).end();
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #fetchInputs({ image_urls }: Submitted['input']): Promise<void> {
    for (const url of image_urls) {
      const response = await fetch(url);
      this.fetched.push({ status: response.status, bytes: Buffer.from(await response.arrayBuffer()) });
    }
  }

  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('chaining', { concurrency: true }, () => {
  let outside: Outside;
  let darkroom: Darkroom;
  let account: TestAccount;
  let modelsDir: string;
  /** A URL where nothing listens. */
  let silentUrl: string;
  let image: Buffer;
  before(async () => {
    image = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#2f6f78' } })
      .png()
      .toBuffer();
    outside = new Outside(image);
    await outside.start();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const definition = {
      name: 'test/edits',
      modality: 'image',
      ownedBy: 'test',
      created: 1_763_683_200,
      description: 'a provider that fetches its inputs',
      routes: { default: { upstreams: [{ protocol: 'tasks', baseUrl: `${outside.url}/v1`, model: 'far/edits' }] } },
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
    };
    await writeFile(path.join(modelsDir, 'edits.json'), JSON.stringify(definition));
    const keyless = {
      ...definition,
      name: 'test/keyless',
      routes: {
        default: {
          upstreams: [{ protocol: 'tasks', baseUrl: `${outside.url}/v1`, secret: 'never_set', model: 'far/edits' }],
        },
      },
    };
    await writeFile(path.join(modelsDir, 'keyless.json'), JSON.stringify(keyless));
    silentUrl = `http://127.0.0.1:${await reservePort()}`;
    const EGRESS_ALLOW = `${outside.url},${silentUrl}`;
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW, MODELS_DIR: modelsDir } });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom.stop();
    outside.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function upload(bytes: Buffer): Promise<{ id: string; url: string }> {
    const response = await fetch(`${darkroom.url}/v1/files`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' },
      body: new Blob([bytes]),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { data: { id: string; url: string } }).data;
  }

  async function run(model: string, input: Record<string, unknown>): Promise<ApiTask> {
    const created = await account.client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return account.client.waitForTerminal(created.body.data.taskId);
  }

  async function outputOf(task: ApiTask): Promise<{ url: string; bytes: Buffer }> {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output);
    return { url: output.url, bytes: Buffer.from(await (await fetch(output.url)).arrayBuffer()) };
  }

  // Proves C7-32.
  it('prints an upload, and then the poster of it once more', async () => {
    const { url } = await upload(image);
    const first = await outputOf(await run('darkroom/poster', { prompt: '"ONE"', image_url: url }));
    const second = await outputOf(await run('darkroom/poster', { prompt: '"TWO"', image_url: first.url }));

    const { width, height } = await sharp(second.bytes).metadata();
    assert.deepEqual([width, height], [832, 1248]);
    const composed = await outputOf(await run('darkroom/poster', { prompt: '"TWO"' }));
    assert.ok(!second.bytes.equals(composed.bytes), 'it is the image that was printed');
    const printed = await outputOf(await run('darkroom/poster', { prompt: '"ONE"', image_url: `${url}?again` }));
    assert.ok(printed.bytes.equals(first.bytes), 'the same image gives the same bytes');
  });

  it('prints an image from another host, with the egress rules applied', async () => {
    const elsewhere = await run('darkroom/poster', { prompt: '"ONE"', image_url: `${outside.url}/image.png` });
    const own = await run('darkroom/poster', { prompt: '"ONE"', image_url: (await upload(image)).url });
    assert.ok((await outputOf(elsewhere)).bytes.equals((await outputOf(own)).bytes));
  });

  // Proves C3-22.
  it('fails with the reason when an image is unavailable or invalid, and captures nothing', async () => {
    const broken = await upload(image.subarray(0, 60));
    for (const [image_url, reason, says] of [
      [`${silentUrl}/image.png`, 'input_unreachable', /could not be fetched/],
      [`${outside.url}/missing.png`, 'input_unreachable', /responded, but not with a file/],
      [`${outside.url}/page`, 'input_invalid', /does not accept files of this type/],
      [`${outside.url}/drawing.svg`, 'input_invalid', /does not accept files of this type/],
      [`${outside.url}/broken.png`, 'input_invalid', /could not be decoded/],
      [`${outside.url}/torn.png`, 'input_invalid', /could not be decoded/],
      [broken.url, 'input_invalid', /could not be decoded/],
    ] as const) {
      const task = await run('darkroom/poster', { prompt: '"ONE"', image_url });
      assert.equal(task.status, 'fail', image_url);
      assert.equal(task.error?.code, 'INVALID_REQUEST');
      assert.equal(task.error?.reason, reason, image_url);
      assert.equal(task.error?.field, 'image_url', image_url);
      assert.match(task.error?.message ?? '', /^image_url: /);
      assert.match(task.error?.message ?? '', says, image_url);
      assert.doesNotMatch(JSON.stringify(task.error), /127\.0\.0\.1|provider/);
      assert.equal(task.billing.captured, '0');
    }
  });

  it('names the invalid one of several images', async () => {
    const good = `${outside.url}/image.png`;
    for (const bad of ['missing.png', 'drawing.svg', 'torn.png']) {
      const image_urls = [good, `${outside.url}/${bad}`, good];
      const task = await run('darkroom/edit', { prompt: 'make it warmer', image_urls });

      assert.equal(task.status, 'fail', bad);
      assert.equal(task.error?.field, 'image_urls.1', bad);
      assert.match(task.error?.message ?? '', /^image_urls\.1: /, bad);
    }
  });

  it('fails as MODEL_UNAVAILABLE when a credential is missing, and the log names its variable', async () => {
    const task = await run('test/keyless', { prompt: 'p', image_urls: [] });

    const { code, reason, retryable } = task.error ?? {};
    assert.deepEqual([code, reason, retryable], ['MODEL_UNAVAILABLE', 'provider_unavailable', false]);
    assert.match(task.error?.message ?? '', /needs the attention of the operator/);
    assert.match(await readFile(darkroom.logFile, 'utf8'), /set UPSTREAM_NEVER_SET_KEY/);
  });

  it('gives a provider a URL that works until the deadline, whatever its owner deletes meanwhile', async () => {
    const file = await upload(image);
    const input = { prompt: 'p', image_urls: [file.url, `${outside.url}/image.png`] };
    const created = await account.client.create({ model: 'test/edits', input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const deleted = await account.client.send('DELETE', `/v1/files/${file.id}`);
    assert.equal(deleted.status, 200);
    const { taskId } = created.body.data;
    await outputOf(await account.client.waitForTerminal(taskId));

    const submitted = outside.submitted.find(({ idempotencyKey }) => idempotencyKey === taskId);
    const [own = '', foreign] = submitted?.input.image_urls ?? [];
    assert.ok(own.startsWith(`${darkroom.url}/media/`), own);
    assert.equal(foreign, `${outside.url}/image.png`);
    assert.deepEqual(
      outside.fetched.map(({ status, bytes }) => ({ status, isWhole: bytes.equals(image) })),
      [
        { status: 200, isWhole: true },
        { status: 200, isWhole: true },
      ],
    );
    // The URL expires with the task's deadline, so that every attempt sends the same under the same key.
    const [task] = await darkroom.testDatabase.database.query<{ deadline: number }>(
      {
        name: 'test_deadline',
        text: 'SELECT floor(extract(epoch FROM deadline_at))::float8 AS deadline FROM tasks WHERE id = $1',
      },
      [taskId],
    );
    assert.equal(Number.parseInt(own.split('.').at(-3) ?? '', 36), task?.deadline, own);
    // It was valid for the provider only while the task ran.
    assert.equal((await fetch(own)).status, 404);
  });
});
