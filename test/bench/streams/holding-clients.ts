/**
 * Clients that wait, one connection per task: with a live stream, with a waiting read that is sent again when it is
 * answered, or with a call of a media endpoint, which creates the task. A minimal client, in a process of its own.
 *
 * Usage: holding-clients.ts <stream|wait|call> <port> <API key> <file with the tasks' ids, or prompts, as a JSON array>
 */
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Connections that are opened at once: a listening socket queues some hundreds. */
const AT_ONCE = 100;
/** A waiting read gives no sign that it waits: after this time it is assumed to. */
const WAITS_AFTER_MS = 3_000;

const [kind, port = '', apiKey = '', file = ''] = process.argv.slice(2);
const tasks = JSON.parse(await readFile(file, 'utf8')) as readonly string[];
const common = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n`;

/** Resolves when the stream has begun. */
function openStream(taskId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), '127.0.0.1', () => {
      socket.write(`GET /v1/tasks/${taskId}/events HTTP/1.1\r\n${common}Accept: text/event-stream\r\n\r\n`);
    });
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (received.includes('event: accepted')) return;
      received += text;
      if (!received.startsWith('HTTP/1.1 200')) fail(received);
      if (received.includes('event: accepted')) resolve();
    });
    socket.on('error', reject);
    socket.on('close', () => fail('a stream was closed'));
  });
}

/** Resolves when the request is sent. */
function openWait(taskId: string): Promise<void> {
  const request = `GET /v1/tasks/${taskId} HTTP/1.1\r\n${common}Prefer: wait=30\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), '127.0.0.1', () => {
      socket.write(request, () => resolve());
    });
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      const headEnd = received.indexOf('\r\n\r\n');
      const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1];
      if (headEnd < 0 || length === undefined || received.length < headEnd + 4 + Number(length)) return;
      if (!received.startsWith('HTTP/1.1 200')) fail(received);
      received = '';
      socket.write(request);
    });
    socket.on('error', reject);
    socket.on('close', () => fail('a waiting read was cut'));
  });
}

/** Resolves when the request is sent. Its response comes when the task ends, which it does not while we measure. */
function openCall(prompt: string): Promise<void> {
  const body = JSON.stringify({ model: 'bench/swatch', prompt });
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), '127.0.0.1', () => {
      const head = `POST /v1/images/generations HTTP/1.1\r\n${common}Content-Type: application/json\r\n`;
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => resolve());
    });
    socket.setEncoding('latin1').on('data', fail);
    socket.on('error', reject);
    socket.on('close', () => fail('a call was cut'));
  });
}

/** The bench ends these processes before the api: until then no connection may close. */
function fail(what: string): never {
  process.stderr.write(`${what}\n`);
  process.exit(1);
}

process.once('disconnect', () => process.exit(0));
process.once('SIGTERM', () => process.exit(0));
const open = { stream: openStream, wait: openWait, call: openCall }[kind ?? ''] ?? fail('unknown kind of client');
for (let first = 0; first < tasks.length; first += AT_ONCE) {
  await Promise.all(tasks.slice(first, first + AT_ONCE).map(open));
}
if (kind === 'wait') await sleep(WAITS_AFTER_MS);
process.send?.('ready');
