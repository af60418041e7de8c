/**
 * What a task costs by its model's price rules (contract §7 "Money"): the price of a unit, times the quantity, times
 * every factor that applies; calculated exactly and rounded up once, to the micro. That the rules fit the model's
 * input schema is proven when its file is read (price-proof.ts).
 */
import { ZERO, add, decimalOf, multiply, roundUpToMicroUsd, smallerOf } from '../domain/money.ts';
import type { Decimal } from '../domain/money.ts';
import { countCodePoints } from '../schema/code-points.ts';
import type { ModelDefinition } from './definition.ts';

export type Pricing = ModelDefinition['pricing'];
type Factor = NonNullable<Pricing['factors']>[number];
type Input = Readonly<Record<string, unknown>>;

const ONE: Decimal = { digits: 1n, scale: 0 };

/** What a price needs to know of a delivered file. */
export interface DeliveredOutput {
  /** `image video audio first_frame last_frame thumbnail`, an open set (contract §3). */
  readonly type: string;
  readonly durationSeconds?: number;
}

/** Derived from what was requested, and not billed (contract §3: "only for video and after it"). */
const DERIVED_TYPES: ReadonlySet<string> = new Set(['first_frame', 'last_frame', 'thumbnail']);

/** How a price is calculated, for display. */
export interface Quote {
  /** How many units at most. */
  readonly quantity: Decimal;
  /** USD for one. */
  readonly unitUsd: Decimal;
  /** The factors that apply. */
  readonly factors: readonly Factor[];
  readonly costMicroUsd: bigint;
}

/**
 * The worst case and how it is calculated.
 *
 * @param input one that its model's schema accepts.
 * @throws {Error} a field that the price depends on has a value that the schema would have rejected.
 */
export function quote(pricing: Pricing, input: Input): Quote {
  const quantity = requestedQuantity(pricing, input);
  const unitUsd = unitPrice(pricing, input);
  const factors = (pricing.factors ?? []).filter((factor) => applies(factor, input));
  return { quantity, unitUsd, factors, costMicroUsd: costOf(quantity, unitUsd, factors) };
}

/** The worst-case cost in micro-USD, which is held when a task is accepted. */
export function worstCaseCost(pricing: Pricing, input: Input): bigint {
  return quote(pricing, input).costMicroUsd;
}

/**
 * The cost of what was delivered in micro-USD, which is captured: by count or by duration if the price depends on
 * that, and never more than the worst case.
 */
export function actualCost(pricing: Pricing, input: Input, outputs: readonly DeliveredOutput[]): bigint {
  const primary = outputs.filter(({ type }) => !DERIVED_TYPES.has(type));
  if (primary.length === 0) return 0n;
  const { quantity, unitUsd, factors } = quote(pricing, input);
  return costOf(smallerOf(deliveredQuantity(pricing, input, primary, quantity), quantity), unitUsd, factors);
}

/**
 * The cost of files that a provider finished and that were not inspected, in micro-USD: each is taken to be what was
 * requested. Never more than the worst case.
 */
export function finishedCost(pricing: Pricing, input: Input, files: number): bigint {
  return actualCost(
    pricing,
    input,
    Array.from({ length: files }, () => ({ type: 'finished' })),
  );
}

/** The fields of the input that a price depends on. */
export function pricedFields({ by, count, duration, text, factors = [] }: Pricing): ReadonlySet<string> {
  const rules = [by, count, duration, text, ...factors].filter((rule) => rule !== undefined);
  return new Set(rules.map(({ field }) => field));
}

function costOf(quantity: Decimal, unitUsd: Decimal, factors: readonly Factor[]): bigint {
  return roundUpToMicroUsd(multiply(quantity, unitUsd, ...factors.map(({ factor }) => exact(factor))));
}

function unitPrice({ by, usd }: Pricing, input: Input): Decimal {
  const value = by === undefined ? undefined : valueOf(input, by.field);
  const isListed = by !== undefined && typeof value === 'string' && Object.hasOwn(by.usd, value);
  return exact((isListed ? by.usd[value] : undefined) ?? usd);
}

function requestedQuantity(pricing: Pricing, input: Input): Decimal {
  switch (pricing.unit) {
    case 'image':
      return requestedCount(pricing, input);
    case 'second':
      return multiply(requestedSeconds(pricing, input), requestedCount(pricing, input));
    case 'character':
      return characters(pricing, input);
    case 'task':
      return ONE;
  }
}

function deliveredQuantity(
  pricing: Pricing,
  input: Input,
  outputs: readonly DeliveredOutput[],
  requested: Decimal,
): Decimal {
  if (pricing.unit === 'image') return exact(outputs.length);
  if (pricing.unit !== 'second') return requested;
  // A file that does not state its duration is taken to be as long as was requested.
  const each = requestedSeconds(pricing, input);
  return outputs.map(({ durationSeconds }) => decimalOf(durationSeconds ?? '') ?? each).reduce(add, ZERO);
}

function requestedCount({ count }: Pricing, input: Input): Decimal {
  return count === undefined ? ONE : number(input, count);
}

function requestedSeconds({ duration }: Pricing, input: Input): Decimal {
  return duration === undefined ? ONE : number(input, duration);
}

function characters({ text }: Pricing, input: Input): Decimal {
  const value = text === undefined ? '' : (valueOf(input, text.field) ?? '');
  if (typeof value !== 'string') throw new Error(`the price depends on ${text?.field}, which is not a string`);
  return exact(countCodePoints(value));
}

function number(input: Input, { field, default: missing }: { field: string; default?: number }): Decimal {
  const value = valueOf(input, field) ?? missing;
  const amount = typeof value === 'string' || typeof value === 'number' ? decimalOf(value) : undefined;
  if (amount === undefined) throw new Error(`the price depends on ${field}, which is not a number`);
  return amount;
}

function applies({ field, value, default: missing }: Factor, input: Input): boolean {
  return (valueOf(input, field) ?? missing) === value;
}

/** Own fields alone: no field is called `constructor` unless the input has one. */
function valueOf(input: Input, field: string): unknown {
  return Object.hasOwn(input, field) ? input[field] : undefined;
}

function exact(value: string | number): Decimal {
  const amount = decimalOf(value);
  if (amount === undefined) throw new Error('a number in a loaded definition is not a decimal one');
  return amount;
}
