/** Reads all of stdin, until its end or Ctrl-C. */
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { CliEnvironment } from './cli-environment.ts';

export async function readStdin({ stdin, interrupt }: CliEnvironment): Promise<string> {
  return text(addAbortSignal(interrupt, stdin));
}
