/**
 * What work costs the operator: what the provider says, or else by the `cost` rule of the upstream in the model file.
 * Like a price it is calculated exactly, and rounded up once.
 */
import { ZERO, add, decimalOf, multiply, roundUpToMicroUsd } from '../domain/money.ts';
import { MAX_COST_MICRO_USD, USAGE_NAMES } from '../domain/provider-usage.ts';
import type { Consumption, ProviderUsage, WorkCost } from '../domain/provider-usage.ts';
import type { Upstream } from './definition.ts';
import { finishedCost } from './price.ts';

type CostRule = NonNullable<Upstream['cost']>;
type Input = Readonly<Record<string, unknown>>;

/**
 * @param files how many the work produced, each taken to be what was requested; 0: only what the provider reports
 *   counts, because the price rule is that of finished work.
 */
export function workCost(
  rule: CostRule | undefined,
  input: Input,
  files: number,
  { usage, costMicroUsd }: Consumption,
): WorkCost {
  const cost: WorkCost['cost'] =
    costMicroUsd === undefined ? costByRule(rule, input, files, usage) : { microUsd: costMicroUsd, source: 'reported' };
  return { ...(usage === undefined ? {} : { usage }), ...(cost === undefined ? {} : { cost }) };
}

function costByRule(
  rule: CostRule | undefined,
  input: Input,
  files: number,
  usage: ProviderUsage | undefined,
): WorkCost['cost'] {
  const byUsage = rule?.usage === undefined ? undefined : usageCost(rule.usage, usage);
  if (byUsage !== undefined && byUsage <= MAX_COST_MICRO_USD) return { microUsd: byUsage, source: 'usage' };
  if (rule?.pricing === undefined || files === 0) return undefined;
  return { microUsd: finishedCost(rule.pricing, input, files), source: 'rule' };
}

/** @returns undefined: a quantity that has a rate was not reported, and what it costs is not known. */
function usageCost(rates: NonNullable<CostRule['usage']>, usage: ProviderUsage = {}): bigint | undefined {
  let sum = ZERO;
  for (const name of USAGE_NAMES) {
    const rate = rates[name];
    if (rate === undefined) continue;
    const [quantity, usd] = [decimalOf(usage[name] ?? ''), decimalOf(rate)];
    if (quantity === undefined || usd === undefined) return undefined;
    sum = add(sum, multiply(quantity, usd));
  }
  return roundUpToMicroUsd(sum);
}
