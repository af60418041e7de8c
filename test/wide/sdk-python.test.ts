/**
 * The Python SDK as its users have it: built, installed into an empty environment, with the code of its guide. Skipped,
 * with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import { broken, ok, rejected, silent, startService } from '@darkroom/testing/answering-service';
import type { Answer, Service } from '@darkroom/testing/answering-service';
import { taskCode } from '@darkroom/dashboard/request-code';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import { snippetsOf } from '../sdk/snippets.ts';
import { PYTHON_MODELS, PYTHON_TOOLS, pythonAsyncClient, pythonModels } from '../sdk/python-sources.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { reservePort } from '../support/reserve-port.ts';
import { EmptyProject, titleOf } from './empty-project.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { BATCHES, SESSION, SURVIVES, faultProgram } from './sdk-python-programs.ts';

const run = promisify(execFile);
const snippets = snippetsOf('docs/guides/sdk-python.md').filter(({ language }) => language === 'python');

const TASK_ID = 'tk-svc-00000000000000000000000000';
const TASK = {
  taskId: TASK_ID,
  model: 'a',
  status: 'success',
  created: 1,
  started: 1,
  completed: 1,
  storage: 'temp',
  keyId: 'a',
  billing: { currency: 'USD', held: '0', captured: '0', released: '0' },
};

const FILE = {
  id: 'file-1',
  object: 'file',
  bytes: 1,
  created_at: 1,
  expires_at: 2,
  purpose: 'batch',
  status: 'processed',
};
const BATCH = {
  id: 'batch_1',
  object: 'batch',
  endpoint: '/v1/tasks',
  input_file_id: 'file-1',
  completion_window: '24h',
  status: 'completed',
  output_file_id: 'file-2',
  created_at: 1,
  expires_at: 2,
  request_counts: { total: 3, completed: 3, failed: 0 },
  metadata: null,
};
const RESULT = { id: 'a', response: { status_code: 200, request_id: 'b', body: {} }, error: null };

/** As OpenAI's API responds, without the envelope. */
function bare(body: object): Answer {
  return (_request, response) => void response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
}

function events(...seqs: readonly number[]): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const seq of seqs) response.write(`id: ${seq}\ndata: ${JSON.stringify(eventOf(seq))}\n\n`);
    response.end();
  };
}

/** The fourth is the last. */
function eventOf(seq: number): object {
  return { seq, at: 1, type: seq === 4 ? 'settled' : 'produced', detail: {} };
}

