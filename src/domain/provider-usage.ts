/**
 * What a provider reports about finished work: what the work consumed, by the usual names of the field, and what it
 * costs us.
 */
import type { CostSource } from '@darkroom/api/facts/cost-sources';

/**
 * The closed list of what can be reported. `seconds` are those that the provider counts, of work or of the output;
 * `inputSeconds` are those of the audio and video in the input.
 */
export const USAGE_NAMES = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'credits',
  'seconds',
  'inputSeconds',
  'characters',
  'images',
] as const;

export type UsageName = (typeof USAGE_NAMES)[number];

/**
 * Quantities by name, not negative; what is absent was not reported. `countedInputSeconds` are those that we counted, by
 * which the account pays whatever was reported; what the work costs us depends on the report.
 */
export type ProviderUsage = Readonly<Partial<Record<UsageName | 'countedInputSeconds', number>>>;

/** What is known of the consumption of one piece of work. */
export interface Consumption {
  readonly usage?: ProviderUsage;
  /** What the provider bills for it. */
  readonly costMicroUsd?: bigint;
}

/**
 * What two answers of one piece of work say together. Some providers say it only when they take a job; what a later
 * answer says counts for more, name by name.
 */
export function mergeConsumption(first: Consumption, last: Consumption): Consumption {
  const costMicroUsd = last.costMicroUsd ?? first.costMicroUsd;
  const usage = { ...first.usage, ...last.usage };
  return {
    ...(Object.keys(usage).length === 0 ? {} : { usage }),
    ...(costMicroUsd === undefined ? {} : { costMicroUsd }),
  };
}

/** The highest cost that is believed: 100,000 USD. No work costs more, so a larger value must be in another unit. */
export const MAX_COST_MICRO_USD = 100_000_000_000n;

/** The cost of one piece of work as it is recorded. Absent: not known. */
export interface WorkCost {
  readonly usage?: ProviderUsage;
  readonly cost?: { readonly microUsd: bigint; readonly source: CostSource };
}
