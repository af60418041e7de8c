/**
 * The test provider's own record of what reached it. Kill tests are judged by it, so a line stands in the file before
 * the request is answered, and nothing but the provider writes there.
 */
import { appendFileSync } from 'node:fs';

/** The published interface that a request came through. */
export type Protocol = 'openai' | 'replicate' | 'tasks';

/**
 * `submit`: work was accepted, once per job. `replay`: a repeated idempotency key, no new work. `refused`: nothing was
 * accepted. `finished`: the work ended by itself. `file`: a result was fetched.
 */
export type LogKind = 'submit' | 'replay' | 'refused' | 'poll' | 'cancel' | 'finished' | 'file';

export interface LogLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly protocol: Protocol;
  readonly kind: LogKind;
  readonly jobId?: string;
  readonly idempotencyKey?: string;
  readonly prompt?: string;
  /** The status of a refusal. */
  readonly status?: number;
}

/** Makes the function that adds a line to a file. */
export function createLog(file: string): (line: Omit<LogLine, 'at'>) => void {
  return (line) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}
