/**
 * Providers and files that are not as they should be, against a whole Darkroom: what the client reads, what the
 * operator's log says, that the hold is released and nothing is captured, and how often a job was submitted.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { HOSTILE_JOBS, hostileModel, startHostileProvider } from '../support/hostile-provider.ts';
import type { HostileAnswer, HostileProvider, HostileRequest } from '../support/hostile-provider.ts';
import { reservePort } from '../support/reserve-port.ts';
import { drawImage } from '../support/test-provider/image.ts';

const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';
const KEY = 'key-that-must-stay-secret';
const PROMPT = 'words of a private prompt';
const STRANGER = 'words of a stranger';
const PRIVATE = 'http://169.254.169.254/latest';
const image = `data:image/png;base64,${(await drawImage('a boat')).toString('base64')}`;

type LogLine = Readonly<Record<string, unknown>>;

/**
 * The end of a task, and what the log has to say about it: a case for each way in which an answer ends one. Every
 * answer that is read in the same way is in test/providers/http/hostile-answers.test.ts.
 */
interface Case {
  readonly answer: HostileAnswer;
  readonly http?: HttpBinding;
  readonly modality?: string;
  /** The reason of the failure; undefined: it succeeds. */
  readonly reason?: string;
  readonly code?: string;
  /** Of a line about the task. */
  readonly log: LogLine;
  /** The part of the timeline that says what the provider did. */
  readonly event?: string;
  readonly costMicroUsd?: bigint;
}

const isSubmit = ({ method, path: at }: HostileRequest): boolean => method === 'POST' && at === '/jobs';
const sent = (
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
};
/** Takes the job, and then answers every poll with this. */
const done =
  (answer: object): HostileAnswer =>
  (request) =>
    isSubmit(request) ? { id: 'job-1' } : { state: 'done', ...answer };
/** Takes the job, whose file is served like this. */
const withFile =
  (serve: (response: ServerResponse, request: HostileRequest) => void): HostileAnswer =>
  (request, response) => {
    if (isSubmit(request)) return { id: 'job-1' };
    if (request.path !== '/file') return { state: 'done', files: [`${request.baseUrl}/file`] };
    serve(response, request);
    return undefined;
  };
/** More of the same for as long as it is read. */
const endless: HostileAnswer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write(`{"text":"${STRANGER}`);
  const piece = 'x'.repeat(65_536);
  const more = (): void => {
    while (!response.destroyed) if (!response.write(piece)) return void response.once('drain', more);
  };
  more();
  return undefined;
};
/** Enough for the twenty polls after which a job is given up. */
const MOST_CALLS = 300;
/** Calls back again and again, which makes the time short in which it is polled. */
const calling =
  (answer: object): HostileAnswer =>
  (request) => {
    if (!isSubmit(request)) return answer;
    const { hook } = JSON.parse(request.body) as { readonly hook: string };
    let calls = 0;
    const clock = setInterval(() => {
      if (++calls === MOST_CALLS) clearInterval(clock);
      fetch(hook, { method: 'POST' }).catch(() => undefined);
    }, 200);
    clock.unref();
    return { id: 'job-1' };
  };

const UNKNOWN = { reason: 'outcome_unknown', code: 'TASK_FAILED', event: 'provider_unanswered' } as const;
const NO_OUTPUT = { reason: 'no_output', code: 'TASK_FAILED' } as const;
const UNAVAILABLE = { reason: 'provider_unavailable', code: 'MODEL_UNAVAILABLE' } as const;

