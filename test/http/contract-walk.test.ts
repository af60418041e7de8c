/** The walk over every route of the public listener (walk.ts). */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { newApiKey } from '../../src/accounts/api-key.ts';
import { newTaskId, newTextCallId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { publicRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import { createHookUrls } from '../../src/upstreams/provider-hooks.ts';
import { definition } from '../catalogue/definitions.ts';
import { body } from '../tasks/task-room.ts';
import { pruneNow } from '../tasks/old-tasks.ts';
import { DocumentedApi } from './documented-api.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from './raw-request.ts';
import {
  chatBody,
  doneTask,
  doneVideo,
  fileForm,
  imageBody,
  newTask,
  partForm,
  requestOf,
  send,
  speechBody,
  TRANSCRIPT,
  editForm,
  transcriptionForm,
  videoBody,
  videoForm,
} from './route-requests.ts';
import type { Parts } from './route-requests.ts';
import { SIGNING_KEY, serveApp, unreachableDatabase } from './serve.ts';
import { expectError, walk } from './walk.ts';
import type { WalkedListener } from './walk.ts';
import { openWorld } from './world.ts';

const SIGNING = {
  id: 'signing',
  protocol: 'replicate',
  baseUrl: 'http://127.0.0.1',
  webhookSecret: 'none',
  model: 'a/b',
};
const signing = definition({ name: 'acme/signing', routes: { default: { upstreams: [SIGNING] } } });
const world = await openWorld(async (options) => {
  const app = await serveApp({ ...options, models: [signing] });
  return { served: app, close: () => app.close() };
});
const { served, environment } = world;
const away = await serveApp({ environment, appDatabase: unreachableDatabase() });
const httpsOnly = await serveApp({ requiresHttps: true, environment: { TRUSTED_PROXIES: '10.0.0.0/8' } });
after(async () => {
  await world.close();
  await away.close();
  await httpsOnly.close();
});
const account = await served.newAccount();
const routes = publicRoutes(served.http);
const api = new DocumentedApi(JSON.parse((await raw(served.url, 'GET', '/openapi.json')).text) as object);

function routeOf(operationId: string): Route {
  const route = routes.find((each) => each.operationId === operationId);
  assert.ok(route, operationId);
  return route;
}

/** What the routes of a file answer beside the whole file. */
const ofFile = (params: Parts['params'] = {}): readonly (readonly [Parts, number])[] => [
  [{ params, headers: { Range: 'bytes=0-3' } }, 206],
  [{ params, headers: { Range: 'bytes=100000-' } }, 416],
  [{ params, headers: { 'If-Match': '"other"' } }, 412],
];

const MORE_ANSWERS: WalkedListener['moreAnswers'] = {
  callMcp: async () => [[{ body: { jsonrpc: '2.0', method: 'notifications/initialized' } }, 202]],
  createTask: async () => {
    const headers = { 'Idempotency-Key': 'the-walk' };
    const rich = body({ metadata: { a: 'b' }, callback: { url: 'https://example.com/', when: 'final' }, maxCost: '1' });
    return [
      [{ body: rich, headers }, 200],
      [{ body: rich, headers }, 200],
    ];
  },
  getTask: async () => {
    const queued = { taskId: await newTask(account) };
    return [
      [{ params: queued, query: 'include=input' }, 200],
      [{ params: queued, headers: { Prefer: 'wait=1' } }, 200],
    ];
  },
  listTasks: async () => [
    [{}, 200],
    [{ query: `ids=${newTaskId()}&created_after=0&size=1000` }, 200],
  ],
  getTaskEvents: async () => {
    const params = { taskId: await doneTask(world, account) };
    const headers = { Accept: 'text/event-stream' };
    return [
      [{ params, headers }, 200],
      [{ params, headers: { ...headers, 'Last-Event-ID': '1000' } }, 204],
    ];
  },
  listCallbackAttempts: async () => [[{ params: { taskId: await newTask(account) } }, 200]],
  downloadMedia: async () => ofFile((await requestOf(routeOf('downloadMedia'), world, account)).params),
  uploadFile: async () => [[await fileForm({ purpose: 'batch' }, '{}', 'lines.jsonl'), 200]],
  listFiles: async () => [[{}, 200]],
  getFileContent: async () => ofFile((await requestOf(routeOf('getFileContent'), world, account)).params),
  createChatCompletion: async () => [[{ body: chatBody({ stream: true }) }, 200]],
  createTranscription: async () => {
    const { headers, ...form } = await transcriptionForm();
    return [
      [{ ...form, headers: { ...headers, Prefer: 'respond-async' } }, 202],
      [await streamedRequest('createTranscription', await transcriptionForm({ stream: 'true' })), 200],
    ];
  },
  createImageEdit: async () => {
    const { headers, ...form } = await editForm();
    const json = { model: 'acme/compatible-edit', prompt: 'a', images: [{ image_url: 'https://example.com/a.png' }] };
    return [
      [{ ...form, headers: { ...headers, Prefer: 'respond-async' } }, 202],
      [{ body: json, headers: { Prefer: 'respond-async' } }, 202],
      [await streamedRequest('createImageEdit', await editForm({ stream: 'true' })), 200],
    ];
  },
  createTranslation: async () => {
    const { headers, ...form } = await transcriptionForm();
    return [[{ ...form, headers: { ...headers, Prefer: 'respond-async' } }, 202]];
  },
  createVideo: async () => [[{ body: videoBody({ seconds: 4 }) }, 200]],
  getVideo: async () => [[{ params: { videoId: await newVideo() } }, 200]],
  downloadVideo: async () => {
    const params = { videoId: await doneVideo(world, account) };
    const { headers } = await send(served.url, routeOf('downloadVideo'), { params }, account.client.key);
    return [
      [{ params, query: 'variant=thumbnail' }, 200],
      [{ params, headers: { 'If-None-Match': String(headers['etag']) } }, 304],
      ...ofFile(params),
    ];
  },
  createSpeech: async () => [[{ body: speechBody(), headers: { Prefer: 'respond-async' } }, 202]],
  createImage: async () => [
    [{ body: imageBody(), headers: { Prefer: 'respond-async' } }, 202],
    [{ body: imageBody(), headers: { Prefer: 'wait=1' } }, 202],
    [await streamedRequest('createImage', { body: imageBody({ stream: true }) }), 200],
  ],
  createResponse: async () => [[{ body: { model: 'acme/text', input: 'Say hello.', stream: true } }, 200]],
  getResponse: async () => {
    const { params = {} } = await requestOf(routeOf('getResponse'), world, account);
    return [
      [{ params: { responseId: await openResponse() } }, 200],
      [{ params, query: 'stream=true&starting_after=1&include=reasoning.encrypted_content' }, 200],
    ];
  },
  createKey: async () => [
    [{ body: { name: 'capped', scopes: ['tasks:read'], spendCaps: { day: '1' }, expiresAt: 0 } }, 200],
  ],
};

/** Invalid media tokens, by the expected response. */
const strangers = createUrlSigner({ publicUrl: served.url, signingKey: 'x'.repeat(32), lifetimeSeconds: 60 });
const longAgo = createUrlSigner({ publicUrl: served.url, signingKey: SIGNING_KEY, lifetimeSeconds: 60, now: () => 0 });
const noOutput = { outputId: 'out_none', fileName: 'x.png' };
const mediaParts = (url: string): Parts => {
  const [token = '', name = ''] = new URL(url).pathname.split('/').slice(2);
  return { params: { token, name } };
};

/** What the dashboard's own pages send. */
const ofDashboard = { Origin: served.url, 'X-Darkroom-Dashboard': '1' };

/** A request whose outputs were deleted. */
async function erasedRequest(operationId: string): Promise<Parts> {
  const parts = await requestOf(routeOf(operationId), world, account);
  const answer = await send(served.url, routeOf(operationId), parts, account.client.key);
  const { output } = (await account.client.get(String(answer.headers['x-darkroom-task-id']))).body.data;
  assert.equal((await account.client.send('DELETE', `/v1/storages/${output?.[0]?.id}`)).status, 200);
  return parts;
}

/** A request for a stream whose task has ended. */
async function streamedRequest(operationId: string, parts: Parts): Promise<Parts> {
  const headers = { ...parts.headers, 'Idempotency-Key': `streamed-${operationId}` };
  const created = await send(
    served.url,
    routeOf(operationId),
    { ...parts, headers: { ...headers, Prefer: 'respond-async' } },
    account.client.key,
  );
  const taskId = String(created.headers['x-darkroom-task-id']);
  if (operationId === 'createTranscription') await served.succeed(taskId, Buffer.from(TRANSCRIPT), 'application/json');
  else await served.succeed(taskId, Buffer.from('an image'));
  return { ...parts, headers };
}

/** What makes another request of it. */
const OTHER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createImage: { user: 'other' },
  createSpeech: { voice: 'onyx' },
  createImageEdit: { response_format: 'url' },
  createTranscription: { response_format: 'text' },
  createTranslation: { response_format: 'text' },
};

/** A request of an account that has too little for it. */
async function unpaid(parts: Parts | Promise<Parts>): Promise<Parts & { readonly key: string }> {
  const poor = await served.newAccount({ microUsd: 1n });
  return { ...(await parts), key: poor.client.key };
}

/** Of one of OpenAI's media endpoints. */
function rejectionsOfMedia(
  operationId: string,
  partsOf: (changes?: Readonly<Record<string, string>>) => Promise<Parts>,
): WalkedListener['rejections'] {
  return {
    [`${operationId} 400 MODEL_UNAVAILABLE`]: () => partsOf({ model: 'acme/none' }),
    [`${operationId} 402 INSUFFICIENT_BALANCE`]: () => unpaid(partsOf()),
    [`${operationId} 404 NOT_FOUND`]: () => erasedRequest(operationId),
    [`${operationId} 422 IDEMPOTENCY_KEY_MISMATCH`]: async () => {
      const { headers } = await requestOf(routeOf(operationId), world, account);
      const other = await partsOf(OTHER[operationId]);
      return { ...other, headers: { ...headers, ...other.headers } };
    },
  };
}

/** A request for a task that was pruned: the one that it names, or that its key created. */
async function prunedRequest(route: Route): Promise<Parts> {
  const made = await requestOf(route, world, account);
  const named = made.params?.['taskId'] ?? made.params?.['videoId'];
  if (named !== undefined) {
    await pruneNow(served.room, named as TaskId);
    return made;
  }
  const parts = { ...made, headers: { 'Idempotency-Key': `pruned-${route.operationId}`, ...made.headers } };
  const answer = await send(served.url, route, parts, account.client.key);
  await pruneNow(served.room, String(answer.headers['x-darkroom-task-id']) as TaskId);
  return parts;
}

/** Of all routes that read a task. */
const OF_PRUNED_TASKS = Object.fromEntries(
  routes
    .filter(({ errors = [] }) => errors.includes('TASK_PRUNED'))
    .map((route) => [`${route.operationId} 410 TASK_PRUNED`, () => prunedRequest(route)]),
);

const REJECTIONS: WalkedListener['rejections'] = {
  ...OF_PRUNED_TASKS,
  'callMcp 403 FORBIDDEN': async () => ({
    headers: { Origin: 'https://elsewhere.example' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  }),
  'signIn 401 UNAUTHORIZED': async () => ({ headers: ofDashboard, body: { link: 'x'.repeat(43) } }),
  'signIn 429 RATE_LIMITED': async () => {
    const headers = { ...ofDashboard, 'X-Forwarded-For': '192.0.2.200' };
    // A debt: attempts use a budget that is restored while they are made.
    served.http.rateLimiter.spendLocally({ id: 'auth:192.0.2.200', perMinute: 60 }, 10_000);
    return { headers, body: { link: 'x'.repeat(43) } };
  },
  'signIn 403 FORBIDDEN': async () => ({ body: { key: account.client.key } }),
  'createTask 400 MODEL_UNAVAILABLE': async () => ({ body: body({ model: 'acme/none' }) }),
  'estimateTask 400 MODEL_UNAVAILABLE': async () => ({ body: body({ model: 'acme/none' }) }),
  ...rejectionsOfMedia('createImage', async (changes) => ({ body: imageBody(changes) })),
  ...rejectionsOfMedia('createSpeech', async (changes) => ({ body: speechBody(changes) })),
  ...rejectionsOfMedia('createImageEdit', editForm),
  ...rejectionsOfMedia('createTranscription', transcriptionForm),
  ...rejectionsOfMedia('createTranslation', transcriptionForm),
  'countInputTokens 400 MODEL_UNAVAILABLE': async () => ({ body: { model: 'acme/none', input: 'Hi.' } }),
  'compactResponse 400 MODEL_UNAVAILABLE': async () => ({ body: { model: 'acme/none', input: 'Hi.' } }),
  'compactResponse 402 INSUFFICIENT_BALANCE': () => unpaid({ body: { model: 'acme/text', input: 'Hi.' } }),
  'createVideo 400 MODEL_UNAVAILABLE': () => videoForm({ model: 'acme/none' }),
  'createVideo 402 INSUFFICIENT_BALANCE': () => unpaid(videoForm()),
  'createVideo 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    const headers = { 'Idempotency-Key': 'a-video' };
    await account.client.send('POST', '/v1/videos', videoBody(), headers);
    return { body: videoBody({ prompt: 'a wolf' }), headers };
  },
  'createVideo 404 NOT_FOUND': async () => ({ body: videoBody({ input_reference: { file_id: 'file_none' } }) }),
  'remixVideo 400 MODEL_UNAVAILABLE': async () => ({
    params: { videoId: await doneVideo(world, account) },
    body: { prompt: 'a wolf', model: 'acme/none' },
  }),
  'remixVideo 402 INSUFFICIENT_BALANCE': async () => {
    const poor = await served.newAccount({ microUsd: 50_000n });
    const videoId = await doneVideo(world, poor);
    return { params: { videoId }, body: { prompt: 'a wolf' }, key: poor.client.key };
  },
  'remixVideo 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    const params = { videoId: await doneVideo(world, account) };
    const headers = { 'Idempotency-Key': 'a-remix' };
    await account.client.send('POST', `/v1/videos/${params.videoId}/remix`, { prompt: 'a wolf' }, headers);
    return { params, body: { prompt: 'a bear' }, headers };
  },
  'createBatch 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    const { body: first } = await requestOf(routeOf('createBatch'), world, account);
    const headers = { 'Idempotency-Key': 'a-batch' };
    await account.client.send('POST', '/v1/batches', first, headers);
    return { ...(await requestOf(routeOf('createBatch'), world, account)), headers };
  },
  'deleteVideo 409 RESPONSE_IN_PROGRESS': async () => {
    const videoId = await newVideo();
    await served.room.rows(
      "UPDATE tasks SET status = 'archiving', started_at = now() WHERE id = $1 RETURNING id",
      videoId,
    );
    return { params: { videoId } };
  },
  'createToken 403 FORBIDDEN': async () => {
    const { client } = await account.newKey({ scopes: ['tasks:write'] });
    return { body: { scopes: ['tasks:read'] }, key: client.key };
  },
  'revokeToken 403 FORBIDDEN': async () => {
    const other = await account.client.send('POST', '/v1/tokens', { scopes: ['tasks:write'] });
    const { token } = other.body.data as unknown as { token: string };
    return { ...(await requestOf(routeOf('revokeToken'), world, account)), key: token };
  },
  // A part whose bytes are no image, for a purpose that takes images.
  'completeUpload 415 UNSUPPORTED_MEDIA_TYPE': async () => {
    const described = { filename: 'a.png', purpose: 'vision', bytes: 2, mime_type: 'image/png' };
    const created = await account.client.send('POST', '/v1/uploads', described);
    const { id: uploadId } = created.body as unknown as { id: string };
    const params = { uploadId };
    const part = await send(
      served.url,
      routeOf('addUploadPart'),
      { ...(await partForm('{}')), params },
      account.client.key,
    );
    return { params, body: { part_ids: [(JSON.parse(part.text) as { id: string }).id] } };
  },
  'createTask 402 INSUFFICIENT_BALANCE': () => unpaid({ body: body() }),
  'createTask 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    await account.client.create(body(), 'twice');
    return { body: body({ metadata: { other: 'body' } }), headers: { 'Idempotency-Key': 'twice' } };
  },
  'downloadMedia 403 URL_EXPIRED': async () => mediaParts(longAgo.sign(noOutput).url),
  'downloadMedia 403 FORBIDDEN': async () => mediaParts(strangers.sign(noOutput).url),
  'downloadMedia 404 NOT_FOUND': async () => mediaParts(served.http.urlSigner.sign(noOutput).url),
  'receiveProviderHook 401 UNAUTHORIZED': async () => {
    const urls = createHookUrls({ publicUrl: served.url, signingKey: SIGNING_KEY });
    const taskId = (await newTask(account, { model: signing.name })) as TaskId;
    const url = urls.urlFor({ name: SIGNING.id, baseUrl: served.url }, taskId) ?? '';
    return { params: { upstream: SIGNING.id, token: url.split('/').at(-1) ?? '' }, body: {} };
  },
  'receiveProviderHook 404 NOT_FOUND': async () => ({ params: { upstream: 'replicate', token: 'none' }, body: {} }),
  'receiveProviderHook 413 PAYLOAD_TOO_LARGE': async () => ({
    ...(await requestOf(routeOf('receiveProviderHook'), world, account)),
    body: Buffer.alloc(256_001),
  }),
  'previewOutput 415 UNSUPPORTED_MEDIA_TYPE': async () => {
    const taskId = await newTask(account);
    await served.succeed(taskId, Buffer.from('a song'), 'audio/mpeg');
    const { body: answered } = await account.client.get(taskId);
    return { params: { taskId, outputId: answered.data.output?.[0]?.id ?? '' } };
  },
  'createChatCompletion 400 MODEL_UNAVAILABLE': async () => ({ body: chatBody({ model: 'acme/none' }) }),
  'createResponse 400 MODEL_UNAVAILABLE': async () => ({ body: { model: 'acme/images', input: 'hello' } }),
  'createChatCompletion 402 INSUFFICIENT_BALANCE': () => unpaid({ body: chatBody() }),
  'createResponse 402 INSUFFICIENT_BALANCE': () => unpaid({ body: { model: 'acme/text', input: 'hello' } }),
  'createResponse 404 NOT_FOUND': async () => {
    const deleted = { body: backgroundBody(), headers: { 'Idempotency-Key': 'a-deleted-response' } };
    const created = await account.client.send('POST', '/v1/responses', deleted.body, deleted.headers);
    const { id } = created.body as unknown as { id: string };
    await account.client.send('POST', `/v1/responses/${id}/cancel`);
    await account.client.send('DELETE', `/v1/responses/${id}`);
    return deleted;
  },
  'createResponse 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    const headers = { 'Idempotency-Key': 'a-response' };
    await account.client.send('POST', '/v1/responses', backgroundBody(), headers);
    return { body: backgroundBody({ input: 'hello again' }), headers };
  },
  'getResponse 409 RESPONSE_IN_PROGRESS': async () => ({
    params: { responseId: await openResponse() },
    query: 'stream=true',
  }),
  'deleteResponse 409 RESPONSE_IN_PROGRESS': async () => ({ params: { responseId: await openResponse() } }),
  'listResponseInputItems 409 RESPONSE_IN_PROGRESS': async () => ({ params: { responseId: await openResponse() } }),
  'getModel 404 NOT_FOUND': async () => ({ params: { modelName: 'acme/none' } }),
  'getReferenceFile 404 NOT_FOUND': async () => ({ params: { fileName: 'package.json' } }),
};

