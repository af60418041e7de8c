/**
 * Text that JSON can carry and PostgreSQL cannot store: U+0000, and unpaired surrogates. Such a request is rejected
 * for that (contract §1), instead of failing where it would be stored.
 */
import { violation } from '@darkroom/api/facts/violation';
import type { Violation } from '@darkroom/api/facts/violation';

/** @returns what is wrong with a body, naming the first offending field; undefined where all of it can be stored. */
export function findUnstorableText(body: Readonly<Record<string, unknown>>): Violation | undefined {
  const path = findUnstorable(body, []);
  if (path === undefined) return undefined;
  const isInput = path[0] === 'input';
  const field = path.slice(isInput ? 1 : 0).join('.');
  const problem = 'must not contain U+0000 or half of a surrogate pair';
  return violation(isInput ? 'invalid input' : 'invalid request', field, 'storable', problem);
}

/** The path of the first such text; for the name of a field, the path of the value that contains it. */
function findUnstorable(value: unknown, path: readonly string[]): readonly string[] | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) return path;
    const found = findUnstorable(member, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether PostgreSQL can store a text. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}
