/**
 * The command-line client as its users run it: a process with arguments, an environment, pipes and signals.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { packageFile } from '../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** The built program: from source it takes a second to start, and these tests start it about a hundred times. */
export const CLI_PROGRAM = packageFile('packages/cli/dist/src/main.js');

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** Sent to stdin, which is then closed. */
  readonly stdin?: string;
}

export class RunningCli {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<CliResult>;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], { environment, stdin = '' }: CliOptions) {
    if (!existsSync(CLI_PROGRAM)) throw new Error('nothing is built: run this file with npm test -- <file>');
    this.child = spawn(process.execPath, [CLI_PROGRAM, ...args], {
      cwd: packageFile('.'),
      env: { PATH: process.env['PATH'], ...environment },
      stdio: 'pipe',
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // It may end without having read it.
    this.child.stdin.on('error', () => undefined).end(stdin);
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }));
    });
  }

  /** Waits until stderr contains a match. */
  async waitForOutput(what: RegExp): Promise<void> {
    await waitFor(
      () => `stderr with ${what.source}:\n${this.#stderr}`,
      () => what.test(this.#stderr),
    );
  }
}

/** Runs it until it ends. */
export function runCliProcess(args: readonly string[], options: CliOptions): Promise<CliResult> {
  return new RunningCli(args, options).ended;
}
