/**
 * The attributes by which operators can search and list workflows (architecture, "Operators' view"). Registered by
 * `migrate`, or by the bundled dev server at its start.
 */
import { SEARCH_ATTRIBUTE_NAMES } from '../domain/workflow-ids.ts';

/** Every search attribute and its type. */
export const SEARCH_ATTRIBUTES: Readonly<Record<string, 'Keyword'>> = Object.fromEntries(
  SEARCH_ATTRIBUTE_NAMES.map((name) => [name, 'Keyword' as const]),
);
