/** Amounts that an operator types. Pure. */
import { microsOf } from '../../components/amounts.ts';

const AMOUNT = /^-?\d{1,12}(\.\d{1,6})?$/;

/** As the API takes it: blanks around it and the typographer's minus are forgiven. */
export function readAmount(text: string): string {
  return text.trim().replace(/^[−–]/, '-').replace(/^\$/, '');
}

/** @param text as `readAmount` gives it. @returns whether it is an amount that is not 0, and above it unless `isSigned`. */
export function isAmount(text: string, isSigned = false): boolean {
  if (!AMOUNT.test(text)) return false;
  const micros = microsOf(text);
  return isSigned ? micros !== 0n : micros > 0n;
}

/** A name for a booking that no other has: `operator-` and 20 hexadecimal digits. */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `operator-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
