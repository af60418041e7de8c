/**
 * Responses of a provider that are made to cost as much as possible: of any length, in small pieces, with ten thousand
 * files. The worker stays small and responsive, and its other tasks go on.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { HOSTILE_JOBS, hostileModel, startHostileProvider } from '../support/hostile-provider.ts';
import type { HostileAnswer, HostileProvider } from '../support/hostile-provider.ts';
import { drawImage } from '../support/test-provider/image.ts';

const MB = 1_000_000;
const LENGTH = 10_000 * MB;
/** Small, as a hostile server would make them, and as some streaming servers do. */
const PIECE_BYTES = 1_000;

const SYNCHRONOUS = { submit: HOSTILE_JOBS.submit, outputs: 'files' };
const BODY = { submit: HOSTILE_JOBS.submit, outputs: '$body' };

/** What was sent of each response, by its name. */
const sentBytes = new Map<string, number>();

const streaming =
  (name: string, contentType: string, begin = ''): HostileAnswer =>
  (_, response) => {
    response.writeHead(200, { 'content-type': contentType });
    if (begin !== '') response.write(begin);
    const piece = Buffer.alloc(PIECE_BYTES, 'x');
    let sent = 0;
    const more = (): void => {
      while (!response.destroyed && sent < LENGTH) {
        sent += piece.length;
        sentBytes.set(name, sent);
        if (!response.write(piece)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
    return undefined;
  };

describe('a worker with a provider that sends far too much', () => {
  let directory: string;
  let provider: HostileProvider;
  let darkroom: Darkroom;
  let account: TestAccount;
  let hookUrl = '';

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-hostile-'));
    const png = await drawImage('a boat');
    const image = `data:image/png;base64,${png.toString('base64')}`;
    provider = await startHostileProvider({
      json: streaming('json', 'application/json', '{"files":"'),
      job: streaming('job', 'application/json', '{"id":"'),
      body: streaming('body', 'image/png'),
      file({ method, path: at, baseUrl }, response) {
        if (method === 'POST') return { id: 'job-1' };
        if (at === '/file')
          return streaming('file', 'image/png')({ method, path: at, baseUrl, headers: {}, body: '' }, response);
        return { state: 'done', files: `${baseUrl}/file` };
      },
      many({ method, path: at, baseUrl }, response) {
        if (method === 'POST') return { id: 'job-1' };
        if (at.startsWith('/file/')) return void response.writeHead(200, { 'content-type': 'image/png' }).end(png);
        return { state: 'done', files: Array.from({ length: 10_000 }, (_, index) => `${baseUrl}/file/${index}`) };
      },
      hooked({ method, body }) {
        if (method !== 'POST') return { state: 'running' };
        hookUrl = (JSON.parse(body) as { readonly hook: string }).hook;
        return { id: 'job-1' };
      },
      ordinary: ({ method }) => (method === 'POST' ? { id: 'job-1' } : { state: 'done', files: image }),
    });
    const bindings = { json: SYNCHRONOUS, body: BODY };
    for (const name of ['json', 'job', 'body', 'file', 'many', 'hooked', 'ordinary'] as const) {
      const http = name === 'json' || name === 'body' ? bindings[name] : HOSTILE_JOBS;
      const file = hostileModel(name, provider.url, { http, handlingSeconds: 300 });
      const limits = { queuedSeconds: 600, handlingSeconds: 300, archivingSeconds: 300 };
      await writeFile(path.join(directory, `${name}.json`), JSON.stringify({ ...file, limits }));
    }
    darkroom = await startDarkroom({
      environment: { MODELS_DIR: directory, UPSTREAM_TEST_KEY: 'test-key', EGRESS_ALLOW: provider.url },
    });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    provider?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function start(name: string): Promise<string> {
    const created = await account.client.create({ model: `test/${name}`, input: { prompt: 'a boat' } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  const memoryOf = async (pid: number): Promise<number> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  };

  /** Runs one such task, and ordinary ones beside it. @returns the memory that it took in addition. */
  async function withAnswer(t: TestContext, name: string, reason: string | undefined): Promise<number> {
    const [worker] = darkroom.workers;
    assert.ok(worker !== undefined);
    await account.client.waitForTerminal(await start('ordinary'));
    const before = await memoryOf(worker.pid);
    let peak = before;
    const clock = setInterval(() => void memoryOf(worker.pid).then((now) => (peak = Math.max(peak, now))), 50);
    const taskId = await start(name);
    let isOver = false;
    const ending = account.client.waitForTerminal(taskId).finally(() => (isOver = true));
    let ordinary = 0;
    while (!isOver) {
      const task = await account.client.waitForTerminal(await start('ordinary'));
      assert.equal(task.status, 'success');
      ordinary += 1;
    }
    clearInterval(clock);
    const task = await ending;
    assert.equal(task.error?.reason, reason, JSON.stringify(task.error));
    const extra = peak - before;
    t.diagnostic(
      `${name}: ${Math.round((sentBytes.get(name) ?? 0) / MB)} MB sent, ${Math.round(extra / MB)} MB of memory, ${ordinary} other tasks`,
    );
    return extra;
  }

  const LIMITS = {
    // The limit of a response with files is 64 MiB, held twice while it is put together.
    json: { reason: 'outcome_unknown', sent: 100 * MB, memory: 400 * MB },
    job: { reason: 'outcome_unknown', sent: 20 * MB, memory: 200 * MB },
    body: { reason: 'outcome_unknown', sent: 2_300 * MB, memory: 300 * MB },
    file: { reason: 'no_output', sent: 2_300 * MB, memory: 300 * MB },
  } as const;

  for (const name of ['json', 'job', 'body', 'file'] as const) {
    const { reason, sent, memory } = LIMITS[name];
    it(`stops reading 10 GB in small pieces at its limit: ${name}`, async (t) => {
      const extra = await withAnswer(t, name, reason);

      const total = sentBytes.get(name) ?? 0;
      assert.ok(total < sent, `${total} bytes were sent`);
      assert.ok(extra < memory, `${extra} bytes of memory`);
    });
  }

  it('archives the first hundred of ten thousand files', async (t) => {
    await withAnswer(t, 'many', undefined);

    const files = provider.requestsOf('many').filter(({ path: at }) => at.startsWith('/file/'));
    assert.equal(files.length, 100);
    assert.match(
      await readFile(darkroom.logFile, 'utf8'),
      /"files":10000,"limit":100,"msg":"provider listed more files/,
    );
  });

  it('takes no more than a fraction of a webhook of a gigabyte', async (t) => {
    const taskId = await start('hooked');
    await waitFor('the provider has the address', () => hookUrl !== '');

    const { status, written } = await new Promise<{ status: number | undefined; written: number }>((resolve) => {
      let written = 0;
      let status: number | undefined;
      const sending = httpRequest(hookUrl, { method: 'POST', headers: { 'content-type': 'application/json' } });
      sending.on('response', (response) => {
        status = response.statusCode;
        response.resume();
      });
      sending.on('error', () => undefined);
      sending.on('close', () => resolve({ status, written }));
      const piece = Buffer.alloc(65_536, 'x');
      const more = (): void => {
        while (!sending.destroyed && written < 1_000 * MB) {
          written += piece.length;
          if (!sending.write(piece)) return void sending.once('drain', more);
        }
        sending.end();
      };
      more();
    });

    t.diagnostic(`${written} bytes were taken, status ${status}`);
    assert.ok(status === 413 || status === undefined, String(status));
    assert.ok(written < 100 * MB, `${written} bytes were taken`);
    await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    await account.client.waitForTerminal(taskId);
  });
});
