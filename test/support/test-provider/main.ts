/**
 * The test provider: a process of its own that plays the far end of the published interfaces our adapters speak,
 * under `/openai/v1`, `/replicate/v1` and `/tasks/v1`, and serves its results under `/files`. Behaviour is chosen by
 * words in the prompt (`behaviour.ts`); what reached it is in its own log (`log.ts`).
 *
 * Usage: `node --import tsx test/support/test-provider/main.ts --log <file> [--port 0] [--until-stdin-ends]`
 * Prints `{"port":<n>}` when it listens. Any bearer key is accepted but none and `revoked-key`.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createJobs } from './jobs.ts';
import type { Job } from './jobs.ts';
import { createLog } from './log.ts';
import type { Protocol } from './log.ts';
import { handleOpenAi } from './openai.ts';
import { drawPicture } from './picture.ts';
import type { Incoming, Reply, Room } from './protocol.ts';
import { handleReplicate } from './replicate.ts';
import { handleTasks } from './tasks.ts';

const { values } = parseArgs({
  options: {
    log: { type: 'string' },
    port: { type: 'string', default: '0' },
    'until-stdin-ends': { type: 'boolean', default: false },
  },
});
if (values.log === undefined) throw new Error('--log <file> is required');

const INTERFACES: Readonly<Record<Protocol, (room: Room, incoming: Incoming) => Promise<Reply>>> = {
  openai: handleOpenAi,
  replicate: handleReplicate,
  tasks: handleTasks,
};

const log = createLog(values.log);
const jobs = createJobs(log);
let origin = '';
const room: Room = { jobs, log, fileUrl: (job) => `${origin}/files/${job.protocol}/${job.id}.png` };

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function sendPicture(response: ServerResponse, job: Job | undefined): Promise<void> {
  if (job === undefined || job.behaviour.hasNoFile) {
    response.writeHead(404).end();
    return;
  }
  log({ protocol: job.protocol, kind: 'file', jobId: job.id, prompt: job.prompt });
  const picture = await drawPicture(job.prompt);
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': picture.length }).end(picture);
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'drop') response.destroy();
  else if ('html' in reply) response.writeHead(reply.status, { 'content-type': 'text/html' }).end(reply.html);
  else {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(reply.json));
  }
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', origin);
  const [, fileProtocol, fileJob = ''] = /^\/files\/(\w+)\/([\w-]+)\.png$/.exec(pathname) ?? [];
  if (fileProtocol !== undefined) return sendPicture(response, jobs.find(fileProtocol as Protocol, fileJob));
  const [, protocol, path = ''] = /^\/(openai|replicate|tasks)\/v1(\/.*)$/.exec(pathname) ?? [];
  if (protocol === undefined) return send(response, { status: 404, json: {} });
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (bearer === undefined || bearer === 'revoked-key') return send(response, { status: 401, json: {} });
  const { method = 'GET', headers } = request;
  const body = await readBody(request);
  send(response, await INTERFACES[protocol as Protocol](room, { method, path, headers, body }));
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});

// A test that is killed cannot stop us; its end of the pipe closes all the same.
if (values['until-stdin-ends']) process.stdin.resume().once('end', () => process.exit(0));
