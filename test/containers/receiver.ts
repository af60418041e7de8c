/**
 * The far side of the stack: a container on its network, found by its name. It receives callbacks and logs them, and it
 * is a server with the interface of OpenAI that transcribes every recording in the same way.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { Engine } from './engine.ts';
import { works } from './run.ts';
import { IMAGE, PROJECT } from './stack.ts';

const NAME = `${PROJECT}-receiver`;
const NETWORK = `${PROJECT}_default`;
const PORT = 9080;

export const RECEIVER = {
  url: `http://${NAME}:${PORT}/callback`,
  /** Allows us to reach it: its address is private, and it speaks plain HTTP. */
  egressAllow: `http://${NAME}:${PORT}`,
  egressPorts: `443,${PORT}`,
  transcriberUrl: `http://${NAME}:${PORT}/v1`,
} as const;

export const WEBHOOK_SECRET = 'a secret of the receiver, with ü';
/** What is said in every recording. */
export const TRANSCRIPT = 'Mind the gap. Doors close.';

export interface LoggedCallback {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const VERBOSE_JSON = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  text: TRANSCRIPT,
  segments: [
    { id: 0, start: 0, end: 1.2, text: 'Mind the gap.' },
    { id: 1, start: 1.2, end: 2.5, text: 'Doors close.' },
  ],
};

const PROGRAM = `
require('node:http').createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => { pieces.push(piece); }).on('end', () => {
    const body = Buffer.concat(pieces);
    if (request.url === '/v1/audio/transcriptions') {
      const hasFile = body.includes('name="file"') && body.length > 1000;
      response.writeHead(hasFile ? 200 : 400, { 'content-type': 'application/json' });
      response.end(hasFile ? ${JSON.stringify(JSON.stringify(VERBOSE_JSON))} : '{}');
    } else {
      console.log(JSON.stringify({ headers: request.headers, body: body.toString('utf8') }));
      response.writeHead(204).end();
    }
  });
}).listen(${PORT}, () => console.log('listening'));`;

const POLL_MS = 200;
const TIMEOUT_MS = 60_000;

/** It keeps what it has logged while the network of the stack is removed and made again. */
export interface Receiver {
  /** Leaves the network of the stack. */
  disconnect(): Promise<void>;
  /** Joins the network of the stack as soon as it is there again, so that it is reached by the first that send. */
  connect(): Promise<void>;
  remove(): Promise<void>;
}

export async function startReceiver(engine: Engine): Promise<Receiver> {
  const confined = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const program = ['--entrypoint', 'node', IMAGE, '--eval', PROGRAM];
  await engine.docker(['run', '--detach', '--init', '--name', NAME, '--network', NETWORK, ...confined, ...program]);
  await waitForLogged(engine, (lines) => (lines.includes('listening') ? true : undefined));
  return {
    async disconnect() {
      await engine.docker(['network', 'disconnect', NETWORK, NAME]);
    },
    connect: () => connectOnceThereIsANetwork(engine),
    remove: () => removeReceiver(engine),
  };
}

async function connectOnceThereIsANetwork(engine: Engine): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await works('docker', ['network', 'inspect', NETWORK], engine))) {
    if (Date.now() > deadline) throw new Error(`there is no network ${NETWORK}`);
    await delay(POLL_MS);
  }
  await engine.docker(['network', 'connect', NETWORK, NAME]);
}

/** Also one that is not there. */
export async function removeReceiver(engine: Engine): Promise<void> {
  const found = await engine.docker(['ps', '--all', '--quiet', '--filter', `name=^${NAME}$`]);
  if (found !== '') await engine.docker(['rm', '--force', '--volumes', NAME]);
}

/** The callbacks of a task that reached it. Waits for the first. */
export function callbacksOf(engine: Engine, taskId: string): Promise<readonly LoggedCallback[]> {
  return waitForLogged(engine, (lines) => {
    const all = lines.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as LoggedCallback);
    const found = all.filter(({ body }) => (JSON.parse(body) as { taskId: string }).taskId === taskId);
    return found.length === 0 ? undefined : found;
  });
}

/** @throws {Error} one of its two signatures was not made with `WEBHOOK_SECRET`. */
export function verifyCallback({ headers, body }: LoggedCallback): void {
  const key = Buffer.from(WEBHOOK_SECRET, 'utf8');
  const signed = `${headers['x-darkroom-timestamp']}.${body}`;
  assert.equal(headers['x-darkroom-signature'], createHmac('sha256', key).update(signed).digest('hex'));
  // Not `verify`, which rejects what was sent more than five minutes ago: this one may have arrived long before.
  const webhook = new Webhook(key.toString('base64'));
  const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = webhook.sign(headers['webhook-id'] ?? '', sentAt, body);
  // One for each secret of the account: it had one before it got this one.
  assert.ok(headers['webhook-signature']?.split(' ').includes(signature), headers['webhook-signature']);
}

async function waitForLogged<T>(engine: Engine, find: (lines: readonly string[]) => T | undefined): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const found = find((await engine.docker(['logs', NAME])).split('\n'));
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('nothing reached the receiver of callbacks');
    await delay(POLL_MS);
  }
}
