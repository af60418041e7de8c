/**
 * Evaluates a model file's expressions over a provider's response, in a thread (answer-threads.ts). The library limits
 * depth and lengths itself, but a regular expression over untrusted text can run forever, and only the end of its
 * thread interrupts it; in a worker's own thread it would stop the heartbeats of every task.
 */
import { serialize } from 'node:v8';
import { ThreadEndedError } from '../../limits/timed-threads.ts';
import type { ExpressionScope } from '../answer-thread.ts';
import type { AnswerThreads } from '../answer-threads.ts';
import type { EvaluationError } from '../workbench.ts';
import { readScope } from './read-members.ts';

/** What is larger is copied, or parsed, in a turn of its own: it takes more than some milliseconds. */
const LARGE_CHARACTERS = 128_000;
const LARGE_VALUES = 5_000;

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
