/** Numbers that a JSON Schema allows: `minimum`, `maximum`, their exclusive variants and `multipleOf`. */
import type { JsonSchema } from '../request.ts';

/** Multiples that floating point does not represent exactly are skipped, this many in each direction. */
const TRIES = 100;

export function isAllowedNumber(value: number, schema: JsonSchema, isInteger: boolean): boolean {
  if (isInteger && !Number.isInteger(value)) return false;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  return (
    (typeof minimum !== 'number' || value >= minimum) &&
    (typeof maximum !== 'number' || value <= maximum) &&
    (typeof exclusiveMinimum !== 'number' || value > exclusiveMinimum) &&
    (typeof exclusiveMaximum !== 'number' || value < exclusiveMaximum) &&
    (typeof multipleOf !== 'number' || multipleOf <= 0 || Number.isInteger(value / multipleOf))
  );
}

/** @returns the allowed number that is nearest to `preferred`, or close to it; `preferred` if there is none. */
export function allowedNumber(preferred: number, schema: JsonSchema, isInteger: boolean): number {
  const step = stepOf(schema, isInteger);
  const low = highest(schema['minimum'], schema['exclusiveMinimum']);
  const high = lowest(schema['maximum'], schema['exclusiveMaximum']);
  const inside = Math.min(Math.max(preferred, low), high);
  const candidates = step === undefined ? continuous(inside, low, high) : multiples(inside, step);
  for (const candidate of candidates) if (isAllowedNumber(candidate, schema, isInteger)) return candidate;
  return preferred;
}

function highest(...bounds: readonly unknown[]): number {
  return Math.max(...bounds.filter((bound) => typeof bound === 'number'));
}

function lowest(...bounds: readonly unknown[]): number {
  return Math.min(...bounds.filter((bound) => typeof bound === 'number'));
}

function stepOf({ multipleOf }: JsonSchema, isInteger: boolean): number | undefined {
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return isInteger ? 1 : undefined;
  if (!isInteger) return multipleOf;
  for (let times = 1; times <= 1000; times++) if (Number.isInteger(times * multipleOf)) return times * multipleOf;
  return multipleOf;
}

function continuous(inside: number, low: number, high: number): readonly number[] {
  const middle = Number.isFinite(low) && Number.isFinite(high) ? low + (high - low) / 2 : inside;
  return [inside, inside + 1, inside - 1, middle, 0];
}

function* multiples(inside: number, step: number): Generator<number> {
  const nearest = Math.round(inside / step);
  for (let away = 0; away <= TRIES; away++) {
    // Twice, because 3 * 0.1 is not 0.3.
    for (const times of [nearest + away, nearest - away]) yield* [times * step, Number((times * step).toPrecision(12))];
  }
  yield 0;
}
