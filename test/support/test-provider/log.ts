/**
 * The test provider's own record of what reached it. Kill tests are judged by it, so a line stands in the file before
 * the request is answered, and nothing but the provider writes there.
 */
import { appendFileSync } from 'node:fs';

/** The published interface that a request came through. */
export const PROTOCOLS = ['openai', 'replicate', 'tasks', 'cog', 'fal', 'runway'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/**
 * `submit`: work was accepted, once per job. `replay`: a repeated idempotency key, no new work. `refused`: nothing was
 * accepted. `finished`: the work ended by itself. `file`: a result was fetched. `hook`: a call back was sent, and
 * answered with `status`. `left`: whoever had submitted went away before the answer.
 */
export type LogKind = 'submit' | 'replay' | 'refused' | 'poll' | 'cancel' | 'finished' | 'file' | 'hook' | 'left';

export interface LogLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly protocol: Protocol;
  readonly kind: LogKind;
  readonly jobId?: string;
  readonly idempotencyKey?: string;
  readonly prompt?: string;
  /** The status of a refusal, or of the answer to a hook. */
  readonly status?: number;
  /** The credential that a file was fetched with, where there was one. */
  readonly bearer?: string;
  /** What a submit brought, where the interface writes it down: its fields, long ones cut, and its files. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly received?: readonly string[];
}

/** Makes the function that adds a line to a file. */
export function createLog(file: string): (line: Omit<LogLine, 'at'>) => void {
  return (line) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}
