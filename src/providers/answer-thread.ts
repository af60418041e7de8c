/**
 * Entry point of the threads in which answers of providers are read: takes one job at a time, parses a large answer or
 * evaluates the expressions of a model file. Found by path from `answer-threads.ts`, which terminates a thread whose
 * job does not finish.
 */
import { deserialize, serialize } from 'node:v8';
import { lowerThreadPriority } from '@darkroom/media/process-priority';
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';
import { UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../domain/json-scanner.ts';
import { parseAnswer } from './json-answer.ts';
import type { EvaluationError } from './workbench.ts';

// As for large request bodies: a task waits for a large answer for longer than it is read, and the event loops of all
// processes of this machine do not.
lowerThreadPriority();

export type AnswerJob =
  /** Only shows that the thread runs. */
  | { readonly kind: 'start' }
  | { readonly kind: 'parse'; readonly bytes: Uint8Array }
  /** `scope` is a serialized `ExpressionScope`. */
  | { readonly kind: 'evaluate'; readonly expressions: Readonly<Record<string, string>>; readonly scope: Uint8Array };

/** What expressions are evaluated over. */
export interface ExpressionScope {
  readonly document: unknown;
  readonly variables: Readonly<Record<string, unknown>>;
}

export type AnswerJobResult =
  | { readonly kind: 'started' }
  /** `serialized` is undefined if the answer is not JSON. */
  | { readonly kind: 'parsed'; readonly serialized: Uint8Array | undefined }
  | { readonly kind: 'evaluated'; readonly answers: ExpressionAnswers };

/** The value of an expression as JSON, null if it has none, or the error. */
type ExpressionAnswer = { readonly json: string | null } | EvaluationError;

export type ExpressionAnswers = Readonly<Record<string, ExpressionAnswer>>;

/** The maximum recursion depth of an expression; deeper recursion is assumed not to terminate. */
const MAX_DEPTH = 200;
/** The maximum length of a list that an expression may create. */
const MAX_SEQUENCE = 100_000;
const MAX_COMPILED = 500;
const MAX_MESSAGE_LENGTH = 500;
/**
 * The maximum length of what `$parseJson` reads, in characters: as long as an answer without files (upstream-calls.ts).
 */
const MAX_PARSED_LENGTH = 1024 * 1024;

const compiled = new LRUCache<string, jsonata.Expression>({ max: MAX_COMPILED });

function compile(text: string): jsonata.Expression {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const expression = jsonata(text, { stack: MAX_DEPTH, sequence: MAX_SEQUENCE });
  compiled.set(text, expression);
  return expression;
}

async function evaluate(text: string, { document, variables }: ExpressionScope): Promise<ExpressionAnswer> {
  try {
    // Even if a model file predates the validation, data must never become an expression.
    const value: unknown = await compile(text).evaluate(document, { ...variables, eval: undefined, parseJson });
    return { json: JSON.stringify(value) ?? null };
  } catch (error) {
    const { code, message, position } = (error ?? {}) as Readonly<Record<string, unknown>>;
    return {
      code: typeof code === 'string' && /^[A-Z]\d{4}$/.test(code) ? code : 'FAILED',
      message: typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH) : undefined,
      position: typeof position === 'number' ? position : undefined,
    };
  }
}

/**
 * `$parseJson(text)` of the expressions of model files: reads JSON that an answer has as a text. It gives data and
 * never an expression, unlike `$eval`.
 *
 * @returns undefined if it is no text, or no JSON.
 * @throws {JsonBoundsError} it is nested deeper or has more parts than an answer may have.
 * @throws {RangeError} it is too long.
 */
function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  if (text.length > MAX_PARSED_LENGTH) throw new RangeError(`the text has more than ${MAX_PARSED_LENGTH} characters`);
  createJsonScanner(UPSTREAM_JSON_BOUNDS).push(Buffer.from(text, 'utf8'));
  try {
    // As an own member it is harmless, but what copies objects member by member would set a prototype.
    return JSON.parse(text, (name, value: unknown) => (name === '__proto__' ? undefined : value));
  } catch {
    return undefined;
  }
}

/** Runs one job; the thread calls it. */
export default async function doAnswerJob(job: AnswerJob): Promise<AnswerJobResult> {
  if (job.kind === 'start') return { kind: 'started' };
  if (job.kind === 'parse') {
    const json = parseAnswer(job.bytes);
    return { kind: 'parsed', serialized: json === undefined ? undefined : serialize(json) };
  }
  const scope = deserialize(job.scope) as ExpressionScope;
  const answers: [string, ExpressionAnswer][] = [];
  for (const [name, text] of Object.entries(job.expressions)) answers.push([name, await evaluate(text, scope)]);
  return { kind: 'evaluated', answers: Object.fromEntries(answers) };
}
