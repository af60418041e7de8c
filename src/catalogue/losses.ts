/**
 * Models that sell below cost: an example whose price is lower than what an upstream bills for it by the price rule of
 * the model file. A warning and not an error, because an operator may want that.
 */
import { formatUsd } from '../domain/money.ts';
import type { CatalogueModel } from './text-definition.ts';
import { isTextModel } from './text-definition.ts';
import { worstCaseCost } from './price.ts';

export interface Loss {
  readonly model: string;
  /** The position in the file and the amounts. */
  readonly problem: string;
}

/** @returns the first example of each upstream that sells below its cost. */
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
