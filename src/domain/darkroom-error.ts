/** The errors that can reach an edge of the service, and what is read of any other error. */
import { factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import type { WaitReason } from '@darkroom/api/openai/batches';

/** What passes by itself, or by an act that is not about the work. */
const PASSING: { readonly [Kind in ErrorKind]?: WaitReason } = {
  account_suspended: 'account',
  rate_limited: 'rate_limit',
  unavailable: 'service',
};

/**
 * The base of all errors that can reach an edge of the service: a response, a command line, an activity's failure. What
 * they mean there is in one table (ERROR_KINDS). Errors that are caught where they are expected need no kind.
 */
export abstract class DarkroomError extends Error {
  abstract readonly kind: ErrorKind;
  /** The field at fault, where the message does not begin with it. */
  declare readonly param?: string | undefined;
  /** What the field violates: a keyword of JSON Schema, or a word such as `unique`. */
  declare readonly keyword?: string | undefined;
  /** The name of the case for clients of OpenAI's API, where it differs from that of the kind. */
  declare readonly code?: string | undefined;
  /** After how many whole seconds a retry is worthwhile, where it differs from that of the kind. */
  declare readonly retryAfterSeconds?: number | undefined;

  /** What a caller reads: never anything about the inside of the service. The message is for its log. */
  get publicMessage(): string {
    const { isMessagePublic, message } = factsOf(this.kind);
    return isMessagePublic ? this.message : message;
  }

  /**
   * Why work that no client waits for is to wait and to be tried again, unchanged; undefined: the error is its outcome.
   * All durable work decides by this.
   */
  get waitsFor(): WaitReason | undefined {
    return PASSING[this.kind];
  }
}

/**
 * The code of an error of the system, of Node, of a library or of PostgreSQL: `ENOENT`, `UND_ERR_SOCKET`, `40P01`.
 *
 * @returns undefined if it has none.
 */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What is wrong with a cursor that no list returned, behind the name of the parameter. One text for every list. */
export const UNKNOWN_CURSOR = 'unknown cursor: use the `nextCursor` of the previous page';
