/**
 * The JavaScript SDK as its users have it: packed, installed into an empty project, with the code of its guide, in Node
 * and in Chromium.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { openAsBlob } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { pathToFileURL } from 'node:url';
import type * as SdkModule from '@darkroom/sdk';
import sharp from 'sharp';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import { packageFile } from '../../src/config/package-root.ts';
import { snippetsOf } from '../sdk/snippets.ts';
import { taskCode } from '@darkroom/dashboard/request-code';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { reservePort } from '../support/reserve-port.ts';
import { createNodeProject, packPackages, titleOf } from './empty-project.ts';
import type { EmptyProject } from './empty-project.ts';

type Sdk = typeof SdkModule;

const run = promisify(execFile);
const snippets = snippetsOf('docs/guides/sdk-js.md');

describe('the packed JavaScript SDK', { timeout: 900_000 }, () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  let packed: string;
  let project: EmptyProject;
  let sdk: Sdk;
  let receiverPort: number;
  before(async () => {
    receiverPort = await reservePort();
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW: `http://127.0.0.1:${receiverPort}` } });
    account = await darkroom.createAccount();
    packed = await mkdtemp(path.join(os.tmpdir(), 'darkroom-packed-'));
    project = await createNodeProject(await packPackages(['sdk-js'], packed), {
      DARKROOM_BASE_URL: `${darkroom.url}/v1`,
      DARKROOM_API_KEY: account.client.key,
    });
    const file = path.join(project.directory, 'node_modules/@darkroom/sdk/dist/index.js');
    sdk = (await import(pathToFileURL(file).href)) as Sdk;
  });
  after(async () => {
    await project?.close();
    await darkroom?.stop();
    await rm(packed, { recursive: true, force: true });
  });

  const clientOf = (options: Partial<ConstructorParameters<Sdk['Darkroom']>[0]> = {}) =>
    new sdk.Darkroom({ baseUrl: darkroom.url, apiKey: account.client.key, ...options });

  it('needs nothing but itself', async () => {
    const modules = path.join(project.directory, 'node_modules');
    assert.deepEqual(
      (await readdir(modules)).filter((name) => !name.startsWith('.')),
      ['@darkroom'],
    );
    const code = await readFile(path.join(modules, '@darkroom/sdk/dist/index.js'), 'utf8');
    assert.doesNotMatch(code, /^import |\brequire\(|from ['"]node:/m);
  });

  it('has types that compile without anything else, in strict mode', async () => {
    const options = {
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: [],
      lib: ['es2023', 'dom'],
    };
    await writeFile(
      path.join(project.directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['typed.ts'] }),
    );
    await writeFile(
      path.join(project.directory, 'typed.ts'),
      `import { Darkroom, webhooks } from '@darkroom/sdk';
       import type { Task } from '@darkroom/sdk';
       const darkroom = new Darkroom({ baseUrl: 'https://example.com', apiKey: 'a' });
       export const outputs = await darkroom.run('a', { prompt: 'a' }, { maxCost: '1', onUpdate: (task: Task) => task });
       export const url: string | undefined = outputs[0]?.url;
       export const task: Task = await webhooks.verify({ headers: {}, body: '' }, 'secret');
       const { id } = await darkroom.batches.create([{ custom_id: 'a', body: {} }], { endpoint: '/v1/videos' });
       for await (const { custom_id, response } of darkroom.batches.results(id)) {
         const line: readonly [string | null, number | undefined] = [custom_id, response?.status_code];
         console.log(line);
       }
       for (const { taskId, error } of await darkroom.submitMany([{ model: 'a', input: {} }])) {
         if (taskId === undefined) console.log(error.code);
       }
       export const token: string = (await darkroom.tokens.create({ scopes: ['tasks:read'] })).token;
       // @ts-expect-error: a token never has this scope.
       await darkroom.tokens.create({ scopes: ['keys:manage'] });
       // @ts-expect-error: there is no such option.
       await darkroom.run('a', {}, { prize: 1 });
       // @ts-expect-error: the cost is a decimal text.
       await darkroom.submit('a', {}, { maxCost: 1 });`,
    );
    await run(packageFile('node_modules/.bin/tsc'), ['-p', project.directory]);
  });

  describe('and the code of its guide', () => {
    for (const [index, snippet] of snippets.entries()) {
      if (snippet.language !== 'js' || snippet.name !== undefined) continue;
      it(`runs: ${titleOf(snippet)}`, async () => {
        const printed = await project.runFile(process.execPath, `snippet-${index}.mjs`, snippet.code);
        assert.notEqual(printed, '');
      });
    }

    it('has made an image in eight lines', async () => {
      const [first] = snippets.filter(({ language }) => language === 'js');
      const lines = first?.code.split('\n').filter((line) => line !== '') ?? [];
      assert.ok(lines.length <= 8, `${lines.length}`);
      const { format, width } = await sharp(path.join(project.directory, 'lighthouse.png')).metadata();
      assert.deepEqual([format, width], ['png', 1024]);
    });

    it('reports what is rejected as an ApiError', async () => {
      const errors = snippets.findIndex(({ heading, language }) => heading === 'Errors' && language === 'js');
      const printed = await project.runFile(process.execPath, 'errors.mjs', snippets[errors]?.code ?? '');
      assert.match(printed, /^400 INVALID_REQUEST .*aspect_ratio.* req_/);
    });

    it('accepts callbacks, and no others', async () => {
      const { code = '' } = snippets.find(({ name }) => name === 'receiver') ?? {};
      const key = await account.client.send('POST', '/v1/account/webhook-key/rotate');
      const { secret = '' } = key.body.data as unknown as WireWebhookKey;
      const receiver = await project.startFile(process.execPath, 'receiver.mjs', code, {
        PORT: String(receiverPort),
        DARKROOM_WEBHOOK_SECRET: secret,
      });
      try {
        const lines = createInterface({ input: receiver.stdout });
        const url = `http://127.0.0.1:${receiverPort}/hook`;
        const { taskId } = await clientOf().submit('darkroom/scene', { prompt: 'a lake' }, { callback: { url } });
        const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(GIVE_UP_MS) })) as [string];
        assert.equal(line, `${taskId} success`);
        const forged = await fetch(url, { method: 'POST', body: JSON.stringify({ taskId, status: 'success' }) });
        assert.equal(forged.status, 401);
      } finally {
        receiver.kill();
      }
    });
  });

  it("runs the code of the dashboard's pages", async () => {
    const input = { prompt: 'a lake, "NORTH" and \'SOUTH\'', aspect_ratio: '16:9' };
    const { javascriptSdk = '' } = taskCode(`${darkroom.url}/v1`, { model: 'darkroom/scene', input, storage: 'temp' });
    assert.match(await project.runFile(process.execPath, 'copied.mjs', javascriptSdk), /^http.*\/media\/.*\n$/);
  });

  describe('its client', () => {
    it('resumes an event stream when the api is killed, and sees each event once', async () => {
      const client = clientOf();
      const task = await client.submit('darkroom/motion', { prompt: 'a boat on the sea', duration: 3 });
      const seen: number[] = [];
      let last = '';
      for await (const { seq, type } of client.subscribe(task, { maxRetries: 20 })) {
        if (seen.length === 1) {
          await darkroom.apis[0]?.kill();
          await darkroom.apis[0]?.start();
        }
        seen.push(seq);
        last = type;
      }
      assert.deepEqual(
        seen,
        seen.map((_seq, index) => index + 1),
      );
      assert.equal(last, 'settled');
    });

    it('returns the outputs of one task when the api is killed while it waits', async () => {
      const own = await darkroom.createAccount();
      const client = clientOf({ apiKey: own.client.key, maxRetries: 20 });
      const running = client.run('darkroom/motion', { prompt: 'a boat on the sea', duration: 3 });
      let { tasks } = await client.list();
      while (tasks.length === 0) ({ tasks } = await client.list());
      await darkroom.apis[0]?.kill();
      await darkroom.apis[0]?.start();
      const [video] = await running;
      assert.equal(video?.type, 'video');
      const page = await client.list();
      assert.deepEqual(
        page.tasks.map(({ taskId }) => taskId),
        tasks.map(({ taskId }) => taskId),
      );
    });

    it('continues the task of the same idempotency key', async () => {
      const client = clientOf();
      const options = { idempotencyKey: `key-${Date.now()}` };
      const first = await client.submit('darkroom/scene', { prompt: 'a hill' }, options);
      assert.deepEqual(await client.submit('darkroom/scene', { prompt: 'a hill' }, options), first);
      await assert.rejects(
        client.submit('darkroom/scene', { prompt: 'another hill' }, options),
        sdk.IdempotencyKeyMismatchError,
      );
    });

    it('creates several tasks, and reports the error of each that is rejected', async () => {
      const client = clientOf();
      const tasks = [
        { model: 'darkroom/scene', input: { prompt: 'a hill' } },
        { model: 'darkroom/scene', input: { prompt: 7 } },
        { model: 'no-model', input: {} },
      ];
      const [first, second, third] = await client.submitMany(tasks);

      assert.equal((await client.wait(first?.taskId ?? '')).status, 'success');
      assert.ok(second?.error instanceof sdk.InvalidRequestError);
      assert.ok(third?.error instanceof sdk.ModelUnavailableError);
    });

    it('runs a batch of a file that it reads from the disk, and lists and cancels batches', async () => {
      const client = clientOf();
      const lines = ['a', 'wrong'].map((id) => ({
        custom_id: id,
        method: 'POST',
        url: '/v1/images/generations',
        body: { model: 'darkroom/scene', prompt: 'a lake', size: id === 'a' ? '1024x1024' : '7x7' },
      }));
      const file = path.join(packed, 'lines.jsonl');
      await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'));
      const uploaded = await client.files.create(await openAsBlob(file), { purpose: 'batch', filename: 'mine.jsonl' });
      const batch = await client.batches.create(uploaded.id, { endpoint: '/v1/images/generations' });
      const { request_counts: counts } = await client.batches.wait(batch);

      assert.deepEqual(counts, { total: 2, completed: 1, failed: 1 });
      const results = await collected(client.batches.results(batch));
      const errors = await collected(client.batches.errors(batch));
      assert.deepEqual(
        [...results, ...errors].map((line) => [line.custom_id, line.response?.status_code]),
        [
          ['a', 200],
          ['wrong', 400],
        ],
      );
      const other = await client.batches.create(uploaded.id, { endpoint: '/v1/images/generations' });
      assert.ok(['cancelling', 'cancelled'].includes((await client.batches.cancel(other)).status));
      const listed = await collected(client.batches.list());
      assert.deepEqual(
        listed.slice(0, 2).map(({ id }) => id),
        [other.id, batch.id],
      );
      const files = await collected(client.files.list({ purpose: 'batch' }));
      assert.equal(files.find(({ id }) => id === uploaded.id)?.filename, 'mine.jsonl');
    });

    it('creates a token that can do what it was given', async () => {
      const { token } = await clientOf().tokens.create({ scopes: ['tasks:read'], seconds: 60 });
      const holder = clientOf({ apiKey: token });

      assert.ok((await holder.list()).tasks.length > 0);
      await assert.rejects(holder.run('darkroom/scene', { prompt: 'a lake' }), sdk.PermissionDeniedError);
      await assert.rejects(holder.tokens.create({ scopes: ['tasks:read'] }), sdk.PermissionDeniedError);
    });

    it('cancels the task when its signal ends the call, if it is asked to', async () => {
      const client = clientOf();
      const controller = new AbortController();
      let taskId = '';
      const running = client.run(
        'darkroom/motion-long',
        { prompt: 'a boat on the sea' },
        {
          signal: controller.signal,
          cancelOnAbort: true,
          onUpdate(task) {
            ({ taskId } = task);
            controller.abort();
          },
        },
      );
      await assert.rejects(running, { name: 'AbortError' });
      const task = await client.wait(taskId);
      assert.deepEqual([task.status, task.error?.code], ['fail', 'TASK_CANCELLED']);
    });

    it('throws what it cannot do by the class of the error', async () => {
      const client = clientOf();
      const poor = await darkroom.createAccount({ usd: 0n });
      const input = { prompt: 'a lake' };
      await assert.rejects(client.run('no-model', input), sdk.ModelUnavailableError);
      await assert.rejects(client.run('darkroom/scene', { prompt: 7 }), sdk.InvalidRequestError);
      await assert.rejects(client.get('tk-svc-00000000000000000000000000'), sdk.NotFoundError);
      await assert.rejects(client.upload(new Uint8Array([1, 2, 3])), sdk.InvalidRequestError);
      await assert.rejects(clientOf({ apiKey: 'none' }).list(), sdk.AuthenticationError);
      await assert.rejects(
        clientOf({ apiKey: poor.client.key }).run('darkroom/scene', input),
        sdk.InsufficientBalanceError,
      );
    });
  });

  it('runs in Chromium with a short-lived token, in a page of another origin, without a bundler', async () => {
    const snippet = (wanted: string) => snippets.find(({ name }) => name === wanted)?.code ?? assert.fail(wanted);
    const [sitePort, tokenPort] = [await reservePort(), await reservePort()];
    const site = `http://localhost:${sitePort}`;
    const tokens = await project.startFile(process.execPath, 'tokens.mjs', snippet('token-server'), {
      PORT: String(tokenPort),
      SITE_ORIGIN: site,
    });
    const bundle = await readFile(path.join(project.directory, 'node_modules/@darkroom/sdk/dist/index.js'));
    const page = snippet('browser').replace('https://darkroom.example', darkroom.url);
    const pages = servePages({ '/': page, '/sdk.js': bundle }, `http://127.0.0.1:${tokenPort}`);
    pages.listen(sitePort, 'localhost');
    await once(pages, 'listening');
    const browser = await launchBrowser();
    try {
      await waitFor('the server of tokens listens', async () =>
        fetch(`http://127.0.0.1:${tokenPort}`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      const tab = await browser.newPage();
      const problems: string[] = [];
      tab.on('pageerror', (error) => problems.push(String(error)));
      await tab.goto(site);
      await tab.waitForFunction("document.querySelector('img').naturalWidth > 0");
      assert.deepEqual(problems, []);
      assert.equal(await tab.evaluate("document.querySelector('img').naturalWidth"), 1024);
    } finally {
      await browser.close();
      tokens.kill();
      pages.closeAllConnections();
      pages.close();
    }
  });

  it('is small', async () => {
    const { size } = await stat(path.join(project.directory, 'node_modules/@darkroom/sdk/dist/index.js'));
    assert.ok(size < 80_000, `${size}`);
  });
});

/** A site with some pages of its own. @param tokens the server behind `/token`. */
function servePages(pages: Readonly<Record<string, string | Buffer>>, tokens: string) {
  return createServer((request, response) => {
    const own = pages[request.url ?? ''];
    if (own !== undefined) {
      const type = request.url === '/sdk.js' ? 'text/javascript' : 'text/html';
      response.writeHead(200, { 'content-type': type }).end(own);
      return;
    }
    fetch(tokens)
      .then((answer) => answer.text())
      .then(
        (token) => response.end(token),
        () => response.destroy(),
      );
  });
}

async function collected<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