/** A video that is queued. */
function newVideo(): Promise<string> {
  return newTask(account, { model: 'acme/compatible-video', input: { prompt: 'a fox' } });
}

function backgroundBody(changes: object = {}): Readonly<Record<string, unknown>> {
  return { model: 'acme/text', input: 'hello', background: true, ...changes };
}

/** A stored response that is never completed. */
async function openResponse(): Promise<string> {
  const id = newTextCallId('responses');
  await served.text.ledger.hold({
    id,
    accountId: account.id,
    keyId: 'none',
    model: 'acme/text',
    heldMicroUsd: 0n,
    floorMicroUsd: 0n,
    inputTokens: 1,
    isStored: true,
    spendCapIds: [],
  });
  return id;
}

async function assertCallersRejected(route: Route, parts: Parts): Promise<void> {
  const suspended = await served.newAccount();
  await setSuspended(served.room.database, suspended.id, true);
  const fromSuspended = await send(served.url, route, parts, suspended.client.key);
  expectError(api, route, fromSuspended, 403, 'ACCOUNT_SUSPENDED');
  if (route.access !== 'any') {
    const others = await account.newKey({ scopes: SCOPES.filter((scope) => scope !== route.access) });
    expectError(api, route, await send(served.url, route, parts, others.client.key), 403, 'FORBIDDEN');
  }
  const slow = await served.newAccount({ createsPerMinute: 1, readsPerMinute: 1, textRequestsPerMinute: 1 });
  // A repeated key is no new request.
  const { 'Idempotency-Key': _, ...headers } = parts.headers ?? {};
  const fresh = { ...parts, headers };
  api.check(route.operationId, await send(served.url, route, fresh, slow.client.key));
  const limited = await send(served.url, route, fresh, slow.client.key);
  expectError(api, route, limited, 429, 'RATE_LIMITED');
  assert.equal(limited.headers['x-ratelimit-remaining'], '0');
}

