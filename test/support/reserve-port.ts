/**
 * Ports for tests. Several test files run at once, each with servers that start slowly or are down for a moment: a port
 * that is merely free now may be taken by another file before its server listens. A reservation is a file that names
 * the process that holds it, until that process ends.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ABOVE_FREE_PORTS, tryPort } from '../../src/standalone/ports.ts';
import { errorCodeOf } from '../../src/domain/darkroom-error.ts';

/** Up to the ports that systems assign to outgoing connections. */
const ABOVE_RESERVED_PORTS = 32_768;
const DIRECTORY = path.join(os.tmpdir(), `darkroom-test-ports-${os.userInfo().uid}`);

const reserved = new Set<string>();
process.once('exit', () => {
  for (const file of reserved) rmSync(file, { force: true });
});

/** A port of 127.0.0.1 that is free, and that no other test gets while this process lives. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ABOVE_FREE_PORTS, ABOVE_RESERVED_PORTS);
    if (!reserve(port)) continue;
    try {
      return await tryPort(port, '127.0.0.1');
    } catch (error) {
      if (errorCodeOf(error) !== 'EADDRINUSE') throw error;
    }
  }
}

/** @returns whether this process has reserved it now. */
function reserve(port: number): boolean {
  const file = path.join(DIRECTORY, String(port));
  mkdirSync(DIRECTORY, { recursive: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
    if (!isHeld(file)) rmSync(file, { force: true });
    return false;
  }
  reserved.add(file);
  return true;
}

/** Whether the process that a reservation names is alive. A file without a name is about to get one. */
function isHeld(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return !['ENOENT', 'ESRCH'].includes(errorCodeOf(error) ?? '');
  }
}
