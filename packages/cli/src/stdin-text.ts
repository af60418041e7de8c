/** Reads all of stdin, until its end or Ctrl-C. */
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { World } from './world.ts';

export async function readStdin({ stdin, interrupt }: World): Promise<string> {
  return text(addAbortSignal(interrupt, stdin));
}
