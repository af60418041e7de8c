/**
 * The far end of the capacity bench, in a process of its own: an images endpoint that answers with the bytes, jobs that
 * are polled and whose result has a URL, and a receiver of callbacks. It reports its port over its channel.
 *
 * A prompt has the time that the work takes and the size of its result: `a lake [1000 ms] [64 kB]`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import sharp from 'sharp';

const CHANNELS = 3;

interface Job {
  readonly endsAt: number;
  readonly kilobytes: number;
}

const images = new Map<number, Promise<Buffer>>();
const jobs = new Map<string, Job>();

/** Noise, which no encoder makes smaller. */
function imageOf(kilobytes: number): Promise<Buffer> {
  const existing = images.get(kilobytes);
  if (existing !== undefined) return existing;
  const side = Math.max(1, Math.round(Math.sqrt((kilobytes * 1_000) / CHANNELS)));
  const raw = { width: side, height: side, channels: CHANNELS } as const;
  const image = sharp(randomBytes(side * side * CHANNELS), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
  images.set(kilobytes, image);
  return image;
}

function orderOf(prompt: string): { readonly workMs: number; readonly kilobytes: number } {
  const number = (unit: string): number => Number(new RegExp(`\\[(\\d+) ${unit}\\]`).exec(prompt)?.[1] ?? 1);
  return { workMs: number('ms'), kilobytes: number('kB') };
}

function send(response: ServerResponse, body: object, headers: Readonly<Record<string, string>> = {}): void {
  response.setHeaders(new Map(Object.entries({ 'Content-Type': 'application/json', ...headers })));
  response.end(JSON.stringify(body));
}

const success = (data: object) => ({ code: 200, message: 'success', data, error_code: '' });

async function answerWithBytes(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt } = JSON.parse(await text(request)) as { readonly prompt: string };
  const { workMs, kilobytes } = orderOf(prompt);
  await sleep(workMs);
  const image = await imageOf(kilobytes);
  send(response, { created: 1_795_000_000, data: [{ b64_json: image.toString('base64') }] });
}

async function acceptJob(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { input } = JSON.parse(await text(request)) as { readonly input: { readonly prompt: string } };
  const { workMs, kilobytes } = orderOf(input.prompt);
  const id = randomUUID();
  jobs.set(id, { endsAt: performance.now() + workMs, kilobytes });
  send(response, success({ taskId: id }));
}

function showJob(id: string, response: ServerResponse): void {
  const job = jobs.get(id);
  if (job === undefined) {
    response.writeHead(404).end();
    return;
  }
  const common = { taskId: id, created: 1_795_000_000 };
  if (job.endsAt > performance.now()) {
    send(response, success({ ...common, status: 'handling' }), { 'Retry-After': '1' });
    return;
  }
  const url = `http://127.0.0.1:${port()}/files/${job.kilobytes}`;
  const output = [{ url, expireAt: Math.floor(Date.now() / 1_000) + 1_800, type: 'image' }];
  send(response, success({ ...common, status: 'success', output }));
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '' } = request;
  const last = url.slice(url.lastIndexOf('/') + 1);
  if (url === '/images/generations') await answerWithBytes(request, response);
  else if (method === 'POST' && url === '/tasks') await acceptJob(request, response);
  else if (url.startsWith('/tasks/')) showJob(last, response);
  else if (url.startsWith('/files/')) response.end(await imageOf(Number(last)));
  else {
    // A callback.
    await text(request);
    response.writeHead(204).end();
  }
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  handle(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});

function port(): number {
  return (server.address() as AddressInfo).port;
}

process.once('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: port() }));
