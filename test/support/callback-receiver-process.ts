/** Starts the callback receiver as a process of its own, and reads its log. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PACKAGE_ROOT, packageModule } from '../../src/config/package-root.ts';
import type { ReceivedCallback } from './callback-receiver.ts';

/** A running receiver. */
export interface CallbackReceiver {
  /** `http://<host>:<port>`, without a path; `EGRESS_ALLOW` accepts it in this form. */
  readonly url: string;
  readonly pid: number;
  /** Everything that reached it so far, in order; also after it was stopped. */
  readLog(): Promise<readonly ReceivedCallback[]>;
  /** Ends the process and removes its log file; may be called twice. */
  stop(): Promise<void>;
}

/** Starts a receiver on a random port; ready when this returns. @param host the address on which it listens. */
export async function startCallbackReceiver(host = '127.0.0.1'): Promise<CallbackReceiver> {
  const directory = await mkdtemp(path.join(tmpdir(), 'darkroom-callbacks-'));
  const logFile = path.join(directory, 'received.jsonl');
  const program = packageModule('test/support/callback-receiver.ts');
  const child = spawn(process.execPath, [program, '--log', logFile, '--host', host, '--port', '0'], {
    cwd: PACKAGE_ROOT,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = await firstPort(child);
  if (child.pid === undefined) throw new Error('the callback receiver has no process id');

  let stopped: Promise<readonly ReceivedCallback[]> | undefined;
  const readLog = async (): Promise<readonly ReceivedCallback[]> => stopped ?? parseLog(logFile);
  const end = async (): Promise<readonly ReceivedCallback[]> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    const received = await parseLog(logFile);
    await rm(directory, { recursive: true, force: true });
    return received;
  };
  return {
    url: `http://${host}:${port}`,
    pid: child.pid,
    readLog,
    stop: async () => {
      stopped ??= end();
      await stopped;
    },
  };
}

async function firstPort(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the callback receiver has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const { port } = JSON.parse(line) as { port: number };
    child.stdout.resume();
    return port;
  }
  throw new Error('the callback receiver ended before it listened');
}

async function parseLog(file: string): Promise<readonly ReceivedCallback[]> {
  const text = await readFile(file, 'utf8');
  // A last line without a newline is still being written.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ReceivedCallback);
}
