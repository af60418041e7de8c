/**
 * Sample data in the forms that an installation has after some use, made through the public and the admin API: accounts,
 * keys, money, tasks of every modality and end, callbacks, files, stored outputs, text calls and sessions. What only a
 * real upstream or a fault brings about (hooks, operator costs, repairs) is written as rows.
 */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface Installation {
  readonly apiUrl: string;
  readonly adminUrl: string;
  readonly databaseUrl: string;
  readonly adminToken: string;
  /** Loopback port that callbacks are sent to; the installation must allow it. */
  readonly callbackPort: number;
}

interface Account {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

/** What an upgrade test looks for. */
export interface Samples {
  readonly accounts: readonly Account[];
  readonly tasks: Readonly<Record<string, { readonly taskId: string; readonly status: string }>>;
  readonly replay: {
    readonly key: string;
    readonly idempotencyKey: string;
    readonly body: unknown;
    readonly taskId: string;
  };
}

const END_MS = 240_000;
const SCOPES = [
  'tasks:read',
  'tasks:write',
  'storage:read',
  'storage:write',
  'text:write',
  'models:read',
  'billing:read',
];
const ALL_SCOPES = [...SCOPES, 'webhooks:manage', 'keys:manage', 'dashboard'];

type Json = Readonly<Record<string, unknown>>;

/** Sends one request. @throws {Error} the answer is no success. */
async function send<T = Json>(method: string, url: string, key: string, body?: unknown, more: Json = {}): Promise<T> {
  const isBytes = body instanceof Uint8Array;
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(body === undefined || isBytes ? {} : { 'Content-Type': 'application/json' }),
    ...(more as Record<string, string>),
  };
  const payload = isBytes ? { body: new Uint8Array(body) } : body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url, { method, headers, ...payload });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  const answer = JSON.parse(text) as { data?: T };
  return answer.data ?? (answer as T);
}

