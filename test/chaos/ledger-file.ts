/**
 * An append-only log: one JSON document per line, written before the process responds, so that a killed process has
 * logged everything that it did.
 */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Creates the function that appends a line; `at` is in Unix milliseconds. */
export function openLedger<Line>(file: string): (line: Line) => void {
  return (line) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}

/** Everything written so far, in order; empty if there is no file. */
export async function readLedger<Line>(file: string): Promise<readonly (Line & { readonly at: number })[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return parseLedger(text);
}

/** A last line without a newline was being written when its writer was killed. */
export function parseLedger<Line>(text: string): readonly (Line & { readonly at: number })[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line & { readonly at: number });
}
