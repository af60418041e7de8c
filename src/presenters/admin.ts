/**
 * What operators send and receive on the admin listener, except accounts (admin-account.ts). Keys, ledger and usage
 * have the shapes that their owners see (key.ts, ledger.ts, usage.ts).
 */
import { formatUsd, parseUsd } from '../domain/money.ts';
import type { UsageQuery } from '../billing/usage.ts';
import type { OperatorCost } from '../billing/operator-costs.ts';
import type { Static } from 'typebox';
import type { OperatorCostsSchema } from '@darkroom/api/admin/admin';

/** @returns micro-USD with its sign; undefined if the string is not an amount. */
export function parseSignedUsd(text: string): bigint | undefined {
  if (!text.startsWith('-')) return parseUsd(text);
  const amount = parseUsd(text.slice(1));
  return amount === undefined ? undefined : -amount;
}

export function presentOperatorCosts(
  { from, to }: UsageQuery,
  costs: readonly OperatorCost[],
): Static<typeof OperatorCostsSchema> {
  return {
    from,
    to,
    currency: 'USD',
    rows: costs.map(({ upstream, model, reason, tasks, atMostMicroUsd }) => ({
      upstream,
      model,
      reason,
      tasks,
      atMost: formatUsd(atMostMicroUsd),
    })),
  };
}
