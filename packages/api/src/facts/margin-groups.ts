/** What the margins of tasks can be grouped by, in the order of the columns. */
export const MARGIN_GROUPS = ['day', 'model', 'upstream', 'account'] as const;

export type MarginGroup = (typeof MARGIN_GROUPS)[number];
