/**
 * The test provider: a process of its own that simulates the published interfaces that our adapters support, under
 * `/openai/v1`, `/replicate/v1`, `/tasks/v1` and so on, and serves its results under `/files`. Behaviour is chosen by
 * words in the prompt (`behaviour.ts`); what reached it is in its own log (`log.ts`).
 *
 * Usage: `node dist/test/support/test-provider/main.js --log <file> [--port 0] [--until-stdin-ends]` Prints
 * `{"port":<n>}` when it listens, and releases what is held (`holds.ts`) for each line of text on its standard input.
 * Any key is accepted except an empty one and `revoked-key`, each in the interface's own form; a container (`cog`)
 * requires none.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createJobs } from './jobs.ts';
import type { Job } from './jobs.ts';
import { handleCog } from './cog.ts';
import { handleFal } from './fal.ts';
import { drawVideo } from './video.ts';
import { createHolds } from './holds.ts';
import { createLog, PROTOCOLS } from './log.ts';
import type { Protocol } from './log.ts';
import { handleOpenAi } from './openai.ts';
import { drawImage } from './image.ts';
import type { Incoming, ReceivedFile, Reply, Room } from './protocol.ts';
import { handleReplicate } from './replicate.ts';
import { handleRunway } from './runway.ts';
import { handleTasks } from './tasks.ts';

const { values } = parseArgs({
  options: {
    log: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    'until-stdin-ends': { type: 'boolean', default: false },
  },
});
if (values.log === undefined) throw new Error('--log <file> is required');

const INTERFACES: Readonly<Record<Protocol, (room: Room, incoming: Incoming) => Promise<Reply>>> = {
  openai: handleOpenAi,
  replicate: handleReplicate,
  tasks: handleTasks,
  cog: handleCog,
  fal: handleFal,
  runway: handleRunway,
};
/** The scheme of the key, if it is not `Bearer`. */
const SCHEMES: Readonly<Partial<Record<Protocol, string>>> = { fal: 'Key' };

const log = createLog(values.log);
const holds = createHolds();
const jobs = createJobs(log, holds);
let origin = '';
const room: Room = { jobs, log, fileUrl: (job) => `${origin}/files/${job.protocol}/${job.id}.png` };

async function readBody(request: IncomingMessage): Promise<Pick<Incoming, 'body' | 'files'>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const contentType = request.headers['content-type'] ?? '';
  if (contentType.startsWith('multipart/')) return readForm(bytes, contentType);
  const text = bytes.toString('utf8');
  return { body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>), files: [] };
}

async function readForm(bytes: Buffer, contentType: string): Promise<Pick<Incoming, 'body' | 'files'>> {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
  const body: Record<string, unknown> = {};
  const files: ReceivedFile[] = [];
  for (const [field, value] of form) {
    if (typeof value === 'string') body[field] = value;
    else {
      const { name, type } = value;
      files.push({ field, name, mimeType: type, bytes: Buffer.from(await value.arrayBuffer()) });
    }
  }
  return { body, files };
}

async function sendFile(request: IncomingMessage, response: ServerResponse, job: Job | undefined): Promise<void> {
  if (job === undefined || job.behaviour.hasNoFile) {
    response.writeHead(404).end();
    return;
  }
  const { fileRedirect, hasHtmlFile, hasHugeFile, isVideo, cutFileBytes } = job.behaviour;
  const bearer = bearerOf(request);
  const credential = bearer === undefined ? {} : { bearer };
  log({ protocol: job.protocol, kind: 'file', jobId: job.id, prompt: job.prompt, ...credential });
  if (fileRedirect !== undefined) {
    response.writeHead(302, { location: fileRedirect }).end();
    return;
  }
  if (hasHtmlFile) return send(response, { status: 200, html: '<!doctype html><title>Sign in</title>' });
  if (hasHugeFile) {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 3e12 }).write('x');
    return;
  }
  const whole = isVideo ? await drawVideo(job.prompt) : await drawImage(job.prompt);
  const bytes = cutFileBytes > 0 ? whole.subarray(0, cutFileBytes) : whole;
  response.writeHead(200, { 'content-type': isVideo ? 'video/mp4' : 'image/png', 'content-length': bytes.length });
  if (job.fileBreaksLeft-- > 0) response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  else response.end(bytes);
}

function bearerOf(request: IncomingMessage): string | undefined {
  return keyOf(request, 'Bearer');
}

function keyOf(request: IncomingMessage, scheme: string): string | undefined {
  const [, given, key] = /^(\w+) (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  return given === scheme ? key : undefined;
}

function send(response: ServerResponse, reply: Exclude<Reply, { readonly fileOf: Job }>): void {
  if (reply === 'drop') response.destroy();
  else if (reply === 'huge') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 3e12 }).write('{');
  } else if ('bytes' in reply) response.writeHead(reply.status, { 'content-type': reply.mimeType }).end(reply.bytes);
  else if ('html' in reply) response.writeHead(reply.status, { 'content-type': 'text/html' }).end(reply.html);
  else {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.json === undefined ? undefined : JSON.stringify(reply.json));
  }
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams: query } = new URL(request.url ?? '/', origin);
  const [, fileProtocol, fileJob = ''] = /^\/files\/(\w+)\/([\w-]+)\.png$/.exec(pathname) ?? [];
  if (fileProtocol !== undefined) return sendFile(request, response, jobs.find(fileProtocol as Protocol, fileJob));
  const { method = 'GET', headers } = request;
  const abandoned = new Promise<void>((resolve) => response.once('close', resolve));
  // Before any response: one that is sent while the body is still arriving can be lost with the connection.
  const sent = await readBody(request);
  const [, first, path = ''] = /^\/(\w+)\/v1(\/.*)$/.exec(pathname) ?? [];
  const protocol = PROTOCOLS.find((each) => each === first);
  if (protocol === undefined) return send(response, { status: 404, json: {} });
  const key = keyOf(request, SCHEMES[protocol] ?? 'Bearer');
  const isAllowed = key === undefined ? protocol === 'cog' : key !== 'revoked-key';
  if (!isAllowed) return send(response, { status: 401, json: {} });
  const incoming = { method, path, query, headers, abandoned, ...sent };
  const reply = await INTERFACES[protocol](room, incoming);
  if (typeof reply === 'object' && 'fileOf' in reply) return sendFile(request, response, reply.fileOf);
  send(response, reply);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});
server.listen(Number(values.port), values.host, () => {
  const { port } = server.address() as AddressInfo;
  origin = `http://${values.host}:${port}`;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});

// A killed test cannot stop us, but its end of the pipe still closes.
if (values['until-stdin-ends']) {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (text) => {
    holds.release(text);
    process.stdout.write(`${JSON.stringify({ released: text })}\n`);
  });
  lines.once('close', () => process.exit(0));
}
