/**
 * What a task costs by its model's price rules (contract §7): decimal strings in the file, integer micro-USD here.
 */
import { parseUsd } from '../domain/money.ts';
import type { ModelDefinition } from './definition.ts';

type Pricing = ModelDefinition['pricing'];

/** How many units a request may produce at most. */
const UNITS_PER_REQUEST = 1n;

/** The price of one unit for this input, in micro-USD. */
function unitPrice(pricing: Pricing, input: Readonly<Record<string, unknown>>): bigint {
  const value = pricing.by === undefined ? undefined : input[pricing.by.field];
  const prices = pricing.by?.usd ?? {};
  const listed = typeof value === 'string' && Object.hasOwn(prices, value) ? prices[value] : undefined;
  const price = parseUsd(listed ?? pricing.usd);
  if (price === undefined) throw new Error('a price in a loaded definition is not a decimal amount');
  return price;
}

/** The worst-case cost, which is held when a task is accepted. */
export function worstCaseCost(pricing: Pricing, input: Readonly<Record<string, unknown>>): bigint {
  return unitPrice(pricing, input) * UNITS_PER_REQUEST;
}

/** The actual cost of what was delivered, which is captured; never more than the worst case. */
export function actualCost(
  pricing: Pricing,
  input: Readonly<Record<string, unknown>>,
  deliveredOutputs: number,
): bigint {
  const cost = unitPrice(pricing, input) * BigInt(deliveredOutputs);
  const worstCase = worstCaseCost(pricing, input);
  return cost < worstCase ? cost : worstCase;
}
