/** What keeping bytes costs, as far as a month can be foretold. */
import { amountOf, microsOf } from '../../components/amounts.ts';

/** The unit of the price: contract §5, "per GB". */
const GB = 1_000_000_000n;

/** @param pricePerGb decimal USD for a GB and month. @returns decimal USD for a month, rounded up to the micro. */
export function monthlyUsd(bytes: number, pricePerGb: string): string {
  return amountOf((BigInt(bytes) * microsOf(pricePerGb) + GB - 1n) / GB);
}
