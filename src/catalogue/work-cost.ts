/**
 * What work costs the operator: what the provider says, or else by the `cost` rule of the upstream in the model file.
 * Like a price it is calculated exactly, and rounded up once.
 */
import { ZERO, add, decimalOf, formatUsd, multiply, roundUpToMicroUsd } from '../domain/money.ts';
import { MAX_COST_MICRO_USD, USAGE_NAMES } from '../domain/provider-usage.ts';
import type { Consumption, ProviderUsage, WorkCost } from '../domain/provider-usage.ts';
import type { Upstream } from './definition.ts';
import { finishedCost, worstCaseCost } from './price.ts';
import { isTextModel } from './text-definition.ts';
import type { CatalogueModel } from './text-definition.ts';

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

/** A model that sells below cost. */
interface Loss {
  readonly model: string;
  /** The position in the file and the amounts. */
  readonly problem: string;
}

/**
 * Finds models that sell below cost: an example whose price is lower than what an upstream bills for it by the price
 * rule of the model file. A warning and not an error, because an operator may want that.
 *
 * @returns the first such example of each upstream.
 */
export function lossesOf(definitions: readonly CatalogueModel[]): readonly Loss[] {
  return definitions.flatMap((definition) => {
    if (isTextModel(definition)) return [];
    const { name: model, routes, pricing, examples } = definition;
    const upstreams = Object.entries(routes).flatMap(([route, { upstreams: listed }]) =>
      listed.map(({ cost }, index) => ({ rule: cost?.pricing, path: `routes.${route}.upstreams.${index}` })),
    );
    return upstreams.flatMap(({ rule, path }) => {
      if (rule === undefined) return [];
      for (const [index, example] of examples.entries()) {
        const cost = worstCaseCost(rule, example);
        const lowest = worstCaseCost(pricing, example, pricing.batchFactor);
        if (lowest >= cost) continue;
        const price = worstCaseCost(pricing, example);
        const sale = price < cost ? formatUsd(price) : `${formatUsd(lowest)} in a batch`;
        return [
          { model, problem: `${path}.cost: examples.${index} costs ${formatUsd(cost)} USD and is sold for ${sale}` },
        ];
      }
      return [];
    });
  });
}
