/**
 * One successful request for each route, made from nothing but an account: the basis of the walk over all routes and
 * the matrix of rights. A route without an entry here fails both.
 */
import assert from 'node:assert/strict';
import sharp from 'sharp';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { Route } from '../../src/http/app/route.ts';
import { createHookUrls } from '../../src/upstreams/provider-hooks.ts';
import { body } from '../tasks/task-room.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { SIGNING_KEY } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

export interface Parts {
  readonly params?: Readonly<Record<string, string>>;
  /** `page=1&size=2`, as it is sent. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A Buffer is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** A form as it is sent. */
interface Form {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface World {
  readonly served: ServedApp;
  /** A callback URL that the app may reach. */
  readonly receiverUrl: string;
}

type Maker = (world: World, account: ServedAccount) => Promise<Parts>;

/** A task that is queued. */
export async function newTask(account: ServedAccount, changes: Record<string, unknown> = {}): Promise<string> {
  const { status, body: answered } = await account.client.create(body(changes));
  assert.equal(status, 200, JSON.stringify(answered));
  return answered.data.taskId;
}

/** A task that has succeeded with one image. */
export async function doneTask({ served }: World, account: ServedAccount): Promise<string> {
  const taskId = await newTask(account, {
    callback: { url: 'https://example.com/hook' },
    metadata: { project: 'north' },
  });
  await served.succeed(taskId, await createImage());
  return taskId;
}

async function newOutput(world: World, account: ServedAccount): Promise<{ id: string; url: string }> {
  const { body: answered } = await account.client.get(await doneTask(world, account));
  const [output] = answered.data.output ?? [];
  assert.ok(output);
  return output;
}

/** A token of the key that the requests are sent with. */
async function newTokenId({ client }: ServedAccount): Promise<string> {
  const { body: answered } = await client.send('POST', '/v1/tokens', { scopes: ['tasks:read'] });
  return (answered.data as unknown as { id: string }).id;
}

async function newFile({ served }: World, account: ServedAccount): Promise<string> {
  const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' };
  const answer = await raw(served.url, 'POST', '/v1/files', headers, await createImage());
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { data: { id: string } }).data.id;
}

/** As clients send a form. */
export async function encodedForm(form: FormData): Promise<Form> {
  const encoded = new Response(form);
  const headers = { 'Content-Type': encoded.headers.get('content-type') ?? '' };
  return { headers, body: Buffer.from(await encoded.arrayBuffer()) };
}

/** The form of a file for OpenAI's API. */
export async function fileForm(
  fields: Readonly<Record<string, string>>,
  file: Buffer | string,
  name: string,
): Promise<Form> {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append('file', new Blob([file]), name);
  return encodedForm(form);
}

/** The id of a file in OpenAI's form. */
async function newBatchFile({ served }: World, account: ServedAccount): Promise<string> {
  const { headers, body: sent } = await fileForm({ purpose: 'batch' }, '{"custom_id":"a"}\n', 'lines.jsonl');
  const authorization = { Authorization: `Bearer ${account.client.key}` };
  const answer = await raw(served.url, 'POST', '/v1/files', { ...headers, ...authorization }, sent);
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { id: string }).id;
}

