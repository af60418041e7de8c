/**
 * What a provider's answer says about the consumption of work. A value that is not exactly of the expected form counts
 * as not reported.
 */
import { isRecord } from '../domain/json.ts';
import { decimalOf, roundUpToMicroUsd } from '../domain/money.ts';
import { MAX_COST_MICRO_USD, USAGE_NAMES } from '../domain/provider-usage.ts';
import type { Consumption, ProviderUsage, UsageName } from '../domain/provider-usage.ts';

/** No work consumes more of anything. */
const MAX_QUANTITY = 1e12;
const MAX_INPUT_SECONDS = 1e6;

/** @param reported the values of an answer, of any type; undefined: it has none. */
export function consumptionOf(reported: { readonly usage?: unknown; readonly cost?: unknown }): Consumption {
  const usage = usageOf(reported.usage);
  const costMicroUsd = microUsdOf(reported.cost);
  return {
    ...(usage === undefined || Object.keys(usage).length === 0 ? {} : { usage }),
    ...(costMicroUsd === undefined ? {} : { costMicroUsd }),
  };
}

/** Whether a value is usage as a provider may report it. */
export function isUsage(value: unknown): boolean {
  return usageOf(value) !== undefined;
}

/** @returns undefined if it is no object, or if a member has another name or is no quantity. */
function usageOf(value: unknown): ProviderUsage | undefined {
  if (!isRecord(value)) return undefined;
  const usage: Partial<Record<UsageName, number>> = {};
  for (const [member, quantity] of Object.entries<unknown>({ ...value })) {
    if (quantity === undefined) continue;
    const name = USAGE_NAMES.find((each) => each === member);
    // Some servers have the member and leave it at 0; and no recording takes weeks.
    if (name === 'inputSeconds' && (quantity === 0 || Number(quantity) > MAX_INPUT_SECONDS)) continue;
    const isQuantity = typeof quantity === 'number' && quantity >= 0 && quantity <= MAX_QUANTITY;
    if (name === undefined || !isQuantity) return undefined;
    usage[name] = quantity;
  }
  return usage;
}

/** USD, as a number or a decimal text, in micros. */
export function microUsdOf(value: unknown): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const decimal = decimalOf(value);
  const microUsd = decimal === undefined ? undefined : roundUpToMicroUsd(decimal);
  return microUsd !== undefined && microUsd <= MAX_COST_MICRO_USD ? microUsd : undefined;
}
