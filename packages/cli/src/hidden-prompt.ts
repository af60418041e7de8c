/** Prompts for a secret on a terminal without showing what is typed. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError } from './errors.ts';
import type { World } from './world.ts';

/** @throws {InterruptedError} Ctrl-C or Ctrl-D. */
export async function askHidden(question: string, { stdin, stderr }: World): Promise<string> {
  stderr.write(question);
  // Readline echoes to its output: it gets none.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('SIGINT', () => reject(new InterruptedError()));
      lines.once('close', () => reject(new InterruptedError()));
    });
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
