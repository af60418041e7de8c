/**
 * A receiver of callbacks, as a process of its own with its own log: the log shows what reached it, whatever our
 * tables say. Every request is on disk before it is answered.
 *
 * Run: `node dist/test/support/callback-receiver.js --log <file> --port <port or 0>`; prints `{"port":…}` as its
 * first line. Behaviour by path, whatever follows it:
 *
 * /ok 204 · /fail/<n>/… 500 for the first n requests of that full path, then 204 · /status/<code> · /gone 410 ·
 * /slow/<ms> 204 after that time · /retry-after/<s> 503 with Retry-After for the first request of that full path,
 * then 204 · /hang no answer · /redirect 302 to /ok · /drip 200 and a byte every 50 ms forever · /huge 200 and 64 MB
 * · anything else 404.
 */
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';

/** One request, as it reached the receiver. */
export interface ReceivedCallback {
  /** Unix milliseconds when its last byte was read. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const HUGE_CHUNK = Buffer.alloc(65_536, 'x');
const HUGE_CHUNKS = 1024;
const DRIP_INTERVAL_MS = 50;

const { values } = parseArgs({
  options: {
    log: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
  },
});
if (values.log === undefined) throw new Error('--log <file> is missing');
const logFile = openSync(values.log, 'a');
const seen = new Map<string, number>();

function writeDown(received: ReceivedCallback): void {
  writeSync(logFile, `${JSON.stringify(received)}\n`);
  fsyncSync(logFile);
}

/** How many requests of exactly this path came before. */
function countEarlier(path: string): number {
  const earlier = seen.get(path) ?? 0;
  seen.set(path, earlier + 1);
  return earlier;
}

function answer(path: string, response: ServerResponse): void {
  const [, behaviour = '', argument = ''] = path.split('/');
  const number = Number(argument);
  const earlier = countEarlier(path);
  switch (behaviour) {
    case 'ok':
      response.writeHead(204).end();
      return;
    case 'fail':
      response.writeHead(earlier < number ? 500 : 204).end();
      return;
    case 'status':
      response.writeHead(number).end();
      return;
    case 'gone':
      response.writeHead(410).end();
      return;
    case 'slow':
      setTimeout(() => response.writeHead(204).end(), number);
      return;
    case 'retry-after':
      response.writeHead(earlier === 0 ? 503 : 204, earlier === 0 ? { 'retry-after': argument } : {}).end();
      return;
    case 'hang':
      return;
    case 'redirect':
      response.writeHead(302, { location: '/ok' }).end();
      return;
    case 'drip': {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), DRIP_INTERVAL_MS);
      response.once('close', () => clearInterval(drip));
      return;
    }
    case 'huge':
      response.writeHead(200);
      Readable.from(Array.from({ length: HUGE_CHUNKS }, () => HUGE_CHUNK)).pipe(response);
      return;
    default:
      response.writeHead(404).end();
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A sender that was killed half-way delivered nothing.
  request.on('error', () => undefined);
  request.on('end', () => {
    const path = request.url ?? '/';
    const body = Buffer.concat(chunks).toString('utf8');
    writeDown({ at: Date.now(), method: request.method ?? '', path, headers: request.headers, body });
    answer(path, response);
  });
});

function stop(): void {
  server.close(() => process.exit(0));
  server.closeAllConnections();
}

process.once('SIGTERM', stop);
process.once('SIGINT', stop);
// Only if a test started it: it must not outlive a test that was killed.
process.once('disconnect', stop);

server.listen(Number(values.port), values.host, () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
