/**
 * Evaluates a model file's expressions over a provider's response, in a separate thread. The library limits depth and
 * lengths itself, but a regular expression over untrusted text can run forever, and only the end of its thread
 * interrupts it; in a worker's own thread it would stop the heartbeats of every task.
 */
import { packageModule } from '../../config/package-root.ts';
import { ThreadEndedError, createTimedThread } from '../../limits/timed-thread.ts';
import type { EvaluationError } from '../workbench.ts';
import type { ExpressionAnswers, ExpressionJob } from './expression-thread.ts';

/**
 * The time limit of one evaluation, in milliseconds. It usually takes some microseconds, and a second or two for a
 * document of many megabytes on a busy machine.
 */
const EVALUATION_TIMEOUT_MS = 5_000;
/** The limit of the thread's JavaScript heap: four times the size of the largest response (upstream-calls.ts). */
const THREAD_HEAP_MB = 256;

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

/** Evaluates expressions, one job after another. */
export interface Expressions {
  /**
   * @param expressions by name; undefined ones have no value.
   * @param variables available to an expression as `$name`.
   * @throws {ExpressionError} they did not finish in time, or the thread died.
   */
  evaluate<Name extends string>(
    expressions: Readonly<Record<Name, string | undefined>>,
    document: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<ExpressionValues<Name>>;
}

/** @param timeoutMs the limit of one job. */
export function createExpressions({ timeoutMs = EVALUATION_TIMEOUT_MS } = {}): Expressions {
  const thread = createTimedThread<ExpressionJob, ExpressionAnswers>({
    module: packageModule('src/providers/http/expression-thread.ts'),
    startJob: { expressions: {}, document: null, variables: {} },
    heapMb: THREAD_HEAP_MB,
  });
  let last: Promise<unknown> = Promise.resolve();

  return {
    async evaluate(expressions, document, variables) {
      const given = Object.entries<string | undefined>(expressions).flatMap(([name, text]) =>
        text === undefined ? [] : [[name, text] as const],
      );
      if (given.length === 0) return { of: () => undefined };
      // One after another: a job that is evaluated together with one that hangs would be terminated with it.
      const turn = last.then(() =>
        thread.run({ expressions: Object.fromEntries(given), document, variables }, timeoutMs),
      );
      last = turn.catch(() => undefined);
      const answers = await turn.catch((error: unknown) => {
        const code = error instanceof ThreadEndedError && error.reason === 'timeout' ? 'TIMEOUT' : 'DIED';
        throw new ExpressionError(
          given.map(([name]) => name),
          { code },
          error,
        );
      });
      return {
        of(name) {
          const answer = answers[name];
          if (answer === undefined) return undefined;
          if ('code' in answer) throw new ExpressionError([name], answer);
          return answer.json === null ? undefined : (JSON.parse(answer.json) as unknown);
        },
      };
    },
  };
}
