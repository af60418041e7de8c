/**
 * Entry point of the thread in which expressions are evaluated: takes one job at a time and returns JSON strings. Found
 * by path from `expressions.ts`, which terminates the thread if an expression does not finish.
 */
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';
import type { EvaluationError } from '../workbench.ts';
import { parseJson } from './parse-json.ts';

/** Expressions to evaluate over one document. */
export interface ExpressionJob {
  readonly expressions: Readonly<Record<string, string>>;
  readonly document: unknown;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The value of an expression as JSON, null if it has none, or the error. */
type ExpressionAnswer = { readonly json: string | null } | EvaluationError;

export type ExpressionAnswers = Readonly<Record<string, ExpressionAnswer>>;

/** The maximum recursion depth of an expression; deeper recursion is assumed not to terminate. */
const MAX_DEPTH = 200;
/** The maximum length of a list that an expression may create. */
const MAX_SEQUENCE = 100_000;
const MAX_COMPILED = 500;
const MAX_MESSAGE_LENGTH = 500;

const compiled = new LRUCache<string, jsonata.Expression>({ max: MAX_COMPILED });

function compile(text: string): jsonata.Expression {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const expression = jsonata(text, { stack: MAX_DEPTH, sequence: MAX_SEQUENCE });
  compiled.set(text, expression);
  return expression;
}

async function evaluate(text: string, { document, variables }: ExpressionJob): Promise<ExpressionAnswer> {
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

/** Evaluates one job; called by the pool. A job without expressions only verifies that the thread is running. */
export default async function evaluateJob(job: ExpressionJob): Promise<ExpressionAnswers> {
  const answers: [string, ExpressionAnswers[string]][] = [];
  for (const [name, text] of Object.entries(job.expressions)) answers.push([name, await evaluate(text, job)]);
  return Object.fromEntries(answers);
}