/** The id of a batch. Those before it are ended, as nothing else here does: an account may have 100 open ones. */
async function newBatch(world: World, account: ServedAccount): Promise<string> {
  const endAll = `UPDATE batches SET status = 'cancelled', ended_at = now() WHERE account_id = $1 AND ended_at IS NULL`;
  await world.served.room.rows(endAll, account.id);
  const body = { ...batchBody, input_file_id: await newBatchFile(world, account) };
  const answer = await account.client.send('POST', '/v1/batches', body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return (answer.body as unknown as { id: string }).id;
}

/** The form of a part of an upload. */
export async function partForm(bytes: Buffer | string): Promise<Form> {
  const form = new FormData();
  form.append('data', new Blob([bytes]), 'data');
  return encodedForm(form);
}

const batchBody = { endpoint: '/v1/tasks', completion_window: '24h' };
const uploadBody = { filename: 'lines.jsonl', purpose: 'batch', bytes: 2, mime_type: 'application/jsonl' };

/** An upload with its only part. */
async function newUpload(
  { served }: World,
  account: ServedAccount,
): Promise<{ readonly uploadId: string; readonly partId: string }> {
  const created = await account.client.send('POST', '/v1/uploads', uploadBody);
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const { id: uploadId } = created.body as unknown as { id: string };
  const { headers, body: sent } = await partForm('{}');
  const authorized = { ...headers, Authorization: `Bearer ${account.client.key}` };
  const added = await raw(served.url, 'POST', `/v1/uploads/${uploadId}/parts`, authorized, sent);
  assert.equal(added.status, 200, added.text);
  return { uploadId, partId: (JSON.parse(added.text) as { id: string }).id };
}

/** A chat request that the text model of the task room answers. */
export function chatBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/text', messages: [{ role: 'user', content: 'Say hello.' }], ...changes };
}

async function newResponse({ client }: ServedAccount, changes: object = {}): Promise<string> {
  const sent = { model: 'acme/text', input: 'Say hello.', ...changes };
  const answer = await client.send('POST', '/v1/responses', sent);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return (answer.body as unknown as { id: string }).id;
}

export function createImage(): Promise<Buffer> {
  return sharp({ create: { width: 2, height: 1, channels: 3, background: '#c33' } })
    .png()
    .toBuffer();
}

/**
 * A request to one of OpenAI's media endpoints whose task, which its key names, has ended. Another account, which has
 * no such task, does not wait for its own.
 */
async function mediaRequest({ served }: World, account: ServedAccount, path: string, sent: Parts): Promise<Parts> {
  const headers = { ...sent.headers, 'Idempotency-Key': `media-${++mediaRequests}` };
  const type = Buffer.isBuffer(sent.body) ? {} : { 'Content-Type': 'application/json' };
  const created = await raw(
    served.url,
    'POST',
    path,
    { ...type, ...headers, Authorization: `Bearer ${account.client.key}`, Prefer: 'respond-async' },
    bytesOf(sent.body),
  );
  assert.equal(created.status, 202, created.text);
  const { taskId } = JSON.parse(created.text) as { taskId: string };
  if (path.endsWith('speech')) await served.succeed(taskId, Buffer.from('a sound'), 'audio/mpeg');
  else if (/(transcriptions|translations)$/.test(path))
    await served.succeed(taskId, Buffer.from(TRANSCRIPT), 'application/json');
  else await served.succeed(taskId, await createImage());
  return { body: sent.body, headers: { ...headers, Prefer: 'wait=1' } };
}

/** A transcript in our JSON. */
export const TRANSCRIPT = JSON.stringify({
  text: 'Mind the gap.',
  language: 'en',
  duration: 1.5,
  segments: [{ start: 0, end: 1.5, text: 'Mind the gap.' }],
});

/** The form of an edit. */
export async function editForm(changes: Readonly<Record<string, string>> = {}): Promise<Form> {
  const form = new FormData();
  const fields = { model: 'acme/compatible-edit', prompt: 'make it night', ...changes };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('image', new Blob([new Uint8Array(await createImage())]), 'image.png');
  return encodedForm(form);
}

/** The form of a transcription. */
export async function transcriptionForm(
  changes: Readonly<Record<string, string | undefined>> = {},
  file: Buffer = drawAudio('a station', 1.5),
): Promise<Form> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'acme/compatible-transcription', ...changes })) {
    if (value !== undefined) form.append(name, value);
  }
  form.append('file', new Blob([file]), 'station.wav');
  return encodedForm(form);
}

let mediaRequests = 0;

/** A request for an image that the model of the task room answers. */
export function imageBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/compatible', prompt: 'a fox', ...changes };
}

