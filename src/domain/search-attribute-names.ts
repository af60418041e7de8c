/**
 * The names under which workflows can be found in the Temporal Web UI. Pure: the workflows set them, `temporal/`
 * registers them.
 */
export const SEARCH_ATTRIBUTE_NAMES = ['TaskStatus', 'AccountId', 'Model', 'Route', 'ErrorCode'] as const;
