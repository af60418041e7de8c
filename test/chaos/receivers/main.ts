/**
 * The receivers of a campaign's callbacks, a process of its own with its own log of what reached them. Behaviour by
 * path: `/ok`, `/fail/<n>/…` 500 for the first n of that path, `/gone`, `/hang`, `/drip`, `/huge`, `/reset`,
 * `/redirect` to the forbidden address, `/retry-after/…` 503 once with Retry-After. A message `{"mode":"hang"}` makes
 * all of them behave so until `{"mode":"normal"}`. A second port is the address that nothing may ever connect to.
 *
 * Usage: `node dist/test/chaos/receivers/main.js --log <file> --port <n> --forbidden <n>`
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { parseArgs } from 'node:util';
import { openLedger } from '../ledger-file.ts';
import type { ReceiverMode } from '../schedule.ts';
import type { ReceiverLine } from './log.ts';

const { values } = parseArgs({
  options: { log: { type: 'string' }, port: { type: 'string' }, forbidden: { type: 'string' } },
});
const { log = '', port = '0', forbidden = '0' } = values;
const write = openLedger<ReceiverLine>(log);
/** Its ids start again from zero with each run. */
const run = Date.now();
const seen = new Map<string, number>();
const DRIP_INTERVAL_MS = 100;
const HUGE_CHUNKS = 64;
let received = 0;
let mode: ReceiverMode | 'normal' = 'normal';
process.on('message', (message: { mode?: ReceiverMode | 'normal' }) => {
  mode = message.mode ?? 'normal';
});

function answer(path: string, id: number, response: ServerResponse): void {
  const [, behaviour = '', argument = ''] = path.split('/');
  const earlier = seen.get(path) ?? 0;
  seen.set(path, earlier + 1);
  const end = (status: number, headers: Record<string, string> = {}): void => {
    write({ kind: 'answered', run, id, status });
    response.writeHead(status, headers).end();
  };
  switch (mode === 'normal' ? behaviour : mode) {
    case 'fail':
      return end(earlier < Number(argument) ? 500 : 204);
    case 'errors':
      return end(500);
    case 'gone':
      return end(410);
    case 'retry-after':
      return end(earlier === 0 ? 503 : 204, earlier === 0 ? { 'retry-after': '3' } : {});
    case 'redirect':
      return end(302, { location: `http://127.0.0.1:${forbidden}/` });
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      return;
    case 'drip': {
      response.writeHead(500);
      const drip = setInterval(() => response.write('.'), DRIP_INTERVAL_MS);
      response.once('close', () => clearInterval(drip));
      return;
    }
    case 'huge':
      write({ kind: 'answered', run, id, status: 500 });
      response.writeHead(500);
      for (let chunk = 0; chunk < HUGE_CHUNKS; chunk++) response.write(Buffer.alloc(65_536, 'x'));
      response.end();
      return;
    default:
      return end(204);
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  response.on('error', () => undefined);
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const id = (received += 1);
    const { url: path = '/', headers } = request;
    write({ kind: 'received', run, id, path, headers, body: Buffer.concat(chunks).toString('utf8'), mode });
    answer(path, id, response);
  });
});
const sink = createTcpServer((socket) => {
  write({ kind: 'forbidden' });
  socket.destroy();
});
sink.listen(Number(forbidden), '127.0.0.1', () => {
  server.listen(Number(port), '127.0.0.1', () => process.send?.({ type: 'ready' }));
});
process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
