/** Prompts for a secret on a terminal without showing what is typed. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError } from './errors.ts';
import type { CliEnvironment } from './cli-environment.ts';

/** @throws {InterruptedError} Ctrl-C or Ctrl-D. */
export async function promptHidden(question: string, { stdin, stderr }: CliEnvironment): Promise<string> {
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
