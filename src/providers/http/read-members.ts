/**
 * What expressions read of their document and variables, found in their syntax trees: a poll's answer may have
 * megabytes, of which `state` reads one word, and only what is read is copied to the thread that evaluates. An
 * expression that may read more than can be seen here gets everything.
 */
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';
import type { ExpressionScope } from '../answer-thread.ts';

const MAX_REMEMBERED = 500;

/** They read the current document where they are called with fewer arguments than this; other functions with none. */
const ARGUMENTS: ReadonlyMap<string, number> = new Map([
  ['lookup', 2],
  ['each', 2],
  ['sift', 2],
]);

/** The document's name among the variables, as the library has it: `$`. */
const DOCUMENT = '';

/** By name of the variable, which of its members are read. */
type Reads = ReadonlyMap<string, ReadonlySet<string> | 'all'>;

const remembered = new LRUCache<string, Reads>({ max: MAX_REMEMBERED });

/** @returns the same scope without what none of the expressions reads. */
export function readScope(expressions: readonly string[], { document, variables }: ExpressionScope): ExpressionScope {
  const reads = expressions.map(readsOf);
  const pick = (name: string, value: unknown): unknown => {
    const members = reads.flatMap((each) => each.get(name) ?? []);
    return members.includes('all') ? value : pickMembers(value, members as readonly ReadonlySet<string>[]);
  };
  const isRead = (name: string): boolean => reads.some((each) => each.has(name));
  return {
    document: pick(DOCUMENT, document),
    variables: Object.fromEntries(
      Object.entries(variables).flatMap(([name, value]) => (isRead(name) ? [[name, pick(name, value)]] : [])),
    ),
  };
}

function pickMembers(value: unknown, members: readonly ReadonlySet<string>[]): unknown {
  // A list stands for the members of all its elements.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const names = new Set(members.flatMap((each) => [...each]));
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
}

function readsOf(text: string): Reads {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const reads = findReads(text);
  remembered.set(text, reads);
  return reads;
}

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !(value instanceof RegExp);
}

function findReads(text: string): Reads {
  const reads = new Map<string, Set<string> | 'all'>();
  const readAll = (name: string): void => void reads.set(name, 'all');
  const readMember = (name: string, member: string): void => {
    const members = reads.get(name) ?? new Set();
    if (members !== 'all') reads.set(name, members.add(member));
  };

  /** @param isOutside whether the document itself is the context, and not something that was found in it. */
  const walk = (node: unknown, isOutside: boolean): void => {
    if (!isNode(node)) return;
    // Both make the context of a later step one that is not the step before it.
    if (node['type'] === 'parent' || 'focus' in node) readAll(DOCUMENT);
    switch (node['type']) {
      case 'path':
        return walkPath(node, isOutside);
      case 'name':
        if (isOutside) readMember(DOCUMENT, String(node['value']));
        return walkInside(node);
      case 'variable':
        readVariable(String(node['value']), isOutside);
        return walkInside(node);
      case 'wildcard':
      case 'descendant':
        if (isOutside) readAll(DOCUMENT);
        return walkInside(node);
      case 'transform':
      case 'partial':
        readAll(DOCUMENT);
        return walkParts(node, isOutside);
      case 'lambda':
        // A signature may name the context as an argument.
        if (node['signature'] !== undefined) readAll(DOCUMENT);
        return walkParts(node, isOutside);
      case 'function':
        return walkCall(node, isOutside);
      default:
        return walkParts(node, isOutside);
    }
  };

  const readVariable = (name: string, isOutside: boolean): void => {
    if (name === '$' || (name === DOCUMENT && isOutside) || ARGUMENTS.has(name)) readAll(DOCUMENT);
    else if (name !== DOCUMENT) readAll(name);
  };

  const walkPath = (path: Node, isOutside: boolean): void => {
    const [first, second, ...others] = path['steps'] as readonly Node[];
    const { steps: _, ...rest } = path;
    walkInside(rest);
    const isOfVariable =
      first?.['type'] === 'variable' &&
      second?.['type'] === 'name' &&
      !['predicate', 'stages', 'group', 'focus'].some((part) => part in first);
    const name = isOfVariable ? String(first['value']) : undefined;
    if (name === undefined) walk(first, isOutside);
    else if (name !== DOCUMENT || isOutside) readMember(name === '$' ? DOCUMENT : name, String(second?.['value']));
    for (const step of [second, ...others]) walk(step, false);
  };

  const walkCall = (call: Node, isOutside: boolean): void => {
    const given = call['arguments'] as readonly Node[];
    const procedure = call['procedure'] as Node;
    const name = procedure['type'] === 'variable' ? String(procedure['value']) : undefined;
    if (isOutside && given.length < (ARGUMENTS.get(name ?? '') ?? 1)) readAll(DOCUMENT);
    if (name === undefined || !ARGUMENTS.has(name)) walk(procedure, isOutside);
    for (const argument of given) walk(argument, isOutside);
    const { arguments: _, procedure: __, ...rest } = call;
    walkInside(rest);
  };

  /** The parts of a node that are evaluated over what it found. */
  const walkInside = ({ predicate, stages, group }: Node): void => {
    for (const part of [predicate, stages, group]) walk(part, false);
  };

  const walkParts = (node: Node, isOutside: boolean): void => {
    const { predicate: _, stages: __, group: ___, ...rest } = node;
    walkInside(node);
    for (const part of Object.values(rest)) walk(part, isOutside);
  };

  walk(jsonata(text).ast(), true);
  return reads;
}