const CASES: Readonly<Record<string, Case>> = {
  page: {
    ...UNKNOWN,
    answer: (_, response) => sent(response, 200, `<p>${STRANGER}`, { 'content-type': 'text/html' }),
    log: { upstream: 'page', status: 200, code: 'NOT_JSON', contentType: 'text/html' },
  },
  endless: { ...UNKNOWN, answer: endless, log: { upstream: 'endless', code: 'BODY_TOO_LARGE' } },
  endless_files: {
    ...UNKNOWN,
    answer: endless,
    http: { submit: HOSTILE_JOBS.submit, outputs: 'files' },
    log: { upstream: 'endless_files', code: 'BODY_TOO_LARGE' },
  },
  moved: {
    ...UNAVAILABLE,
    answer: (_, response) => sent(response, 307, '', { location: PRIVATE }),
    event: 'provider_refused',
    log: { upstream: 'moved', level: 50, status: 307, code: 'REDIRECTED', redirectHost: '169.254.169.254' },
  },
  throwing: {
    ...UNAVAILABLE,
    answer: () => ({ id: 'job-1' }),
    http: { ...HOSTILE_JOBS, submit: { path: "'/jobs'", body: '$error(prompt)' } },
    log: { upstream: 'throwing', member: 'submit.body', code: 'D3137' },
  },
  negative_cost: {
    answer: done({ files: image, usd: -5 }),
    log: { upstream: 'negative_cost', member: 'cost', expected: 'an amount in USD', found: 'the number -5' },
  },
  cost_above_hold: {
    answer: done({ files: image, usd: 77 }),
    costMicroUsd: 77_000_000n,
    log: { upstream: 'cost_above_hold', model: 'test/cost_above_hold', costUsd: '77', heldUsd: '0.03' },
  },
  no_addresses: {
    ...NO_OUTPUT,
    answer: done({ files: ['file:///etc/passwd', STRANGER] }),
    log: {
      upstream: 'no_addresses',
      member: 'outputs',
      found: 'a list of 2, which begins with a text of 18 characters',
    },
  },
  page_as_data: {
    ...NO_OUTPUT,
    answer: done({ files: `data:image/png;base64,${Buffer.from(`<p>${STRANGER}`).toString('base64')}` }),
    log: {
      model: 'test/page_as_data',
      position: 0,
      problem: 'not a supported image, video or audio file: unknown type',
    },
  },
  page_as_file: {
    ...NO_OUTPUT,
    answer: withFile((response) => sent(response, 200, `<html>${STRANGER}`, { 'content-type': 'image/png' })),
    log: { model: 'test/page_as_file', problem: 'not a supported image, video or audio file: unknown type' },
  },
  file_at_private_address: {
    ...NO_OUTPUT,
    answer: done({ files: `${PRIVATE}/${STRANGER.replaceAll(' ', '-')}` }),
    log: { host: '169.254.169.254', problem: 'the address could not be reached' },
  },
  file_redirected_there: {
    ...NO_OUTPUT,
    answer: withFile((response) => sent(response, 302, '', { location: PRIVATE })),
    log: { model: 'test/file_redirected_there', problem: 'the address could not be reached' },
  },
  file_redirected_forever: {
    ...NO_OUTPUT,
    answer: withFile((response, { baseUrl }) => sent(response, 302, '', { location: `${baseUrl}/file` })),
    log: { model: 'test/file_redirected_forever', problem: 'more than 3 redirects' },
  },
  encoded_file: {
    ...NO_OUTPUT,
    answer: withFile((response) => sent(response, 200, 'x', { 'content-encoding': 'gzip' })),
    log: { model: 'test/encoded_file', problem: 'the upstream answered 200 in an encoding that was not requested' },
  },
  image_for_video: {
    ...NO_OUTPUT,
    modality: 'video',
    answer: done({ files: image }),
    log: { model: 'test/image_for_video', expected: 'video', found: 'image' },
  },
  unknown_state: {
    reason: 'provider_error',
    code: 'TASK_FAILED',
    answer: calling({ state: STRANGER }),
    log: { upstream: 'unknown_state', member: 'poll.state', expected: 'running, done or failed' },
  },
};

const ROTATED = 'rotated';
const DESCRIBED = 'described';

