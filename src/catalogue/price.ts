/**
 * What a task costs by its model's price rules (contract §7 "Money"): the price of a unit, times the quantity, times
 * every factor that applies, at least the minimum; calculated exactly and rounded up once, to the micro or to the step
 * of the price. That the rules fit the model's input schema is proven when its file is read (price-proof.ts).
 */
import { USAGE_UNITS } from '@darkroom/api/tasks/pricing';
import { ZERO, add, decimalOf, largerOf, multiply, roundUpToMicroUsd, smallerOf } from '../domain/money.ts';
import type { Decimal } from '../domain/money.ts';
import type { ProviderUsage } from '../domain/provider-usage.ts';
import { countCodePoints } from '../schema/code-points.ts';
import type { ModelDefinition } from './definition.ts';

export type Pricing = ModelDefinition['pricing'];
type Factor = NonNullable<Pricing['factors']>[number];
type Tiers = NonNullable<Pricing['by']>;
type Input = Readonly<Record<string, unknown>>;

const ONE: Decimal = { digits: 1n, scale: 0 };

/** The type of a file that was not inspected. */
const FINISHED = 'finished';

/** What a price needs to know of a delivered file. */
export interface DeliveredOutput {
  /** `image video audio text first_frame last_frame thumbnail`, an open set (contract §3). */
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
 * @param priceFactor one factor more, which does not depend on the input: that of the line of a batch.
 * @throws {Error} a field that the price depends on has a value that the schema would have rejected.
 */
export function quote(pricing: Pricing, input: Input, priceFactor: string | null = null): Quote {
  const quantity = requestedQuantity(pricing, input);
  const unitUsd = unitPrice(pricing, input);
  const factors = (pricing.factors ?? []).filter((factor) => applies(factor, input));
  return { quantity, unitUsd, factors, costMicroUsd: costOf(pricing, quantity, unitUsd, factors, priceFactor) };
}

/** The worst-case cost in micro-USD, which is held when a task is accepted. */
export function worstCaseCost(pricing: Pricing, input: Input, priceFactor?: string): bigint {
  return quote(pricing, input, priceFactor).costMicroUsd;
}

/**
 * The cost of what was delivered in micro-USD, which is captured: by count, by duration or by the usage if the price
 * depends on that, and never more than the worst case.
 *
 * @param usage what the provider reports; undefined: nothing.
 */
export function actualCost(
  pricing: Pricing,
  input: Input,
  outputs: readonly DeliveredOutput[],
  usage?: ProviderUsage,
  priceFactor: string | null = null,
): bigint {
  return actualQuote(pricing, input, outputs, usage, priceFactor)?.costMicroUsd ?? 0n;
}

function actualQuote(
  pricing: Pricing,
  input: Input,
  outputs: readonly DeliveredOutput[],
  usage: ProviderUsage | undefined,
  priceFactor: string | null,
): Quote | undefined {
  const primary = outputs.filter(({ type }) => !DERIVED_TYPES.has(type));
  if (primary.length === 0) return undefined;
  const worst = quote(pricing, input, priceFactor);
  const delivered = isByUsage(pricing)
    ? usedQuantity(pricing, input, usage, worst.quantity)
    : deliveredQuantity(pricing, input, primary, worst.quantity);
  const quantity = smallerOf(delivered, worst.quantity);
  return { ...worst, quantity, costMicroUsd: costOf(pricing, quantity, worst.unitUsd, worst.factors, priceFactor) };
}

/** Whether the price depends on what the provider reports. */
export function isByUsage({ unit }: Pricing): boolean {
  return USAGE_UNITS.some((each) => each === unit);
}

/**
 * The cost of files that a provider finished and that were not inspected, in micro-USD: each is taken to be what was
 * requested. Never more than the worst case.
 */
export function finishedCost(
  pricing: Pricing,
  input: Input,
  files: number,
  usage?: ProviderUsage,
  priceFactor: string | null = null,
): bigint {
  return finishedQuote(pricing, input, files, usage, priceFactor)?.costMicroUsd ?? 0n;
}

/** The same and how it is calculated; undefined: there are no files, and no cost. */
export function finishedQuote(
  pricing: Pricing,
  input: Input,
  files: number,
  usage?: ProviderUsage,
  priceFactor: string | null = null,
): Quote | undefined {
  const finished = Array.from({ length: files }, () => ({ type: FINISHED }));
  return actualQuote(pricing, input, finished, usage, priceFactor);
}

/** The fields of the input that a price depends on. */
export function pricedFields({ by, hold, count, duration, text, factors = [] }: Pricing): ReadonlySet<string> {
  const rules = [by, hold, count, duration, text, ...factors].filter((rule) => rule !== undefined);
  const fields = [...rules.map(({ field }) => field), ...(by?.fields ?? [])];
  return new Set(fields.filter((field) => field !== undefined));
}

function costOf(
  { minimum = '0', rounding }: Pricing,
  quantity: Decimal,
  unitUsd: Decimal,
  factors: readonly Factor[],
  priceFactor: string | null,
): bigint {
  const product = multiply(quantity, unitUsd, exact(priceFactor ?? 1), ...factors.map(({ factor }) => exact(factor)));
  const microUsd = roundUpToMicroUsd(largerOf(product, exact(minimum)));
  // A step is a whole number of micros, so rounding up in two steps is the same as in one.
  const step = rounding === undefined ? 1n : roundUpToMicroUsd(exact(rounding.step));
  return ((microUsd + step - 1n) / step) * step;
}

function unitPrice({ by, usd }: Pricing, input: Input): Decimal {
  const tier = by === undefined ? undefined : tierOf(by, input);
  const isListed = by !== undefined && tier !== undefined && Object.hasOwn(by.usd, tier);
  return exact((isListed ? by.usd[tier] : undefined) ?? usd);
}

/** The key of the price for an input; undefined: it has no value that could have one. */
function tierOf({ field, fields = [], default: missing = [] }: Tiers, input: Input): string | undefined {
  const values =
    field === undefined ? fields.map((name, index) => valueOf(input, name) ?? missing[index]) : [valueOf(input, field)];
  return values.every((value) => typeof value === 'string') ? tierKey(values) : undefined;
}

/** The key of a price by the values of its fields. */
export function tierKey(values: readonly string[]): string {
  return values.join('/');
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
    case 'token':
    case 'credit':
    case 'input_second':
      return multiply(heldOfOne(pricing, input), requestedSeconds(pricing, input), requestedCount(pricing, input));
  }
}

