/**
 * A log that its writer only adds to: one JSON document a line, on its way to the disk before whoever asked has an
 * answer, so that a killed process has told everything that it did.
 */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Makes the function that adds a line; `at` is in Unix milliseconds. */
export function openLedger<Line>(file: string): (line: Line) => void {
  return (line) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}

/** Everything that was written so far, in order; nothing where there is no file. */
export async function readLedger<Line>(file: string): Promise<readonly (Line & { readonly at: number })[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return parseLedger(text);
}

/** A last line without its end was being written when its writer was killed. */
export function parseLedger<Line>(text: string): readonly (Line & { readonly at: number })[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line & { readonly at: number });
}
