/**
 * The response of `POST /tasks/estimate` (contract §4): money as decimal USD, null where an error makes a price
 * impossible.
 */
import type { Estimate } from '../tasks/create/estimate.ts';
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import { formatDecimal, formatUsd } from '../domain/money.ts';

export function presentEstimate({ quote, pricing, violations, ...estimate }: Estimate): WireEstimate {
  return {
    maxCost: quote === undefined ? null : formatUsd(quote.costMicroUsd),
    currency: 'USD',
    breakdown:
      quote === undefined || pricing === undefined
        ? []
        : [
            {
              unit: pricing.unit,
              quantity: formatDecimal(quote.quantity),
              unitPrice: formatDecimal(quote.unitUsd),
              factors: quote.factors.map(({ field, value, factor }) => ({ field, value, factor })),
              amount: formatUsd(quote.costMicroUsd),
            },
          ],
    model: estimate.model ?? null,
    route: estimate.route ?? null,
    balanceSufficient: estimate.isBalanceSufficient ?? null,
    errors: violations.map(({ message }) => message),
    violations: violations.map(({ message, problem, field, keyword }) => ({
      message,
      ...(problem === undefined ? {} : { problem }),
      field,
      keyword,
    })),
  };
}
