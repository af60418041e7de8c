/** Parsers of options that are numbers, for the programs of `bench`, `test` and `tools`. */
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { wholeNumber } from '../../src/commands/command-line.ts';

/** A whole number, 0 included. */
export const count = wholeNumber(0, 1_000_000_000);

/** Several of them, separated by blanks. */
export function counts(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, count(text)];
}

/** A number above 0, not necessarily whole. */
export function positiveNumber(text: string): number {
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('Want a number above 0.');
}
