/**
 * The campaign's provider, a process of its own: the test provider's `tasks` (idempotent submits) and `replicate`
 * (none) interfaces over jobs that outlive it, `openai` images, which are returned in the response, its files, and a
 * text upstream. It logs everything in its own ledger.
 *
 * Usage: `node dist/test/chaos/provider/main.js --ledger <file> --port <n> --public <url>`; a message
 * `{"mode":"errors"}` over its channel makes all of it misbehave until `{"mode":"normal"}`.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Job } from '../../support/test-provider/jobs.ts';
import type { LogLine } from '../../support/test-provider/log.ts';
import { drawImage } from '../../support/test-provider/image.ts';
import type { Incoming, Reply, Room } from '../../support/test-provider/protocol.ts';
import { handleOpenAi } from '../../support/test-provider/openai.ts';
import { handleReplicate } from '../../support/test-provider/replicate.ts';
import { handleTasks } from '../../support/test-provider/tasks.ts';
import { HOSTILE_CONTAINERS } from '@darkroom/testing/hostile-containers';
import { openLedger } from '../ledger-file.ts';
import type { ProviderMode } from '../schedule.ts';
import { openJobs } from './jobs.ts';
import type { ProviderLine } from './ledger.ts';
import { drawNoise } from './noise.ts';
import { answerChat, markerOf } from './text.ts';

const { values } = parseArgs({
  options: { ledger: { type: 'string' }, port: { type: 'string' }, public: { type: 'string' } },
});
const { ledger = '', port = '0', public: origin = '' } = values;
const write = openLedger<ProviderLine>(ledger);
const room: Room = {
  jobs: openJobs(ledger, write),
  log: (line: Omit<LogLine, 'at'>) => {
    if (line.kind !== 'file') write({ ...line, kind: line.kind });
  },
  fileUrl: (job) => `${origin}/files/${job.protocol}/${job.id}.png`,
};
const HANDLERS = { tasks: handleTasks, replicate: handleReplicate, openai: handleOpenAi } as const;

/** `[drip-file 8000]`: the rate in bytes per second of a large file. */
const DRIP = /\[drip-file (\d+)\]/;
const DRIP_INTERVAL_MS = 250;
/** `[long-log]`: what is said about a job has its log, of 0.8 MB or of 1.6 MB. */
const LONG_LOGS = [10_000, 20_000].map((lines) =>
  Buffer.from(`,"logs":${JSON.stringify(Array.from({ length: lines }, (_, line) => String(line).padEnd(78, '.')))}}`),
);

let longLogs = 0;
let mode: ProviderMode | 'normal' = 'normal';
/** Requests that wait while the provider hangs: they are cut when that ends. */
const hanging = new Set<ServerResponse>();
process.on('message', (message: { mode?: ProviderMode | 'normal' }) => {
  mode = message.mode ?? 'normal';
  for (const response of hanging) response.destroy();
  hanging.clear();
});

/** @returns whether the request was handled. */
function misbehave(path: string, body: Record<string, unknown>, response: ServerResponse): boolean {
  if (mode === 'normal') return false;
  const text = path.startsWith('/text/') ? { marker: markerOf(body) } : {};
  write({ kind: 'misbehaved', mode, path, ...text });
  const json = { 'content-type': 'application/json' };
  if (mode === 'errors') response.writeHead(502, json).end('{"detail":"The text of this provider."}');
  else if (mode === 'busy') response.writeHead(429, { ...json, 'retry-after': '2' }).end('{"detail":"later"}');
  else if (mode === 'garbage') response.writeHead(200, json).end('{"status":{"of":[}<<<');
  else hanging.add(response);
  return true;
}

/** Logs what a result is when it arrives complete. */
function announce(jobId: string, prompt: string, bytes: Buffer): void {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  write({ kind: 'file', jobId, prompt, sha256, bytes: bytes.length });
}

async function drip(response: ServerResponse, bytes: Buffer, bytesPerSecond: number): Promise<void> {
  const step = Math.ceil((bytesPerSecond * DRIP_INTERVAL_MS) / 1000);
  for (let sent = 0; sent < bytes.length && !response.destroyed; sent += step) {
    response.write(bytes.subarray(sent, sent + step));
    await sleep(DRIP_INTERVAL_MS);
  }
  response.end();
}

function noteCaller({ prompt, input }: Record<string, unknown>, authorization = ''): void {
  const asked = prompt ?? (typeof input === 'object' && input !== null && 'prompt' in input ? input.prompt : undefined);
  if (typeof asked === 'string') write({ kind: 'asked', prompt: asked, authorization });
}

