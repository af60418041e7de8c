/**
 * Money: integer micro-USD inside (`bigint`), decimal strings on the wire (contract, "Conventions"). No floating point
 * touches an amount; whatever is multiplied is multiplied as integers and rounded up once.
 */

/** Micro-USD in one USD. */
const MICRO_PER_USD = 1_000_000n;

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,6}))?$/;

/**
 * Writes an amount as the wire does: no exponent, no trailing zeros, `"0.042"`.
 */
export function formatUsd(microUsd: bigint): string {
  const sign = microUsd < 0n ? '-' : '';
  const absolute = microUsd < 0n ? -microUsd : microUsd;
  const fraction = (absolute % MICRO_PER_USD).toString().padStart(6, '0').replace(/0+$/, '');
  const whole = `${sign}${absolute / MICRO_PER_USD}`;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/**
 * Reads an amount from a decimal string of at most 12 digits before and 6 after the point.
 *
 * @returns undefined where the text is not of that form (signs, exponents and blanks included).
 */
export function parseUsd(text: string): bigint | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(6, '0'));
}