describe('a process that is not ready', () => {
  it('names the failing dependency', async () => {
    const route = routeOf('getReadiness');
    const answer = await send(away.url, route, {}, undefined);
    api.check(route.operationId, answer);
    assert.deepEqual([answer.status, (JSON.parse(answer.text) as { database: boolean }).database], [503, false]);
  });
});

walk({
  url: served.url,
  awayUrl: away.url,
  httpsOnlyUrl: httpsOnly.url,
  routes,
  api,
  key: account.client.key,
  awayKey: newApiKey().secret,
  requestOf: (route) => requestOf(route, world, account),
  moreAnswers: MORE_ANSWERS,
  rejections: REJECTIONS,
  assertCallersRejected,
  // The first needs another store; http/direct-downloads shows it. The second needs 60 MB of webhooks from one
  // address within a minute (test/attack/request-bodies.test.ts tests their limits), the third a checkout without a build.
  unreachable: [
    'downloadMedia 307',
    'downloadVideo 307',
    'receiveProviderHook 429 RATE_LIMITED',
    'getGuide 404 NOT_FOUND',
  ],
  async settle() {
    await world.served.http.keyUse.flush();
    // The first request starts the check of the store.
    await waitFor(
      'the state of the store',
      async () => !(await raw(served.url, 'GET', '/readyz')).text.includes('"store":null'),
    );
  },
});