/** Files inside a response: a synchronous provider's. */
function announceAnswer(reply: Reply, prompt: unknown): void {
  if (typeof reply === 'string' || !('json' in reply)) return;
  const { data } = (reply.json ?? {}) as { data?: readonly { b64_json?: string }[] };
  if (!Array.isArray(data) || typeof prompt !== 'string') return;
  for (const { b64_json: base64 } of data)
    if (base64 !== undefined) announce('', prompt, Buffer.from(base64, 'base64'));
}

async function sendFile(response: ServerResponse, job: Job | undefined): Promise<void> {
  if (job === undefined || job.behaviour.hasNoFile) {
    response.writeHead(404).end();
    return;
  }
  const { fileRedirect, hasHtmlFile, cutFileBytes } = job.behaviour;
  if (fileRedirect !== undefined) {
    response.writeHead(302, { location: fileRedirect }).end();
    return;
  }
  if (hasHtmlFile) {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
    return;
  }
  const [, pace] = DRIP.exec(job.prompt) ?? [];
  const draw = pace === undefined ? drawImage : drawNoise;
  const whole = hostileFile(job.prompt) ?? (await draw(job.prompt));
  const bytes = cutFileBytes > 0 ? whole.subarray(0, cutFileBytes) : whole;
  announce(job.id, job.prompt, bytes);
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length });
  if (pace !== undefined) await drip(response, bytes, Number(pace));
  else if (job.fileBreaksLeft-- > 0) response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  else response.end(bytes);
}

/** `[container 3]`: a file whose tables are designed to be expensive to read, whatever type it declares. */
function hostileFile(prompt: string): Buffer | undefined {
  const [, index] = /\[container (\d+)\]/.exec(prompt) ?? [];
  if (index === undefined) return undefined;
  const makers = Object.values(HOSTILE_CONTAINERS);
  return makers[Number(index) % makers.length]?.();
}

/** @param log the end of the object that the reply is, in place of its brace. */
function send(response: ServerResponse, reply: Reply, log?: Buffer): void {
  if (reply === 'drop') response.destroy();
  else if (reply === 'huge') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 3e12 }).write('{');
  } else if ('html' in reply) response.writeHead(reply.status, { 'content-type': 'text/html' }).end(reply.html);
  else if ('json' in reply) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    const json = JSON.stringify(reply.json ?? {});
    if (log === undefined) response.end(json);
    else response.write(json.slice(0, -1), () => response.end(log));
  } else response.destroy();
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://provider');
  // Before any response: one that is sent while the body is still arriving can be lost with the connection.
  const body = await readJson(request);
  if (misbehave(pathname, body, response)) return;
  const [, fileProtocol, fileJob = ''] = /^\/files\/(\w+)\/([\w-]+)\.png$/.exec(pathname) ?? [];
  if (fileProtocol === 'tasks' || fileProtocol === 'replicate') {
    return sendFile(response, room.jobs.find(fileProtocol, fileJob));
  }
  const [, name, path = ''] = /^\/(\w+)\/v1(\/.*)$/.exec(pathname) ?? [];
  if (name === 'text') return answerChat(body, response, write);
  if (name !== 'tasks' && name !== 'replicate' && name !== 'openai') return send(response, { status: 404, json: {} });
  const { method = 'GET', headers } = request;
  if (method === 'POST') noteCaller(body, headers.authorization);
  const abandoned = new Promise<void>((resolve) => response.once('close', resolve));
  const incoming: Incoming = { method, path, query, headers, body, files: [], abandoned };
  const reply = await HANDLERS[name](room, incoming);
  announceAnswer(reply, body['prompt']);
  send(response, reply, method === 'GET' ? longLogOf(reply) : undefined);
}

function longLogOf(reply: Reply): Buffer | undefined {
  if (typeof reply === 'string' || !('json' in reply)) return undefined;
  const { input } = (reply.json ?? {}) as { input?: { prompt?: string } };
  return input?.prompt?.includes('[long-log]') === true ? LONG_LOGS[longLogs++ % LONG_LOGS.length] : undefined;
}

const server = createServer((request, response) => {
  response.on('error', () => undefined);
  handle(request, response).catch(() => response.destroy());
});
server.listen(Number(port), '127.0.0.1', () => process.send?.({ type: 'ready' }));
process.once('SIGTERM', () => process.exit(0));
// No process may outlive the campaign.
process.once('disconnect', () => process.exit(0));
