/**
 * Exact arithmetic on amounts, in millionths of a dollar. They become floating-point numbers only for drawing.
 */

const MICROS = 1_000_000n;
const AMOUNT = /^(-?)(\d+)(?:\.(\d{1,6}))?$/;

/** @param amount decimal USD, in the API's notation. @returns micro-USD. @throws {RangeError} it is not an amount. */
export function microsOf(amount: string): bigint {
  const [, sign, whole, fraction = ''] = AMOUNT.exec(amount) ?? [];
  if (whole === undefined) throw new RangeError(`no amount: ${amount}`);
  const micros = BigInt(whole) * MICROS + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micros : micros;
}

/** The reverse, in the API's notation. @param micros not negative. */
export function amountOf(micros: bigint): string {
  const fraction = String(micros % MICROS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${micros / MICROS}${fraction === '' ? '' : `.${fraction}`}`;
}

/** For drawing only: decimal USD, rounded. */
export function drawnUsd(micros: bigint): number {
  return Number(micros) / Number(MICROS);
}

/** @returns 0 to 100 and more, rounded down: nothing appears used up before it is. */
export function percentOf(part: bigint, whole: bigint): number {
  if (whole <= 0n) return part > 0n ? 100 : 0;
  return Number((part * 1000n) / whole) / 10;
}
