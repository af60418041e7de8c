/** The keys by which usage can be grouped. */

export const USAGE_GROUPS = ['day', 'model', 'keyId'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
