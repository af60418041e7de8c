#!/usr/bin/env node
/**
 * The command-line client's process: the one place that reads it. Ctrl-C stops what is waited for, so that there is time
 * to say how to go on; a second one ends at once.
 */
import { EXIT_CODES, InterruptedError } from './cli/errors.ts';
import { runCli } from './cli/program.ts';

/** One Ctrl-C may come several times: from the terminal, and from npm and the script in between, which pass it on. */
const SAME_CTRL_C_MS = 500;

const interrupt = new AbortController();
let interruptedAt = 0;
process.on('SIGINT', () => {
  if (!interrupt.signal.aborted) {
    interruptedAt = performance.now();
    interrupt.abort(new InterruptedError());
  } else if (performance.now() - interruptedAt > SAME_CTRL_C_MS) {
    process.exit(EXIT_CODES.interrupted);
  }
});

const { env, stdin, stdout, stderr } = process;
process.exitCode = await runCli({
  args: process.argv.slice(2),
  environment: env,
  stdin,
  stdout,
  stderr,
  interrupt: interrupt.signal,
  programName: env['npm_lifecycle_event'] === 'cli' ? 'npm run cli --' : 'darkroom-cli',
});
