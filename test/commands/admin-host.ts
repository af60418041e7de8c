/**
 * A process that runs one admin command after another: to load the program takes longer than nearly every command. It
 * is started by admin-command.ts. Each command has the arguments, the environment, the output and the exit code that it
 * would have in a process of its own.
 */
import { describeFailure } from '../../src/commands/describe-failure.ts';
import { runAdmin } from '../../src/commands/admin.ts';
import type { AdminRequest, CommandResult } from './admin-command.ts';

/** Replaces what writes to a stream. @returns what was written, and restores the stream. */
function capture(stream: NodeJS.WriteStream): () => string {
  const write = stream.write;
  const pieces: string[] = [];
  stream.write = (piece: string | Uint8Array): boolean => {
    pieces.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString());
    return true;
  };
  return () => {
    stream.write = write;
    return pieces.join('');
  };
}

async function runCommand({ args, environment }: AdminRequest): Promise<CommandResult> {
  process.exitCode = undefined;
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  try {
    await runAdmin(args, environment);
  } catch (error) {
    const { message, exitCode } = describeFailure(error);
    process.stderr.write(`${message}\n`);
    process.exitCode = exitCode;
  }
  return { code: process.exitCode ?? 0, stdout: stdout(), stderr: stderr() };
}

/** The commands share the streams of the process. */
let previous: Promise<unknown> = Promise.resolve();
process.on('message', (request: AdminRequest) => {
  previous = previous.then(async () => {
    const result = await runCommand(request);
    process.send?.({ id: request.id, result });
  });
});
process.once('disconnect', () => process.exit(0));
