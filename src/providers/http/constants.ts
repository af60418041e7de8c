/**
 * What is written in an expression as a constant, and so known before any response: a state, a reason or an outcome
 * outside its closed list, and a quantity of usage that does not exist. Only the last step of a result is read: a
 * literal, the branches of a condition, or an object in which `$lookup` finds one.
 */
import jsonata from 'jsonata';
import { USAGE_NAMES } from '../../domain/provider-usage.ts';
import { listAt, textAt, valueAt } from '../json-answer.ts';
import { OUTCOMES, REASONS, STATES, listed } from './values.ts';

/** The last steps of the positions that have a closed list. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  'poll.state': STATES,
  'submit.refusal': REASONS,
  reason: REASONS,
  'cancel.outcome': OUTCOMES,
};

/** @param name the position in the binding. @returns what is wrong with each constant that is never accepted there. */
export function findUnusableConstants(name: string, text: string): readonly string[] {
  const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined;
  const isUsage = name === 'usage' || name.endsWith('.usage');
  if (list === undefined && !isUsage) return [];
  const results = resultsOf(jsonata(text).ast());
  const given = isUsage ? results.flatMap(namesOf) : results;
  return given.flatMap((node) => {
    const value = literalOf(node);
    const allowed = list ?? USAGE_NAMES;
    if (value === undefined || allowed.some((each) => each === value)) return [];
    return `${JSON.stringify(value)}${positionOf(node)} is none of ${listed(allowed)}`;
  });
}

/** The nodes of a syntax tree whose values the whole can have. */
function resultsOf(node: unknown): readonly unknown[] {
  // What is filtered or grouped has another value.
  if (['predicate', 'group', 'stages'].some((each) => valueAt(node, each) !== undefined)) return [];
  switch (textAt(node, 'type')) {
    case 'block':
      return resultsOf(listAt(node, 'expressions').at(-1));
    case 'path':
      return resultsOf(listAt(node, 'steps').at(-1));
    case 'condition':
      return [valueAt(node, 'then'), valueAt(node, 'else')].flatMap(resultsOf);
    case 'apply':
      return resultsOf(valueAt(node, 'rhs'));
    case 'function':
    case 'partial':
      return isLookup(node) ? membersOf(listAt(node, 'arguments')[0]).flatMap(([, value]) => resultsOf(value)) : [node];
    case undefined:
      return [];
    default:
      return [node];
  }
}

function isLookup(node: unknown): boolean {
  return textAt(node, 'procedure', 'type') === 'variable' && textAt(node, 'procedure', 'value') === 'lookup';
}

/** `null` is the same as nothing. */
function literalOf(node: unknown): string | number | boolean | undefined {
  const value = valueAt(node, 'value');
  switch (textAt(node, 'type')) {
    case 'string':
    case 'number':
    case 'value':
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
    default:
      return undefined;
  }
}

/** The members of an object that is written out. */
function membersOf(node: unknown): readonly (readonly [name: unknown, value: unknown])[] {
  if (textAt(node, 'type') !== 'unary' || textAt(node, 'value') !== '{') return [];
  return listAt(node, 'lhs').map((pair) => [listAt(pair)[0], listAt(pair)[1]] as const);
}

/** Their names, as far as they are constants. */
function namesOf(node: unknown): readonly unknown[] {
  return membersOf(node).flatMap(([name]) => (textAt(name, 'type') === 'string' ? [name] : []));
}

/** The library counts to the end of a token. */
function positionOf(node: unknown): string {
  const position = valueAt(node, 'position');
  return typeof position === 'number' ? ` at character ${position}` : '';
}
