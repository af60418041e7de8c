/** A server of a third party that a wide test starts: a process that is waited for, and that ends with the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';

const KEPT_OUTPUT = 4_000;

export interface ServerProcess {
  /** Ends it, and waits until it has ended. */
  stop(): Promise<void>;
}

export interface ServerProgram {
  /** For errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** With which it ends cleanly. */
  readonly endSignal?: NodeJS.Signals;
  /** Whether it answers already. */
  isReady(): Promise<boolean>;
}

/** @throws {Error} it ended, or did not answer in time; with the end of what it wrote. */
export async function startServerProcess({
  name,
  command,
  args,
  cwd,
  env,
  endSignal = 'SIGTERM',
  isReady,
}: ServerProgram): Promise<ServerProcess> {
  const child = spawn(command, args, { ...(cwd === undefined ? {} : { cwd }), env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  }
  const stop = async (): Promise<void> => {
    child.kill(endSignal);
    await exited;
  };
  const deadline = Date.now() + GIVE_UP_MS;
  while (!(await isReady())) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || Date.now() > deadline) {
      if (!hasEnded) await stop();
      throw new Error(`${name} did not start:\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { stop };
}

/** Whether a URL answers with success. */
export async function answers(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}