/** Fills the installation. @throws {Error} it rejected a request, or a task did not end. */
export async function makeSampleData(installation: Installation): Promise<Samples> {
  const receiver = await startReceiver(installation.callbackPort);
  try {
    const studio = await makeAccount(installation, 'studio', '50');
    const waiting = await makeAccount(installation, 'waiting', '20', { runningTasks: 0 });
    const suspended = await makeAccount(installation, 'suspended', '5');
    await manageKeys(installation, studio);
    await send('POST', `${installation.adminUrl}/admin/accounts/${studio.id}/adjust`, installation.adminToken, {
      usd: '-1.25',
      reason: 'sample',
    });
    const callbacks = `http://127.0.0.1:${installation.callbackPort}`;
    const made = await makeTasks(installation.apiUrl, studio, waiting, callbacks);
    await send('POST', `${installation.adminUrl}/admin/accounts/${suspended.id}/suspend`, installation.adminToken, {
      reason: 'sample',
    });
    await callText(installation.apiUrl, studio.key);
    await writeRareRows(installation.databaseUrl, made.tasks);
    return { accounts: [studio, waiting, suspended], ...made };
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
}

/** Answers by path: /ok takes a callback, /gone rejects it permanently, anything else fails. */
async function startReceiver(port: number): Promise<Server> {
  const statuses: Readonly<Record<string, number>> = { '/ok': 204, '/gone': 410 };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(statuses[request.url ?? ''] ?? 500).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

async function makeAccount(installation: Installation, name: string, usd: string, limits?: Json): Promise<Account> {
  const { adminUrl, adminToken } = installation;
  const account = await send('POST', `${adminUrl}/admin/accounts`, adminToken, { name, usd, limits });
  const id = String(account['accountId']);
  const made = await send('POST', `${adminUrl}/admin/accounts/${id}/keys`, adminToken, { name, scopes: ALL_SCOPES });
  await send('POST', `${adminUrl}/admin/accounts/${id}/top-up`, adminToken, { usd: '2', reference: `top-up-${id}` });
  return { id, key: String(made['key']), keyId: String(made['id']) };
}

/** A key with caps, one that is rotated, one that is revoked, a webhook key, and a session of the dashboard. */
async function manageKeys({ apiUrl }: Installation, { key }: Account): Promise<void> {
  const keys = `${apiUrl}/v1/account/keys`;
  const capped = await send('POST', keys, key, {
    name: 'capped',
    scopes: SCOPES,
    models: ['darkroom/speech'],
    spendCaps: { day: '5', total: '20' },
  });
  await create(apiUrl, String(capped['key']), {
    model: 'darkroom/speech',
    input: { text: 'Counted against a spend cap.', voice: 'slt' },
  });
  const rotated = await send('POST', keys, key, { name: 'rotated', scopes: ['tasks:read'] });
  await send('POST', `${keys}/${String(rotated['id'])}/rotate`, key, {});
  const revoked = await send('POST', keys, key, { name: 'revoked', scopes: ['tasks:read'] });
  await send('DELETE', `${keys}/${String(revoked['id'])}`, key);
  await send('PUT', `${apiUrl}/v1/account/webhook-key`, key, { secret: 'a sample secret of a sample account' });
  await send('POST', `${apiUrl}/v1/account/webhook-key/rotate`, key, {});
  await send('POST', `${apiUrl}/session`, '', { key }, { 'X-Darkroom-Dashboard': '1', Origin: apiUrl });
}

async function create(apiUrl: string, key: string, body: unknown, idempotencyKey?: string): Promise<string> {
  const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
  return String((await send('POST', `${apiUrl}/v1/tasks`, key, body, headers))['taskId']);
}

async function makeTasks(
  apiUrl: string,
  { key }: Account,
  waiting: Account,
  callbacks: string,
): Promise<Pick<Samples, 'tasks' | 'replay'>> {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const file = await send('POST', `${apiUrl}/v1/files`, key, png, { 'Content-Type': 'image/png' });
  const image = {
    model: 'darkroom/scene',
    input: { prompt: 'A red lighthouse on a cliff at sunset', aspect_ratio: '3:2' },
    metadata: { order: '4711', shop: 'north' },
    callback: { url: `${callbacks}/ok` },
  };
  const video = { model: 'darkroom/clip', input: { prompt: 'Hot-air balloons over a valley', duration: '6' } };
  const sound = { model: 'darkroom/sound', input: { prompt: 'Rain on a roof', duration: 5 } };
  const unreachable = {
    model: 'darkroom/edit',
    input: { prompt: 'Golden hour', image_urls: ['https://nowhere.invalid/street.jpg'] },
    callback: { url: `${callbacks}/fail` },
  };
  const cancelled = await create(apiUrl, key, { ...video, callback: { url: `${callbacks}/gone` } }, 'cancelled-1');
  await send('POST', `${apiUrl}/v1/tasks/${cancelled}/cancel`, key);
  const ids = {
    image: await create(apiUrl, key, image, 'order-4711'),
    audio: await create(apiUrl, key, { ...sound, storage: 'persistent' }, 'sound-1'),
    speech: await create(apiUrl, key, {
      model: 'darkroom/speech',
      input: { text: 'High water at noon.', voice: 'slt' },
    }),
    erased: await create(apiUrl, key, { ...sound, input: { prompt: 'Wind', duration: 5 } }, 'erased-1'),
    deleted: await create(apiUrl, key, { ...image, callback: undefined, storage: 'persistent' }),
    edited: await create(apiUrl, key, {
      model: 'darkroom/edit',
      input: { prompt: 'Golden hour', image_urls: [file['url']] },
    }),
    failed: await create(apiUrl, key, unreachable, 'failed-1'),
    cancelled,
    video: await create(apiUrl, key, video, 'video-1'),
  };
  const queued = await create(apiUrl, waiting.key, { ...image, callback: undefined }, 'queued-1');
  const tasks: Record<string, { taskId: string; status: string }> = { queued: { taskId: queued, status: 'queued' } };
  for (const [name, taskId] of Object.entries(ids)) {
    tasks[name] = { taskId, status: await awaitEnd(apiUrl, key, taskId, name === 'failed') };
  }
  await send('POST', `${apiUrl}/v1/tasks/${ids.erased}/erase`, key);
  const detail = await send<{ output: { id: string }[] }>('GET', `${apiUrl}/v1/tasks/${ids.deleted}`, key);
  await send(
    'POST',
    `${apiUrl}/v1/storages/delete`,
    key,
    detail.output.map(({ id }) => id),
  );
  const promoted = await send<{ output: { id: string }[] }>('GET', `${apiUrl}/v1/tasks/${ids.image}`, key);
  await send(
    'POST',
    `${apiUrl}/v1/storages/promote`,
    key,
    promoted.output.map(({ id }) => id),
  );
  return { tasks, replay: { key, idempotencyKey: 'order-4711', body: image, taskId: ids.image } };
}

/** Reads a task until it has ended, and its callback where `waitForCallback`. Returns its status. */
async function awaitEnd(apiUrl: string, key: string, taskId: string, waitForCallback: boolean): Promise<string> {
  const end = Date.now() + END_MS;
  while (Date.now() < end) {
    const task = await send<{ status: string; callback?: { state: string } }>(
      'GET',
      `${apiUrl}/v1/tasks/${taskId}`,
      key,
    );
    const isOver = task.status === 'success' || task.status === 'fail';
    if (isOver && (!waitForCallback || task.callback?.state === 'exhausted')) return task.status;
    await delay(500);
  }
  throw new Error(`${taskId} did not end in ${END_MS / 1000} s`);
}

async function callText(apiUrl: string, key: string): Promise<void> {
  const model = 'darkroom/conformance-text';
  const messages = [{ role: 'user', content: 'What is 17 * 3?' }];
  await send('POST', `${apiUrl}/v1/chat/completions`, key, { model, messages });
  const first = await send('POST', `${apiUrl}/v1/responses`, key, { model, input: 'What is 17 * 3?', store: true });
  await send('POST', `${apiUrl}/v1/responses`, key, {
    model,
    input: 'And twice that?',
    previous_response_id: first['id'],
    store: true,
  });
  const deleted = await send('POST', `${apiUrl}/v1/responses`, key, { model, input: 'Forget this.', store: true });
  await send('DELETE', `${apiUrl}/v1/responses/${String(deleted['id'])}`, key);
}

/** Rows as a release's own statements write them, of what only an upstream or a fault causes. They touch no money. */
async function writeRareRows(databaseUrl: string, tasks: Samples['tasks']): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const taskId = tasks['failed']?.taskId;
    await client.query(`INSERT INTO upstream_states (upstream, failures) VALUES ('sample', 1)`);
    await client.query(`INSERT INTO provider_hooks (task_id, upstream) VALUES ($1, 'sample')`, [taskId]);
    await client.query(
      `INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
            VALUES ($1, 'sample', 'darkroom/edit', 'outcome_unknown', 40000)`,
      [taskId],
    );
    await client.query(`INSERT INTO repairs (kind, task_id, found) VALUES ('sample', $1, 'a sample')`, [taskId]);
  } finally {
    await client.end();
  }
}
