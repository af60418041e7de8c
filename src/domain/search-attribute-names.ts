/**
 * The names under which workflows can be found in the Temporal Web UI. The module has no side effects, because the
 * workflows set them, `temporal/` registers them.
 */
export const SEARCH_ATTRIBUTE_NAMES = ['TaskStatus', 'AccountId', 'Model', 'Route', 'ErrorCode'] as const;
