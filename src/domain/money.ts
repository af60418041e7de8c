/**
 * Money: integer micro-USD inside (`bigint`), decimal strings on the wire (contract, "Conventions"). No floating point
 * touches an amount: prices, quantities and factors are exact decimals, multiplied as integers and rounded up once.
 */

/** Micro-USD in one USD. */
const MICRO_PER_USD = 1_000_000n;
/** The same as a power of ten. */
const MICRO_DIGITS = 6;

const AMOUNT = /^(\d{1,12})(?:\.(\d{1,6}))?$/;

/**
 * Writes an amount as the wire does: no exponent, no trailing zeros, `"0.042"`.
 */
export function formatUsd(microUsd: bigint): string {
  const absolute = microUsd < 0n ? -microUsd : microUsd;
  return `${microUsd < 0n ? '-' : ''}${formatDecimal({ digits: absolute, scale: MICRO_DIGITS })}`;
}

/**
 * Reads an amount from a decimal string of at most 12 digits before and 6 after the point.
 *
 * @returns undefined if the string is not of that form (signs, exponents and blanks included).
 */
export function parseUsd(text: string): bigint | undefined {
  const match = AMOUNT.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(MICRO_DIGITS, '0'));
}

/** An exact number that is not negative: `digits` with the last `scale` of them after the point. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { digits: 0n, scale: 0 };

/** A decimal number as JavaScript writes it; its exponent never has more than three digits. */
const DECIMAL = /^(\d{1,400})(?:\.(\d{1,400}))?(?:e([+-]\d{1,3}))?$/;

/**
 * Reads a number exactly: a decimal text, or what JSON holds, as it is written there (`4.96` is 496 hundredths and
 * not its nearest binary fraction).
 *
 * @returns undefined for a value that is negative, not finite or not a number.
 */
export function decimalOf(value: string | number | bigint): Decimal | undefined {
  const match = DECIMAL.exec(String(value));
  if (match === null) return undefined;
  const [, whole = '0', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** Writes a number without exponent and trailing zeros. */
export function formatDecimal({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0');
  const whole = text.slice(0, text.length - scale);
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The product, exactly. */
export function multiply(...factors: readonly Decimal[]): Decimal {
  return factors.reduce((product, factor) => ({
    digits: product.digits * factor.digits,
    scale: product.scale + factor.scale,
  }));
}

/** The sum, exactly. */
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { digits: scaled(a, scale) + scaled(b, scale), scale };
}

export function smallerOf(a: Decimal, b: Decimal): Decimal {
  return isAbove(a, b) ? b : a;
}

export function largerOf(a: Decimal, b: Decimal): Decimal {
  return isAbove(a, b) ? a : b;
}

/** Whether the first is the larger one. */
export function isAbove(a: Decimal, b: Decimal): boolean {
  const scale = Math.max(a.scale, b.scale);
  return scaled(a, scale) > scaled(b, scale);
}

function scaled({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale);
}

/** Converts USD to micro-USD, rounded up: contract §7, "summed exactly and rounded up once to the micro". */
export function roundUpToMicroUsd({ digits, scale }: Decimal): bigint {
  if (scale <= MICRO_DIGITS) return digits * 10n ** BigInt(MICRO_DIGITS - scale);
  const divisor = 10n ** BigInt(scale - MICRO_DIGITS);
  return (digits + divisor - 1n) / divisor;
}
