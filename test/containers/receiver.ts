/** A receiver of callbacks: a container on the stack's network, found by its name, that logs what reaches it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { IMAGE, PROJECT } from './stack.ts';

const NAME = `${PROJECT}-receiver`;
const PORT = 9080;

export const RECEIVER = {
  url: `http://${NAME}:${PORT}/callback`,
  /** Allows us to reach it: its address is private, and it speaks plain HTTP. */
  egressAllow: `http://${NAME}:${PORT}`,
} as const;

export interface LoggedCallback {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const PROGRAM = `
require('node:http').createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => {
    console.log(JSON.stringify({ headers: request.headers, body }));
    response.writeHead(204).end();
  });
}).listen(${PORT}, () => console.log('listening'));`;

const POLL_MS = 200;
const TIMEOUT_MS = 60_000;

/** @returns a function that ends it. */
export async function startReceiver(engine: Engine): Promise<() => Promise<void>> {
  const network = `${PROJECT}_default`;
  const confined = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const program = ['--entrypoint', 'node', IMAGE, '--eval', PROGRAM];
  await engine.docker(['run', '--detach', '--init', '--name', NAME, '--network', network, ...confined, ...program]);
  await waitForLogged(engine, (lines) => (lines.includes('listening') ? true : undefined));
  return async () => {
    await engine.docker(['rm', '--force', '--volumes', NAME]);
  };
}

/** The first callback that reached it. */
export function firstCallback(engine: Engine): Promise<LoggedCallback> {
  return waitForLogged(engine, (lines) => {
    const line = lines.find((text) => text.startsWith('{'));
    return line === undefined ? undefined : (JSON.parse(line) as LoggedCallback);
  });
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