/** The most tokens, credits or seconds of one output. */
function heldOfOne({ hold }: Pricing, input: Input): Decimal {
  if (hold?.field === undefined) return exact(hold?.quantity ?? 0);
  return number(input, { ...hold, field: hold.field });
}

/** @param held what a task is charged for without a report, unless the price says otherwise. */
function usedQuantity(pricing: Pricing, input: Input, usage: ProviderUsage | undefined, held: Decimal): Decimal {
  const used = reportedQuantity(pricing, usage);
  if (used !== undefined) return used;
  if (pricing.unreported === undefined) return held;
  return multiply(exact(pricing.unreported), requestedSeconds(pricing, input), requestedCount(pricing, input));
}

function reportedQuantity({ unit }: Pricing, usage: ProviderUsage = {}): Decimal | undefined {
  const { credits, totalTokens, inputTokens, outputTokens } = usage;
  if (unit === 'credit') return credits === undefined ? undefined : exact(credits);
  if (unit === 'input_second') {
    const seconds = usage.countedInputSeconds ?? usage.inputSeconds;
    return seconds === undefined ? undefined : exact(seconds);
  }
  if (totalTokens !== undefined) return exact(totalTokens);
  const parts = [inputTokens, outputTokens].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.map(exact).reduce(add);
}

function deliveredQuantity(
  pricing: Pricing,
  input: Input,
  outputs: readonly DeliveredOutput[],
  requested: Decimal,
): Decimal {
  if (pricing.unit === 'image') return exact(outputs.length);
  if (pricing.unit !== 'second') return requested;
  return outputs.map((output) => deliveredSeconds(pricing, input, output)).reduce(add, ZERO);
}

/**
 * A file whose length is not known is as long as the client requested. Where the client left that open, nothing is
 * charged for its seconds: a default of ours is no measure of a file that was looked at.
 */
function deliveredSeconds(pricing: Pricing, input: Input, { type, durationSeconds }: DeliveredOutput): Decimal {
  const { duration } = pricing;
  const isOpen = type !== FINISHED && duration !== undefined && valueOf(input, duration.field) === undefined;
  return decimalOf(durationSeconds ?? '') ?? (isOpen ? ZERO : requestedSeconds(pricing, input));
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

function number(input: Input, { field, default: missing }: { field: string; default?: number | undefined }): Decimal {
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
