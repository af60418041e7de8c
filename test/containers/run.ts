/** Runs programs for `npm run test:containers`: quietly, with their last output if they fail. */
import { spawn } from 'node:child_process';

/** A problem that the user who runs the test can fix; printed without a stack. */
export class CannotRunError extends Error {
  override readonly name = 'CannotRunError';
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: ours. */
  readonly directory?: string;
  /** Its standard input. */
  readonly input?: string;
}

/** How much of a failed program's output is shown, in characters. */
const LAST_WORDS = 3_000;
/** A message is printed while a program runs for this long, so that it does not appear to hang. */
const STILL_RUNNING_MS = 20_000;

const started = Date.now();

/** One line of progress on stderr, with the seconds since the start. */
export function say(line: string): void {
  const seconds = ((Date.now() - started) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}

/** A duration for people. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/**
 * Runs a program until it ends.
 *
 * @returns its trimmed standard output.
 * @throws {Error} it cannot be started, or ends with a code other than 0; with the end of its output.
 */
export async function run(
  command: string,
  args: readonly string[],
  { environment = {}, directory, input }: RunOptions = {},
): Promise<string> {
  const child = spawn(command, args, { cwd: directory, env: { ...process.env, ...environment } });
  let output = '';
  let all = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    all = (all + text).slice(-LAST_WORDS);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    all = (all + text).slice(-LAST_WORDS);
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  const begun = Date.now();
  const timer = setInterval(() => {
    const lastLine = all.trim().split('\n').at(-1) ?? '';
    const seconds = Math.round((Date.now() - begun) / 1000);
    say(`  … ${command} ${args[0] ?? ''} has run for ${seconds} s: ${lastLine.slice(0, 100)}`);
  }, STILL_RUNNING_MS);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode) => resolve(exitCode ?? 1));
    });
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${all.trim()}`);
    return output.trim();
  } finally {
    clearInterval(timer);
  }
}

/** Whether a program runs here and succeeds. */
export async function works(command: string, args: readonly string[], options?: RunOptions): Promise<boolean> {
  return run(command, args, options).then(
    () => true,
    () => false,
  );
}