/** A request for speech that the model of the task room answers. */
export function speechBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/compatible-speech', input: 'Hello.', voice: 'alloy', ...changes };
}

/** A request for a video that the model of the task room answers. */
export function videoBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/compatible-video', prompt: 'a fox', ...changes };
}

/** The form that OpenAI's clients make of a request for a video. */
export async function videoForm(changes: Readonly<Record<string, string | Blob | undefined>> = {}): Promise<Form> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'acme/compatible-video', prompt: 'a fox', ...changes })) {
    if (value !== undefined) form.append(name, value);
  }
  return encodedForm(form);
}

/** A completed video. */
export async function doneVideo({ served }: World, account: ServedAccount): Promise<string> {
  const videoId = await newTask(account, { model: 'acme/compatible-video', input: { prompt: 'a fox' } });
  const size = { width: 1280, height: 720 };
  await served.succeedWith(videoId, [
    { type: 'video', bytes: Buffer.from('a video'), mimeType: 'video/mp4', durationSeconds: 5.04, ...size },
    { type: 'thumbnail', bytes: await createImage(), mimeType: 'image/png', width: 2, height: 1 },
  ]);
  return videoId;
}

/** With minimal rights, so that every key may do with it what its scope permits. */
async function newKeyId(account: ServedAccount): Promise<string> {
  return (await account.newKey({ scopes: ['keys:manage'] })).id;
}

const nothing: Maker = async () => ({});

