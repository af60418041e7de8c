/**
 * Entry of the thread in which expressions are evaluated: takes one job at a time, answers with texts of JSON. Found by
 * path from `expressions.ts`, which ends the thread where an expression does not come to an end.
 */
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';

/** Some expressions to be evaluated over one document. */
export interface ExpressionJob {
  readonly expressions: Readonly<Record<string, string>>;
  readonly document: unknown;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** For each expression its value as JSON, null where it has none, or the code of what went wrong. */
export type ExpressionAnswers = Readonly<Record<string, { readonly json: string | null } | { readonly code: string }>>;

/** A recursion of a reasonable depth; what goes deeper does not end. */
const MAX_DEPTH = 200;
/** Longer lists than any answer of ours has. */
const MAX_SEQUENCE = 100_000;
const MAX_COMPILED = 500;

const compiled = new LRUCache<string, jsonata.Expression>({ max: MAX_COMPILED });

function compile(text: string): jsonata.Expression {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const expression = jsonata(text, { stack: MAX_DEPTH, sequence: MAX_SEQUENCE });
  compiled.set(text, expression);
  return expression;
}

async function evaluate(
  text: string,
  { document, variables }: ExpressionJob,
): Promise<{ readonly json: string | null } | { readonly code: string }> {
  try {
    // Whatever a model file from before the check may hold: data never becomes an expression.
    const value: unknown = await compile(text).evaluate(document, { ...variables, eval: undefined });
    return { json: JSON.stringify(value) ?? null };
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    return { code: typeof code === 'string' && /^[A-Z]\d{4}$/.test(code) ? code : 'FAILED' };
  }
}

/** Evaluates one job; the pool calls it. A job without expressions only shows that the thread is there. */
export default async function evaluateJob(job: ExpressionJob): Promise<ExpressionAnswers> {
  const answers: [string, ExpressionAnswers[string]][] = [];
  for (const [name, text] of Object.entries(job.expressions)) answers.push([name, await evaluate(text, job)]);
  return Object.fromEntries(answers);
}