describe('a provider that misbehaves', () => {
  let directory: string;
  let keyFile: string;
  let provider: HostileProvider;
  let darkroom: Darkroom;
  let account: TestAccount;
  let adminUrl: string;
  /** The credential that the provider accepts for polls of the job of the rotated credential. */
  let acceptedKey = 'first';
  let isHeld = true;

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-hostile-'));
    keyFile = path.join(directory, 'key');
    await writeFile(keyFile, 'first\n');
    const answers = Object.fromEntries(Object.entries(CASES).map(([name, { answer }]) => [name, answer]));
    provider = await startHostileProvider({
      ...answers,
      [ROTATED](request, response) {
        if (request.headers.authorization !== `Bearer ${acceptedKey}`) {
          sent(response, 401, '{}');
          return undefined;
        }
        if (isSubmit(request)) return { id: 'job-1' };
        return acceptedKey === 'first' ? { state: 'running' } : { state: 'done', files: image };
      },
      [DESCRIBED]: (request) =>
        isSubmit(request) ? { id: 'job-1' } : isHeld ? { state: 'running' } : { state: 'done', files: image },
    });
    const models = path.join(directory, 'models');
    await mkdir(path.join(models, 'providers', DESCRIBED), { recursive: true });
    for (const [name, { http, modality }] of Object.entries(CASES)) {
      const own = { ...(http === undefined ? {} : { http }), ...(modality === undefined ? {} : { modality }) };
      await writeFile(path.join(models, `${name}.json`), JSON.stringify(hostileModel(name, provider.url, own)));
    }
    const rotated = hostileModel(ROTATED, provider.url, { upstream: { secret: ROTATED } });
    await writeFile(path.join(models, `${ROTATED}.json`), JSON.stringify(rotated));
    await writeFile(providerFile(), JSON.stringify(describedProvider()));
    const described = JSON.stringify(hostileModel(DESCRIBED, provider.url));
    const referring = described.replace(
      /"upstreams":\[.*?\]\}\},/,
      `"upstreams":[{"provider":"${DESCRIBED}","model":"m"}]}},`,
    );
    await writeFile(path.join(models, 'providers', DESCRIBED, 'model.json'), referring);

    const port = await reservePort();
    adminUrl = `http://127.0.0.1:${port}/admin/catalogue`;
    darkroom = await startDarkroom({
      environment: {
        MODELS_DIR: models,
        UPSTREAM_TEST_KEY: KEY,
        UPSTREAM_DESCRIBED_KEY: KEY,
        UPSTREAM_ROTATED_KEY_FILE: keyFile,
        EGRESS_ALLOW: provider.url,
        ADMIN_TOKEN,
        ADMIN_PORT: String(port),
      },
    });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    provider?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const providerFile = () => path.join(directory, 'models', 'providers', DESCRIBED, 'provider.json');
  const describedProvider = () => ({
    name: DESCRIBED,
    title: 'Described',
    checkedAt: '2026-11-27',
    upstream: { protocol: 'http', baseUrl: `${provider.url}/${DESCRIBED}`, http: HOSTILE_JOBS },
  });

  async function put(file: string, content: string | Buffer): Promise<void> {
    await writeFile(`${file}.new`, content);
    await rename(`${file}.new`, file);
  }

  async function start(name: string): Promise<string> {
    const created = await account.client.create({ model: `test/${name}`, input: { prompt: PROMPT } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  async function logOf(taskId: string): Promise<readonly LogLine[]> {
    const log = (await readFile(darkroom.logFile, 'utf8')).split('\n');
    return log.filter((line) => line.includes(`"taskId":"${taskId}"`)).map((line) => JSON.parse(line) as LogLine);
  }

  async function eventsOf(taskId: string): Promise<readonly string[]> {
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
    // The client of the tests declares the body of a task for every request.
    return (body as unknown as { data: { events: { type: string }[] } }).data.events.map(({ type }) => type);
  }

  async function costOf(taskId: string): Promise<bigint | null | undefined> {
    const rows = await darkroom.testDatabase.database.query<{ cost: bigint | null }>(
      { name: 'test_hostile_cost', text: 'SELECT cost_micro_usd AS cost FROM task_costs WHERE task_id = $1' },
      [taskId],
    );
    return rows[0]?.cost;
  }

  async function check(name: string, { reason, code, log, event, costMicroUsd }: Case): Promise<void> {
    const taskId = await start(name);
    const task: ApiTask = await account.client.waitForTerminal(taskId);
    const about = `${name}: ${JSON.stringify(task)}`;

    assert.deepEqual(
      [task.status, task.error?.reason, task.error?.code],
      [reason === undefined ? 'success' : 'fail', reason, code],
      about,
    );
    assert.equal(task.billing.captured, reason === undefined ? '0.03' : '0', about);
    assert.doesNotMatch(JSON.stringify(task), new RegExp(STRANGER));
    const submits = provider.requestsOf(name).filter(isSubmit);
    assert.equal(submits.length, name === 'throwing' ? 0 : 1, about);
    if (event !== undefined) assert.ok((await eventsOf(taskId)).includes(event), about);
    if (costMicroUsd !== undefined) assert.equal(await costOf(taskId), costMicroUsd);
    const lines = await logOf(taskId);
    const isThere = lines.some((line) => Object.entries(log).every(([field, value]) => line[field] === value));
    assert.ok(
      isThere,
      `${name}: ${JSON.stringify(log)} is not in\n${lines.map((line) => JSON.stringify(line)).join('\n')}`,
    );
  }

  it('fails the task with a reason and a line in the log, once, and is not paid', async () => {
    await Promise.all(Object.entries(CASES).map(([name, each]) => check(name, each)));

    const { database } = darkroom.testDatabase;
    const counters = await database.query(
      {
        name: 'test_hostile_counters',
        text: 'SELECT held_micro_usd AS held, running, queued FROM account_counters WHERE account_id = $1',
      },
      [account.id],
    );
    assert.deepEqual(counters, [{ held: 0n, running: 0, queued: 0 }]);
    assert.deepEqual(await verifyLedger(database), []);
    const log = await readFile(darkroom.logFile, 'utf8');
    assert.doesNotMatch(log, new RegExp(`${KEY}|${PROMPT}|${STRANGER}|${STRANGER.replaceAll(' ', '-')}`));
  });

  it('keeps a job whose credential is replaced, becomes no credential, or is removed for a while', async () => {
    const taskId = await start(ROTATED);
    const polls = () => provider.requestsOf(ROTATED).filter(({ method }) => method === 'GET');
    await waitFor('it is polled', () => polls().length > 0);

    await put(keyFile, Buffer.from([0x66, 0xff, 0x00]));
    const isLogged = async (text: string) => (await readFile(darkroom.logFile, 'utf8')).includes(text);
    await waitFor('it is no credential', () => isLogged('the previous one stays in use: it is not text in UTF-8'));
    const before = polls().length;
    await waitFor('it is polled with the previous one', () => polls().length > before);
    assert.equal(polls().at(-1)?.headers.authorization, 'Bearer first');

    await rm(keyFile);
    await waitFor('it is removed', () => isLogged('the credential of an upstream was removed with its file'));
    acceptedKey = 'second';
    await put(keyFile, 'second');

    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.equal(provider.requestsOf(ROTATED).filter(isSubmit).length, 1);
    assert.equal(polls().at(-1)?.headers.authorization, 'Bearer second');
  });

  it('keeps its models and its jobs while its file is invalid, and operators see why', async () => {
    const running = await start(DESCRIBED);
    const problems = async (): Promise<readonly { readonly file: string; readonly problem: string }[]> => {
      const response = await fetch(adminUrl, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
      const { data } = (await response.json()) as { data: { refused: { problems: [] } | null } };
      return data.refused?.problems ?? [];
    };
    const file = providerFile();
    const { upstream, ...rest } = describedProvider();
    for (const [content, problem] of [
      [JSON.stringify({ ...rest, upstream: { ...upstream, hostz: [] } }), /upstream.*hostz/],
      [
        JSON.stringify({ ...rest, upstream: { ...upstream, http: { ...HOSTILE_JOBS, outputs: '(' } } }),
        /outputs: not JSONata/,
      ],
      ['{"name": "described"', /line 1,? column 21/],
    ] as const) {
      await put(file, content);
      await waitFor(
        () => `it is rejected with ${problem}`,
        async () => (await problems()).some((each) => each.file === file && problem.test(each.problem)),
      );
    }
    const accepted = await start(DESCRIBED);
    isHeld = false;

    for (const taskId of [running, accepted]) {
      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
    }
    await put(file, JSON.stringify(describedProvider()));
    await waitFor('it is repaired', async () => (await problems()).length === 0);
  });
});
