#!/usr/bin/env node
/**
 * The command-line client's process: the only module that accesses it. Ctrl-C stops the wait, so that there is time to
 * print how to continue; a second Ctrl-C exits at once.
 */
import { EXIT_CODES, InterruptedError } from './errors.ts';
import { runCli } from './program.ts';

/** One Ctrl-C may arrive several times: from the terminal, and from npm and the script in between, which forward it. */
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
