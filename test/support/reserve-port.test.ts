/** A reserved port belongs to one test, also while nothing listens on it, until the process that reserved it ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { it } from 'node:test';
import { packageModule } from '../../src/config/package-root.ts';
import { reservePort } from './reserve-port.ts';

const PROGRAM = `
  import { reservePort } from ${JSON.stringify(packageModule('test/support/reserve-port.ts'))};
  const ports = await Promise.all(Array.from({ length: 1000 }, () => reservePort()));
  console.log(JSON.stringify(ports));
  // Keeps it alive.
  process.stdin.resume();
`;

/** Reserves a thousand ports in another process. @returns them, and what kills it. */
async function startOther(): Promise<{ ports: number[]; kill: () => Promise<void> }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { ports: JSON.parse(line) as number[], kill };
}

it('gives each port to one process, and to one caller in it', async () => {
  const others = await Promise.all([startOther(), startOther(), startOther()]);
  const own = await Promise.all(Array.from({ length: 1000 }, () => reservePort()));
  const all = [...own, ...others.flatMap(({ ports }) => ports)];
  await Promise.all(others.map(({ kill }) => kill()));
  assert.equal(new Set(all).size, 4000);
});

it('frees the ports of a process that was killed', async () => {
  // Together more ports than there are.
  for (let round = 0; round < 7; round++) {
    const { ports, kill } = await startOther();
    await kill();
    assert.equal(ports.length, 1000);
  }
});

it('reserves no port that something listens on', async () => {
  const port = await reservePort();
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  try {
    for (let tries = 0; tries < 200; tries++) assert.notEqual(await reservePort(), port);
  } finally {
    server.close();
  }
});