/** By `operationId`. Each creates the data that it needs: a request may consume it. */
export const REQUESTS: Readonly<Record<string, Maker>> = {
  createTask: async () => ({ body: body() }),
  createTasks: async () => ({ body: { tasks: [body(), body({ model: 'acme/none' })] } }),
  estimateTask: async () => ({ body: body() }),
  listTasks: async (world, account) => {
    await doneTask(world, account);
    return { query: 'page=1&size=5&status=success,queued&metadata.project=north' };
  },
  getTask: async (world, account) => ({ params: { taskId: await doneTask(world, account) } }),
  previewOutput: async (world, account) => {
    const taskId = await doneTask(world, account);
    const { body: answered } = await account.client.get(taskId);
    return { params: { taskId, outputId: answered.data.output?.[0]?.id ?? '' }, query: 'maxEdge=64&maxBytes=20000' };
  },
  cancelTask: async (_, account) => ({ params: { taskId: await newTask(account) } }),
  eraseTask: async (world, account) => ({ params: { taskId: await doneTask(world, account) } }),
  getTaskEvents: async (world, account) => ({ params: { taskId: await doneTask(world, account) } }),
  listCallbackAttempts: async (world, account) => ({ params: { taskId: await doneTask(world, account) } }),
  redeliverCallback: async (world, account) => ({ params: { taskId: await doneTask(world, account) } }),
  listStoredOutputs: async (world, account) => {
    await newOutput(world, account);
    return { query: 'size=3&storage_tier=temp&type=image' };
  },
  promoteStoredOutputs: async (world, account) => ({ body: [(await newOutput(world, account)).id, 'out_none'] }),
  deleteStoredOutputs: async (world, account) => ({ body: [(await newOutput(world, account)).id, 'out_none'] }),
  deleteStoredOutputsByPost: async (world, account) => ({ body: [(await newOutput(world, account)).id] }),
  deleteStoredOutput: async (world, account) => ({ params: { outputId: (await newOutput(world, account)).id } }),
  uploadFile: async () => ({ body: await createImage(), headers: { 'Content-Type': 'image/png' } }),
  getFile: async (world, account) => ({ params: { fileId: await newFile(world, account) } }),
  createUpload: async () => ({ body: uploadBody }),
  addUploadPart: async (world, account) => ({
    ...(await partForm('{}')),
    params: { uploadId: (await newUpload(world, account)).uploadId },
  }),
  completeUpload: async (world, account) => {
    const { uploadId, partId } = await newUpload(world, account);
    return { params: { uploadId }, body: { part_ids: [partId] } };
  },
  cancelUpload: async (world, account) => ({
    params: { uploadId: (await newUpload(world, account)).uploadId },
  }),
  listFiles: async (world, account) => {
    const after = await newBatchFile(world, account);
    await newBatchFile(world, account);
    return { query: `purpose=batch&limit=2&order=asc&after=${after}` };
  },
  createBatch: async (world, account) => ({
    body: { ...batchBody, input_file_id: await newBatchFile(world, account), metadata: { order: '7' } },
  }),
  getBatch: async (world, account) => ({ params: { batchId: await newBatch(world, account) } }),
  cancelBatch: async (world, account) => ({ params: { batchId: await newBatch(world, account) } }),
  listBatches: async (world, account) => {
    await newBatch(world, account);
    return { query: `limit=1&after=${await newBatch(world, account)}` };
  },
  getFileContent: async (world, account) => ({ params: { fileId: await newFile(world, account) } }),
  deleteFile: async (world, account) => ({ params: { fileId: await newFile(world, account) } }),
  createChatCompletion: async () => ({ body: chatBody() }),
  createImage: (world, account) => mediaRequest(world, account, '/v1/images/generations', { body: imageBody() }),
  createImageEdit: async (world, account) => mediaRequest(world, account, '/v1/images/edits', await editForm()),
  createSpeech: (world, account) => mediaRequest(world, account, '/v1/audio/speech', { body: speechBody() }),
  listSpeechModels: nothing,
  listVoices: async () => ({ query: 'model=acme/compatible-speech' }),
  createTranscription: async (world, account) =>
    mediaRequest(world, account, '/v1/audio/transcriptions', await transcriptionForm()),
  createTranslation: async (world, account) =>
    mediaRequest(world, account, '/v1/audio/translations', await transcriptionForm()),
  createVideo: async () => {
    const file = new Blob([await createImage()], { type: 'image/png' });
    return videoForm({ seconds: '4', size: '1280x720', input_reference: file });
  },
  listVideos: async (world, account) => {
    await doneVideo(world, account);
    return { query: 'limit=5&order=asc' };
  },
  getVideo: async (world, account) => ({ params: { videoId: await doneVideo(world, account) } }),
  downloadVideo: async (world, account) => ({ params: { videoId: await doneVideo(world, account) } }),
  remixVideo: async (world, account) => ({
    params: { videoId: await doneVideo(world, account) },
    body: { prompt: 'a wolf' },
  }),
  deleteVideo: async (world, account) => ({ params: { videoId: await doneVideo(world, account) } }),
  createResponse: async () => ({ body: { model: 'acme/text', input: 'Say hello.' } }),
  countInputTokens: async () => ({ body: { model: 'acme/text', input: 'Say hello.' } }),
  compactResponse: async () => ({ body: { model: 'acme/text', input: 'My name is Ada.' } }),
  getResponse: async (_, account) => ({ params: { responseId: await newResponse(account) } }),
  cancelResponse: async (_, account) => ({ params: { responseId: await newResponse(account, { background: true }) } }),
  deleteResponse: async (_, account) => ({ params: { responseId: await newResponse(account) } }),
  listResponseInputItems: async (_, account) => ({
    params: { responseId: await newResponse(account) },
    query: 'limit=5&order=asc',
  }),
  listModels: nothing,
  getModel: async () => ({ params: { modelName: 'acme/images' } }),
  getAccount: nothing,
  listLedger: async (_, account) => {
    await newTask(account);
    return { query: 'size=2&kind=topup,hold' };
  },
  getUsage: async (world, account) => {
    await doneTask(world, account);
    return { query: 'groupBy=day,model,keyId' };
  },
  listKeys: nothing,
  createKey: async () => ({ body: { name: 'made by a key', scopes: ['keys:manage'] } }),
  createToken: async () => ({ body: { scopes: ['tasks:write'], seconds: 60, origins: ['https://shop.example'] } }),
  revokeToken: async (_, account) => ({ params: { tokenId: await newTokenId(account) } }),
  rotateKey: async (_, account) => ({ params: { keyId: await newKeyId(account) } }),
  revokeKey: async (_, account) => ({ params: { keyId: await newKeyId(account) } }),
  getWebhookKey: nothing,
  setWebhookKey: async () => ({ body: { secret: 'a secret of sixteen or more' } }),
  rotateWebhookKey: nothing,
  deleteWebhookKey: nothing,
  listAccountCallbacks: async (_, account) => {
    await newTask(account);
    return { query: 'size=2&state=pending,delivered&origin=https://example.com' };
  },
  testWebhook: async ({ receiverUrl }) => ({ body: { url: receiverUrl } }),
  callMcp: async () => ({ body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
  signIn: async ({ served: { url } }, account) => ({
    headers: { Origin: url, 'X-Darkroom-Dashboard': '1' },
    body: { key: account.client.key },
  }),
  getSession: nothing,
  signOut: async () => ({ query: 'everywhere=true' }),
  getDashboard: nothing,
  getDashboardFile: async () => ({ params: { fileName: 'icon.svg' } }),
  downloadMedia: async (world, account) => {
    const [token = '', name = ''] = new URL((await newOutput(world, account)).url).pathname.split('/').slice(2);
    return { params: { token, name } };
  },
  receiveProviderHook: async ({ served: { url } }, account) => {
    const urls = createHookUrls({ publicUrl: url, signingKey: SIGNING_KEY });
    const hookUrl = urls.urlFor({ name: 'replicate', baseUrl: url }, (await newTask(account)) as TaskId);
    assert.ok(hookUrl);
    const [upstream = '', token = ''] = new URL(hookUrl).pathname.split('/').slice(2);
    return { params: { upstream, token }, body: { status: 'succeeded' } };
  },
  getHealth: nothing,
  getReadiness: nothing,
  getGuide: nothing,
  getGuideFile: async () => ({ params: { fileName: 'contract' } }),
  getOpenApi: nothing,
  getReference: nothing,
  getReferenceFile: async () => ({ params: { fileName: 'start.js' } }),
};

/** The request that succeeds. @throws {AssertionError} no success of the route is defined. */
export function requestOf(route: Route, world: World, account: ServedAccount): Promise<Parts> {
  const make = REQUESTS[route.operationId];
  assert.ok(make, `${route.operationId} has no request in test/http/route-requests.ts that shows it at work`);
  return make(world, account);
}

/** Each request comes from an address of its own, so that no test meets the limit on failed attempts by address. */
let addresses = 0;

/** @param key undefined: none is sent. @param method another than the route's: HEAD. */
export function send(
  url: string,
  route: Route,
  parts: Parts,
  key: string | undefined,
  method: string = route.method,
): Promise<RawAnswer> {
  addresses += 1;
  const isRaw = Buffer.isBuffer(parts.body);
  const sent = bytesOf(parts.body);
  const headers = {
    // Node frames the body of a DELETE only with this header.
    ...(sent === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(sent)) }),
    'X-Forwarded-For': `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`,
    ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    ...(parts.body === undefined || isRaw ? {} : { 'Content-Type': 'application/json' }),
    ...parts.headers,
  };
  const query = parts.query === undefined ? '' : `?${parts.query}`;
  return raw(url, method, `${filledPath(route, parts)}${query}`, headers, sent);
}

function bytesOf(body: unknown): string | Buffer | undefined {
  return body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
}

/** The route's path with its parameters filled in. */
export function filledPath(route: Route, { params = {} }: Parts): string {
  return route.path.replaceAll(/\{(\w+)(\.\.\.)?\}/g, (_, name: string, takesSlashes?: string) => {
    const value = params[name] ?? 'x';
    return takesSlashes === undefined ? encodeURIComponent(value) : value;
  });
}
