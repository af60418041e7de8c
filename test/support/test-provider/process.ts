/** Starts the test provider as a process of its own, for the duration of a test file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { packageFile, packageModule } from '../../../src/config/package-root.ts';
import type { LogLine } from './log.ts';

export interface TestProvider {
  /** `http://<host>:<port>`; the interfaces are below it: `/openai/v1`, `/replicate/v1`, `/tasks/v1`. */
  readonly url: string;
  readonly pid: number;
  /** Everything that reached the provider so far, in order. */
  readLog(): Promise<readonly LogLine[]>;
  /** Ends `[hold]` and `[hold-submit]` of all prompts with this text, those that are still to come included. */
  release(text: string): Promise<void>;
  /** Ends the process like a power cut: its jobs are gone. */
  kill(): Promise<void>;
  /** Ends the process and removes its log. */
  stop(): Promise<void>;
}

/**
 * Starts the provider and waits until it listens. It ends with our process in any case.
 *
 * @param atPort default: a free one. @param host the address on which it listens.
 */
export async function startTestProvider(atPort = 0, host = '127.0.0.1'): Promise<TestProvider> {
  const directory = await mkdtemp(path.join(tmpdir(), 'test-provider-'));
  const logFile = path.join(directory, 'log.jsonl');
  const main = packageModule('test/support/test-provider/main.ts');
  const child = spawn(
    process.execPath,
    [main, '--log', logFile, '--until-stdin-ends', '--host', host, '--port', String(atPort)],
    {
      cwd: packageFile('.'),
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const first: unknown[] | 'exited' = await Promise.race([once(lines, 'line'), exited.then(() => 'exited' as const)]);
  if (first === 'exited') throw new Error('the test provider ended before it listened');
  const { port } = JSON.parse(String(first[0])) as { port: number };

  return {
    url: `http://${host}:${port}`,
    pid: child.pid ?? 0,
    async readLog() {
      const text = await readFile(logFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogLine);
    },
    async release(text) {
      await new Promise<void>((resolve) => {
        const confirm = (line: string): void => {
          if ((JSON.parse(line) as { released?: string }).released !== text) return;
          lines.off('line', confirm);
          resolve();
        };
        lines.on('line', confirm);
        child.stdin.write(`${text}\n`);
      });
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
