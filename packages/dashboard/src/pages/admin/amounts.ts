/** Parses the amounts that an operator types. */
import { microsOf } from '../../components/amounts.ts';

const AMOUNT = /^-?\d{1,12}(\.\d{1,6})?$/;

/** Converts a typed amount to the API's format. Surrounding whitespace and a typographic minus are accepted. */
export function readAmount(text: string): string {
  return text.trim().replace(/^[−–]/, '-').replace(/^\$/, '');
}

/**
 * @param text as `readAmount` returns it.
 * @returns whether it is an amount other than 0, and positive unless `isSigned`.
 */
export function isAmount(text: string, isSigned = false): boolean {
  if (!AMOUNT.test(text)) return false;
  const micros = microsOf(text);
  return isSigned ? micros !== 0n : micros > 0n;
}

/** A unique reference for a ledger entry: `operator-` and 20 hexadecimal digits. */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `operator-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
