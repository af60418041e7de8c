/**
 * How the cost of a task is known: the provider's answer says it, or its usage does at the rates of the model file, or
 * the price rule of the model file.
 */
export const COST_SOURCES = ['reported', 'usage', 'rule'] as const;

export type CostSource = (typeof COST_SOURCES)[number];
