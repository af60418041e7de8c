/**
 * Evaluates a model file's expressions over a provider's response, in a thread (answer-threads.ts). The library limits
 * depth and lengths itself, but a regular expression over untrusted text can run forever, and only the end of its
 * thread interrupts it; in a worker's own thread it would stop the heartbeats of every task.
 */
import { serialize } from 'node:v8';
import { isRecord } from '../../domain/json.ts';
import { ThreadEndedError } from '../../limits/timed-threads.ts';
import type { ExpressionScope } from '../answer-thread.ts';
import type { AnswerThreads } from '../answer-threads.ts';
import type { EvaluationError } from '../workbench.ts';
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';

/** What is larger is copied, or parsed, in a turn of its own: it takes more than some milliseconds. */
const LARGE_CHARACTERS = 128_000;
const LARGE_VALUES = 5_000;
/** How many expressions are remembered with what they read. */
const MAX_REMEMBERED = 500;

/** They read the current document where they are called with fewer arguments than this; other functions with none. */
const ARGUMENTS: ReadonlyMap<string, number> = new Map([
  ['lookup', 2],
  ['each', 2],
  ['sift', 2],
]);

/** The document's name among the variables, as the library has it: `$`. */
const DOCUMENT = '';

/** An expression produced no value: it failed, or did not finish. Its text and the data are not in the message. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** The names of the expressions. */
  readonly names: readonly string[];
  /** `TIMEOUT`, `DIED` (the thread), `FAILED`, or the library's own code. */
  readonly code: string;
  /** Not for logs: it may quote the data. */
  readonly detail: EvaluationError;

  constructor(names: readonly string[], detail: EvaluationError, cause?: unknown) {
    super(`the expression ${names.join(', ')} of the model file produced no value (${detail.code})`, { cause });
    this.names = names;
    this.code = detail.code;
    this.detail = detail;
  }
}

/** The values of some expressions: each may be undefined, or of any type. */
export interface ExpressionValues<Name extends string> {
  /**
   * @returns the value; undefined if the expression has none.
   * @throws {ExpressionError} it failed.
   */
  of(name: Name): unknown;
}

/**
 * Evaluates expressions in the upstream's share of the threads.
 *
 * @param upstream its name.
 * @param expressions by name; undefined ones have no value.
 * @param scope its variables are available to an expression as `$name`.
 * @param signal ends the wait for a thread, with its reason.
 * @throws {ExpressionError} they did not finish in time, or the thread died.
 */
export async function evaluateExpressions<Name extends string>(
  threads: AnswerThreads,
  upstream: string,
  expressions: Readonly<Record<Name, string | undefined>>,
  scope: ExpressionScope,
  signal?: AbortSignal,
): Promise<ExpressionValues<Name>> {
  const given = Object.fromEntries(
    Object.entries<string | undefined>(expressions).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, text] as const],
    ),
  );
  const names = Object.keys(given);
  if (names.length === 0) return { of: () => undefined };
  const read = readScope(Object.values(given), scope);
  if (isLarge(read)) await threads.nextTurn();
  const job = { kind: 'evaluate', expressions: given, scope: serialize(read) } as const;
  const { answers } = await threads.run(upstream, job, signal).catch((error: unknown) => {
    if (!(error instanceof ThreadEndedError)) throw error;
    throw new ExpressionError(names, { code: error.reason === 'timeout' ? 'TIMEOUT' : 'DIED' }, error);
  });
  const values = new Map<string, unknown>();
  for (const [name, answer] of Object.entries(answers)) {
    if ('code' in answer || answer.json === null) continue;
    if (answer.json.length > LARGE_CHARACTERS) await threads.nextTurn();
    values.set(name, JSON.parse(answer.json));
  }
  return {
    of(name) {
      const answer = answers[name];
      if (answer !== undefined && 'code' in answer) throw new ExpressionError([name], answer);
      return values.get(name);
    },
  };
}

/** Whether copying a value takes long. It looks at no more of it than that takes. */
function isLarge(value: unknown): boolean {
  const rest: unknown[] = [value];
  let characters = 0;
  for (let values = 0; rest.length > 0; values += 1) {
    const next = rest.pop();
    if (typeof next === 'string') characters += next.length;
    else if (Array.isArray(next) && next.length > LARGE_VALUES) return true;
    else if (typeof next === 'object' && next !== null) rest.push(...Object.values(next));
    if (values > LARGE_VALUES || characters > LARGE_CHARACTERS || rest.length > LARGE_VALUES) return true;
  }
  return false;
}

/** By name of the variable, which of its members are read. */
type Reads = ReadonlyMap<string, ReadonlySet<string> | 'all'>;

const remembered = new LRUCache<string, Reads>({ max: MAX_REMEMBERED });

/**
 * What expressions read of their document and variables, found in their syntax trees: a poll's answer may have
 * megabytes, of which `state` reads one word, and only what is read is copied to the thread that evaluates. An
 * expression that may read more than can be seen here gets everything.
 *
 * @returns the same scope without what none of the expressions reads.
 */
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
  if (!isRecord(value)) return value;
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

/** A node of a syntax tree. */
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

  try {
    walk(jsonata(text).ast(), true);
  } catch {
    // A definition that a task was created with may have an expression that a later version of the library rejects.
    // Its evaluation says what is wrong with it.
    return new Map();
  }
  return reads;
}
