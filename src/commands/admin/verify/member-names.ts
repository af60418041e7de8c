/** The shape of a provider's answer, so that two of them can be compared without keeping either. */
import { printable } from '../try/run-log.ts';

const MAX_NAMES = 200;
const LONGEST_NAME = 200;

/**
 * The names of all members, dotted: `data.images.url`. The items of a list count as one.
 *
 * @returns at most 200, in their order.
 */
export function memberNames(answer: unknown): readonly string[] {
  const names = new Set<string>();
  const visit = (value: unknown, above: string): void => {
    if (typeof value !== 'object' || value === null || names.size >= MAX_NAMES) return;
    if (Array.isArray(value)) {
      for (const item of value as readonly unknown[]) visit(item, above);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      if (names.size >= MAX_NAMES) return;
      const path = printable(`${above}${name}`).slice(0, LONGEST_NAME);
      names.add(path);
      visit(member, `${path}.`);
    }
  };
  visit(answer, '');
  return [...names];
}
