/**
 * Renders an answer's events on one endpoint. An encoder is created for one call and receives every event of it in
 * order; what it returns is written as it is, one server-sent event a write, or dropped if the answer is not streamed.
 * Streamed and not, the answer is the same. What both endpoints have in common of frames and errors is here too.
 */
import { isRecord } from '../domain/json.ts';
import { formatEncodedEvent, formatEvent } from '../domain/server-sent-event.ts';
import type { TextEvent } from './source.ts';
import type { BilledUsage } from './tally.ts';

/** An error in the form that the clients of these endpoints read (contract §9). */
export interface TextProblem {
  readonly status: number;
  /** Our code: `RATE_LIMITED`, …; on 401 `permission_denied` (spec §4.4.5). */
  readonly errorCode: string;
  readonly message: string;
  /** OpenAI's name for the class, e.g. `invalid_request_error`, `server_error`. */
  readonly type: string;
  /** OpenAI's name for the case, e.g. `model_not_found`; null if it has none. */
  readonly code: string | null;
  readonly param: string | null;
}

export interface AnswerEncoder {
  /** The frames before the first event. Each text is one complete server-sent event, its blank line included. */
  begin(): readonly string[];
  next(event: TextEvent): readonly string[];
  /** The frames after the last event; `[DONE]` is not among them. */
  end(usage: BilledUsage): readonly string[];
  /** Instead of the remaining frames: the answer breaks off here, and reports that. */
  fail(problem: TextProblem): readonly string[];
  /** The unstreamed answer, after `end`. */
  answer(): Readonly<Record<string, unknown>>;
}

/** What every stream ends with (contract §9). */
export const DONE = formatEncodedEvent('[DONE]');

/** One server-sent event that contains JSON. */
export function frameOf(data: unknown, event?: string): string {
  return formatEvent({ event, data });
}

/** The object that a frame contains; undefined: it has none, like the mark at the end of a stream. */
export function dataOf(frame: string): Readonly<Record<string, unknown>> | undefined {
  const line = frame.split('\n').find((each) => each.startsWith('data: '));
  if (line === undefined || line === 'data: [DONE]') return undefined;
  const data: unknown = JSON.parse(line.slice('data: '.length));
  return isRecord(data) ? data : undefined;
}

/**
 * The body of an error, as it is returned or as part of an error event: our form and OpenAI's in one, so that both
 * kinds of client can read it (contract §9).
 */
export function errorBody({ status, errorCode, message, type, code, param }: TextProblem) {
  return {
    code: status,
    message,
    data: null,
    error_code: errorCode,
    error: { message, type, param, code },
  };
}
