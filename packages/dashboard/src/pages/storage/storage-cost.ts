/** The storage cost of a number of bytes, as an estimate for a month. */
import { amountOf, microsOf } from '../../components/amounts.ts';

/** The unit of the price: contract §5, "per GB". */
const GB = 1_000_000_000n;

/** @param pricePerGb decimal USD per GB and month. @returns decimal USD per month, rounded up to the micro. */
export function monthlyUsd(bytes: number, pricePerGb: string): string {
  return amountOf((BigInt(bytes) * microsOf(pricePerGb) + GB - 1n) / GB);
}
