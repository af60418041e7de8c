/** What the adapters of HTTP let `admin models try` replace and see, so that it runs the very code of a worker. */
import type { HttpExchange } from './http-exchange.ts';

export interface Workbench {
  /** Makes the exchanges with the upstream. */
  readonly calls: HttpExchange;
  /** Makes the exchanges with an issuer of tokens, which bring credentials. */
  readonly tokens: HttpExchange;
  /** Receives every expression of a model file that was evaluated. */
  onExpression(evaluated: EvaluatedExpression): void;
}

/** One expression and what it gave. */
export interface EvaluatedExpression {
  /** Its position in the binding: `poll.state`. */
  readonly member: string;
  /** What it was evaluated over. */
  readonly document: unknown;
  /** Undefined: nothing. */
  readonly value: unknown;
  readonly error: EvaluationError | undefined;
}

/** Why an expression has no value. For its author: the message may quote what it was evaluated over. */
export interface EvaluationError {
  /** `TIMEOUT`, `DIED`, `FAILED`, or a code of JSONata. */
  readonly code: string;
  readonly message?: string | undefined;
  /** In characters from the beginning of the expression. */
  readonly position?: number | undefined;
}
