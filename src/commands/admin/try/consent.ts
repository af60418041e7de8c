/** Asks before something is sent that may cost money. */
import { createInterface } from 'node:readline/promises';
import { AdminError } from '../admin-error.ts';
import { printable } from './run-log.ts';

/**
 * Prints the warning, and asks unless the answer is given.
 *
 * @param isAnswered whether `--yes` was given. @throws {AdminError} there was no consent.
 */
export async function requireAnswer(warning: string, question: string, isAnswered: boolean): Promise<void> {
  process.stderr.write(printable(`${warning}\n`));
  if (isAnswered) return;
  if (!process.stdin.isTTY) throw new AdminError('--yes: without a terminal to ask, it is needed to send');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D.
  const left = new AbortController();
  terminal.once('SIGINT', () => left.abort()).once('close', () => left.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: left.signal }).catch(() => '');
    if (!/^y(es)?$/i.test(answer.trim())) throw new AdminError('nothing was sent');
  } finally {
    terminal.close();
  }
}