describe('the built Python SDK', { skip: whyNoPackage(PYTHON_TOOLS), timeout: 900_000 }, () => {
  let tools: string;
  let directory: string;
  let source: string;
  let python: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let project: EmptyProject;
  let receiverPort: number;
  before(async () => {
    tools = await obtainPackage(PYTHON_TOOLS);
    receiverPort = await reservePort();
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW: `http://127.0.0.1:${receiverPort}` } });
    account = await darkroom.createAccount();
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-python-'));
    source = path.join(directory, 'source');
    await cp(packageFile('packages/sdk-python'), source, { recursive: true });
    await run(tools, ['-m', 'build', '--no-isolation', '--outdir', directory, source]);
    const [wheel = ''] = (await readdir(directory)).filter((name) => name.endsWith('.whl'));
    await run(tools, ['-m', 'venv', path.join(directory, 'empty')]);
    python = path.join(directory, 'empty/bin/python');
    const options = ['--quiet', '--disable-pip-version-check'];
    await run(python, ['-m', 'pip', 'install', ...options, path.join(directory, wheel)]);
    project = new EmptyProject(directory, {
      DARKROOM_BASE_URL: `${darkroom.url}/v1`,
      DARKROOM_API_KEY: account.client.key,
    });
  });
  after(async () => {
    await project?.close();
    await darkroom?.stop();
  });

  it('has models and an asynchronous client of the current sources: npm run ts -- test/sdk/render-python.ts', async () => {
    assert.equal(await readFile(packageFile(PYTHON_MODELS), 'utf8'), await pythonModels());
    for (const [name, text] of Object.entries(await pythonAsyncClient())) {
      assert.equal(await readFile(packageFile(name), 'utf8'), text, name);
    }
  });

  it('passes ruff and mypy, and so does a program that uses it', async () => {
    await run(tools, ['-m', 'ruff', 'check', source]);
    await run(tools, ['-m', 'ruff', 'format', '--check', source]);
    await run(tools, ['-m', 'mypy'], { cwd: source });
    const files = snippets.map((_snippet, index) => path.join(directory, `typed_${index}.py`));
    for (const [index, file] of files.entries()) await writeFile(file, snippets[index]?.code ?? '');
    await run(tools, ['-m', 'mypy', '--strict', '--python-executable', python, ...files], { cwd: directory });
  });

  describe('and the code of its guide', () => {
    for (const [index, snippet] of snippets.entries()) {
      if (snippet.name !== undefined) continue;
      it(`runs: ${titleOf(snippet)}`, async () => {
        assert.notEqual(await project.runFile(python, `snippet_${index}.py`, snippet.code), '');
      });
    }

    it('has made an image in eight lines', async () => {
      const lines = snippets[0]?.code.split('\n').filter((line) => line !== '') ?? [];
      assert.ok(lines.length <= 8, `${lines.length}`);
      const { format, width } = await sharp(path.join(directory, 'lighthouse.png')).metadata();
      assert.deepEqual([format, width], ['png', 1024]);
    });

    it('reports what is rejected as an ApiError', async () => {
      const { code = '' } = snippets.find(({ heading }) => heading === 'Errors') ?? {};
      const printed = await project.runFile(python, 'errors.py', code);
      assert.match(printed, /^400 INVALID_REQUEST .*aspect_ratio.* req_/);
    });

    it('accepts callbacks, and no others', async () => {
      const { code = '' } = snippets.find(({ name }) => name === 'receiver') ?? {};
      const key = await account.client.send('POST', '/v1/account/webhook-key/rotate');
      const { whsec = '' } = key.body.data as unknown as WireWebhookKey;
      const receiver = await project.startFile(python, 'receiver.py', code, {
        PORT: String(receiverPort),
        DARKROOM_WEBHOOK_SECRET: whsec,
      });
      try {
        const url = `http://127.0.0.1:${receiverPort}/hook`;
        const isForged = async (): Promise<boolean> => {
          const body = JSON.stringify({ status: 'success' });
          const response = await fetch(url, { method: 'POST', body }).catch(() => undefined);
          return response?.status === 401;
        };
        await waitFor('the receiver rejects what is forged', isForged);
        const lines = createInterface({ input: receiver.stdout });
        const body = { model: 'darkroom/scene', input: { prompt: 'a lake' }, callback: { url } };
        const printed = once(lines, 'line', { signal: AbortSignal.timeout(GIVE_UP_MS) }) as Promise<[string]>;
        const created = await account.client.create(body);
        assert.deepEqual(await printed, [`${created.body.data.taskId} success`]);
      } finally {
        receiver.kill();
      }
    });
  });

  it("runs the code of the dashboard's pages", async () => {
    const input = { prompt: 'a lake, "NORTH" and \'SOUTH\'', aspect_ratio: '16:9' };
    const { pythonSdk = '' } = taskCode(`${darkroom.url}/v1`, { model: 'darkroom/scene', input, storage: 'temp' });
    assert.match(await project.runFile(python, 'copied.py', pythonSdk), /^http.*\/media\/.*\n$/);
  });

  for (const client of ['Darkroom', 'AsyncDarkroom']) {
    it(`does and reports with ${client} what the API does and reports`, async () => {
      const program = SESSION.replaceAll('CLIENT', client).replaceAll('"KEY"', `"KEY_${client}"`);
      const prepared = `import os\nos.environ["KEY_${client}"] = "key-${client}-${Date.now()}"\n${program}`;
      const said = JSON.parse(await project.runFile(python, `session_${client}.py`, prepared)) as {
        readonly same: boolean;
        readonly events: readonly (readonly [number, string])[];
        readonly [other: string]: unknown;
      };
      const { events, ...others } = said;
      assert.deepEqual(others, {
        same: true,
        error: 'TASK_CANCELLED',
        names: [
          'ModelUnavailableError',
          'InvalidRequestError',
          'IdempotencyKeyMismatchError',
          'NotFoundError',
          'InvalidRequestError',
          'AuthenticationError',
          'nothing',
        ],
        currency: 'USD',
        account: 'active',
      });
      assert.deepEqual(
        events.map(([seq]) => seq),
        events.map((_event, index) => index + 1),
      );
      assert.equal(events.at(-1)?.[1], 'settled');
    });

    it(`runs batches, submits several tasks and creates tokens with ${client}`, async () => {
      const program = BATCHES.replaceAll('CLIENT', client);
      assert.deepEqual(JSON.parse(await project.runFile(python, `batches_${client}.py`, program)), {
        batch: ['completed', { a: 'b' }, 2],
        results: [
          ['a', 200, 1],
          ['b', 200, 1],
        ],
        errors: [['wrong', 400]],
        cancelled: true,
        early: ['has', 'no', 'results', 'yet'],
        listed: true,
        file: ['mine.jsonl', true, 3600],
        files: ['lines.jsonl', 'mine.jsonl', 'lines.jsonl'],
        content: true,
        retrieved: true,
        outcomes: ['SubmittedTask', 'InvalidRequestError', 'ModelUnavailableError'],
        task: 'success',
        token: [403, ['tasks:read'], 'success'],
      });
    });

    /** @returns what the program printed, as JSON. */
    const printedAt = async (service: Service, body: string): Promise<unknown> => {
      const program = `import os\nos.environ["SERVICE_URL"] = "${service.url}"\n${faultProgram(client, body)}`;
      return JSON.parse(await project.runFile(python, `faults_${client}.py`, program));
    };

    describe(`${client}, on a bad day of the service`, () => {
      it('sends a request again with the same idempotency key, not before the time that it is given', async () => {
        await using service = await startService(
          broken,
          rejected(503, 'SERVICE_UNAVAILABLE'),
          rejected(500, 'INTERNAL_ERROR'),
          rejected(408, 'INVALID_REQUEST'),
          rejected(429, 'RATE_LIMITED', { 'Retry-After': '2' }),
          ok({ taskId: TASK_ID }),
        );
        const body = `submitted = await result(client().submit("a", {"prompt": "b"}))
          print(json.dumps([submitted.task_id, submitted.idempotency_key]))`;
        const begunAt = performance.now();
        const [taskId, key] = (await printedAt(service, body)) as [string, string];

        assert.equal(taskId, TASK_ID);
        assert.ok(performance.now() - begunAt >= 2_000);
        assert.deepEqual(
          service.received.map(({ headers, body: sent }) => [headers['idempotency-key'], JSON.parse(sent)]),
          Array.from({ length: 6 }, () => [key, { model: 'a', input: { prompt: 'b' } }]),
        );
      });

      it('reports what cannot succeed later at once, and the rest when its retries are used up', async () => {
        await using wrong = await startService(rejected(400, 'INVALID_REQUEST'));
        await using final = await startService(rejected(503, 'SERVICE_UNAVAILABLE', { 'X-Should-Retry': 'false' }));
        await using busy = await startService(rejected(429, 'RATE_LIMITED', { 'Retry-After': '3600' }));
        await using away = await startService(broken);
        await using mute = await startService(silent);
        const read = (changes: string): string =>
          `print(json.dumps(await error_of(lambda: client(${changes}).get("a"))))`;

        assert.equal(await printedAt(wrong, read('')), 'InvalidRequestError');
        assert.equal(await printedAt(final, read('')), 'ServiceError');
        assert.equal(await printedAt(busy, read('')), 'RateLimitError');
        assert.equal(await printedAt(away, read('max_retries=1')), 'ConnectionError');
        assert.equal(await printedAt(mute, read('max_retries=1, timeout=0.2')), 'TimeoutError');
        const counts = [wrong, final, busy, away, mute].map(({ received }) => received.length);
        assert.deepEqual(counts, [1, 1, 1, 2, 2]);
      });

      it('resumes a stream of events after the last one, and repeats none', async () => {
        await using service = await startService(
          events(1, 2),
          ok({ events: [] }),
          broken,
          events(2, 3),
          ok({ events: [eventOf(4)] }),
        );
        const body = `print(json.dumps(await seqs_of(client().subscribe("${TASK_ID}"))))`;
        assert.deepEqual(await printedAt(service, body), [1, 2, 3, 4]);
        const resumed = service.received.map(({ headers }) => headers['last-event-id']);
        assert.deepEqual(resumed, [undefined, undefined, '2', '2', undefined]);
      });

      it('sends a file again from its beginning, and a batch with the key of the attempt before', async () => {
        const file: Answer = bare({ ...FILE, filename: 'lines.jsonl' });
        await using service = await startService(broken, file, broken, bare(BATCH));
        const body = `line = {"custom_id": "a", "body": {"model": "b"}}
          print(json.dumps((await result(client().batches.create([line]))).id))`;
        assert.equal(await printedAt(service, body), BATCH.id);
        const [first, second, third, fourth] = service.received;
        const line = '{"custom_id": "a", "method": "POST", "url": "/v1/tasks", "body": {"model": "b"}}';
        for (const upload of [first, second]) assert.ok(upload?.body.includes(`\r\n\r\n${line}\n\r\n`), upload?.body);
        assert.deepEqual([third?.url, fourth?.url], ['/v1/batches', '/v1/batches']);
        assert.match(String(third?.headers['idempotency-key']), /^sdk-/);
        assert.equal(fourth?.headers['idempotency-key'], third?.headers['idempotency-key']);
      });

      it('reads results line by line, whatever is in them and wherever the pieces end', async () => {
        // Separators of lines for Python, and not for JSON.
        const ids = ['ä', 'a\u2028b', 'c\u0085d'];
        const lines = ids.map((id) => JSON.stringify({ ...RESULT, custom_id: id })).join('\n');
        const pieces: Answer = (_request, response) => {
          response.setHeader('Content-Type', 'application/jsonl');
          for (const byte of Buffer.from(lines)) response.write(Uint8Array.of(byte));
          response.end();
        };
        await using service = await startService(bare(BATCH), broken, pieces);
        const body = `print(json.dumps(await ids_of(client().batches.results("batch_1"))))`;
        assert.deepEqual(await printedAt(service, body), ids);
      });

      it('accepts fields and values that are newer than it', async () => {
        await using service = await startService(ok({ ...TASK, status: 'paused', colour: 'red' }));
        const body = `print(json.dumps((await result(client().get("a"))).status))`;
        assert.equal(await printedAt(service, body), 'paused');
      });
    });
  }

  it('rejects deliveries that are altered, old or incomplete', async () => {
    const secret = 'a secret of at least 16 characters';
    const whsec = `whsec_${Buffer.from(secret).toString('base64')}`;
    const body = JSON.stringify({ ...TASK, metadata: { a: 'grün ✓' } });
    const signed = (at: Date): Record<string, string> => ({
      'Webhook-Id': 'msg_1',
      'Webhook-Timestamp': String(Math.floor(at.getTime() / 1000)),
      'Webhook-Signature': `v1,AAAA ${new Webhook(whsec).sign('msg_1', at, body)}`,
    });
    const headers = signed(new Date());
    const { 'Webhook-Id': _id, ...incomplete } = headers;
    const deliveries = [
      [headers, body, secret],
      [headers, body, whsec],
      [headers, body.replace('success', 'suckess'), secret],
      [headers, body, `${secret}!`],
      [signed(new Date(Date.now() - 400_000)), body, secret],
      [{ ...headers, 'Webhook-Timestamp': 'now' }, body, secret],
      [incomplete, body, secret],
    ];
    const program = `
import base64, json
from darkroom import webhooks
for headers, body, secret in json.loads(base64.b64decode("${Buffer.from(JSON.stringify(deliveries)).toString('base64')}")):
    try:
        print(webhooks.verify(headers, body, secret).metadata["a"])
    except webhooks.WebhookVerificationError as error:
        print(error)
`;
    const printed = (await project.runFile(python, 'deliveries.py', program)).trim().split('\n');
    const wanted = [
      /^grün ✓$/,
      /^grün ✓$/,
      /not one of/,
      /not one of/,
      /40\d s from now/,
      /not a time/,
      /webhook-id is missing/,
    ];
    assert.equal(printed.length, wanted.length);
    for (const [index, pattern] of wanted.entries()) assert.match(printed[index] ?? '', pattern);
  });

  it('returns the outputs of one task when the api is killed while it waits', async () => {
    const own = await darkroom.createAccount();
    const child = await project.startFile(python, 'survives.py', SURVIVES, { DARKROOM_API_KEY: own.client.key });
    const lines = createInterface({ input: child.stdout });
    const printed: string[] = [];
    lines.on('line', (line) => printed.push(line));
    await waitFor('the task exists', async () => printed.length === 1);
    await darkroom.apis[0]?.kill();
    await darkroom.apis[0]?.start();
    await waitFor('the run has ended', async () => printed.length === 2 || child.exitCode !== null);
    assert.equal(printed[1], 'video 1');
  });
});
