/**
 * What renders an answer's events on one endpoint. An encoder is made for one call and is fed every event of it in
 * order; what it returns is written as it is, one server-sent event a write, or dropped where the answer is not
 * streamed. Streamed and not, the answer is the same.
 */
import type { TextEvent } from './events.ts';
import type { BilledUsage } from './tally.ts';

/** An error as the clients of these endpoints read it (contract §9). */
export interface TextProblem {
  readonly status: number;
  /** Ours: `RATE_LIMITED`, …; on 401 `permission_denied` (spec §4.4.5). */
  readonly errorCode: string;
  readonly message: string;
  /** OpenAI's word for the class, e.g. `invalid_request_error`, `server_error`. */
  readonly type: string;
  /** OpenAI's word for the case, e.g. `model_not_found`; null where it has none. */
  readonly code: string | null;
  readonly param: string | null;
}

export interface AnswerEncoder {
  /** What stands before the first event. Each text is one complete server-sent event, its blank line included. */
  begin(): readonly string[];
  next(event: TextEvent): readonly string[];
  /** After the last event; `[DONE]` is not among it. */
  end(usage: BilledUsage): readonly string[];
  /** Instead of what would have come: the answer breaks off here, and says so. */
  fail(problem: TextProblem): readonly string[];
  /** The answer that is not streamed, after `end`. */
  answer(): Readonly<Record<string, unknown>>;
}

/** What every stream ends with (contract §9). */
export const DONE = 'data: [DONE]\n\n';

/** One server-sent event with JSON in it. */
export function frameOf(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}
