/**
 * Malicious clients: a number of connections that are slow in every possible way, each reopened when it is cut, and a
 * number of garbage requests per second. A minimal client, in a process of its own.
 *
 * Usage: attackers.ts <port> <API key> <path of a large file> <slow connections> <garbage a second>
 *
 * Reports over its channel that all connections are open; to any message it replies with its counts.
 */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';

/** What happened to the attackers; statuses are those of all responses that they received. */
export interface AttackReport {
  readonly cut: number;
  readonly garbage: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const DRIP_EVERY_MS = 1_000;
/** A garbage request without any response is given up after this time. */
const GARBAGE_TIMEOUT_MS = 5_000;
const AGAIN_AFTER_MS = 500;

const [port = '', apiKey = '', file = '', slow = '', garbage = ''] = process.argv.slice(2);
const host = `Host: 127.0.0.1:${port}\r\n`;
const authorised = `${host}Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
const statuses: Record<string, number> = {};
let cut = 0;
let sent = 0;
let isOver = false;

function note(bytes: Buffer): void {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(bytes.toString('latin1', 0, 16))?.[1];
  if (status !== undefined) statuses[status] = (statuses[status] ?? 0) + 1;
}

/** What each slow connection sends at first, and whether it then drips bytes or stops reading. */
const SLOW_KINDS: readonly { readonly begin: string; readonly does: 'drip' | 'stop reading' | 'nothing' }[] = [
  { begin: '', does: 'nothing' },
  { begin: `GET /v1/tasks HTTP/1.1\r\n${host}X-Slow: `, does: 'drip' },
  { begin: `POST /v1/tasks HTTP/1.1\r\n${authorised}Content-Length: 100000\r\n\r\n{`, does: 'drip' },
  { begin: `POST /v1/files HTTP/1.1\r\n${authorised}Content-Length: 100000\r\n\r\n`, does: 'drip' },
  { begin: `GET ${file} HTTP/1.1\r\n${host}\r\n`, does: 'stop reading' },
];

function openSlow(index: number): Promise<void> {
  const kind = SLOW_KINDS[index % SLOW_KINDS.length] ?? { begin: '', does: 'nothing' };
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const socket = createConnection(Number(port), '127.0.0.1', () => {
      if (kind.begin !== '') socket.write(kind.begin);
      if (kind.does === 'drip') timer = setInterval(() => socket.write('x'), DRIP_EVERY_MS);
      resolve();
    });
    socket.once('data', (bytes: Buffer) => {
      note(bytes);
      // From here on what arrives is left to the system's buffers; an occasional byte shows whether the peer still
      // exists.
      if (kind.does === 'stop reading') {
        socket.pause();
        timer = setInterval(() => socket.write('x'), DRIP_EVERY_MS);
      }
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(timer);
      resolve();
      if (isOver) return;
      cut += 1;
      setTimeout(() => void openSlow(index), AGAIN_AFTER_MS);
    });
  });
}

/** Each is another kind of garbage. */
const GARBAGE: readonly (() => string | Buffer)[] = [
  () => randomBytes(200),
  () => 'HELO example.com\r\n\r\n',
  () => `GET /${randomBytes(8).toString('hex')} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
  () =>
    `GET /v1/tasks HTTP/1.1\r\n${host}Authorization: Bearer ${randomBytes(30).toString('hex')}\r\nConnection: close\r\n\r\n`,
  () => `POST /v1/tasks HTTP/1.1\r\n${authorised}Connection: close\r\nContent-Length: 12\r\n\r\n{"model":[[[`,
  () => `GET /media/${randomBytes(20).toString('hex')}/x.png HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
  () => `GET / HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(9_000)}\r\n\r\n`,
  () => `POST /v1/chat/completions HTTP/1.1\r\n${authorised}Connection: close\r\nContent-Length: 2\r\n\r\n{}`,
];

function sendGarbage(): void {
  const make = GARBAGE[sent++ % GARBAGE.length];
  const socket: Socket = createConnection(Number(port), '127.0.0.1', () => void socket.write(make?.() ?? ''));
  socket.setTimeout(GARBAGE_TIMEOUT_MS, () => socket.destroy());
  socket.once('data', note);
  socket.on('error', () => undefined);
}

await Promise.all(Array.from({ length: Number(slow) }, (_, index) => openSlow(index)));
const begunAt = performance.now();
// As many as are due: after a late timer the missing ones are sent too.
setInterval(() => {
  const due = ((performance.now() - begunAt) / 1_000) * Number(garbage);
  while (sent < due) sendGarbage();
}, 20);
process.on('message', () => process.send?.({ cut, garbage: sent, statuses } satisfies AttackReport));
process.once('disconnect', () => {
  isOver = true;
  process.exit(0);
});
process.send?.('ready');
