/**
 * The test provider's own log of what reached it. Kill tests rely on it, so a line is in the file before the request
 * is answered, and nothing but the provider writes there.
 */
import { appendFileSync } from 'node:fs';

/** The published interface that a request came through. */
export const PROTOCOLS = ['openai', 'replicate', 'tasks', 'cog', 'fal', 'runway'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/**
 * `submit`: work was accepted, once per job. `replay`: a repeated idempotency key, no new work. `rejected`: nothing
 * was accepted. `finished`: the work ended by itself. `file`: a result was fetched. `hook`: a callback was sent, and
 * answered with `status`. `left`: the submitting client disconnected before the response.
 */
export type LogKind = 'submit' | 'replay' | 'rejected' | 'poll' | 'cancel' | 'finished' | 'file' | 'hook' | 'left';

export interface LogLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly protocol: Protocol;
  readonly kind: LogKind;
  readonly jobId?: string;
  readonly idempotencyKey?: string;
  readonly prompt?: string;
  /** The status of a rejection, or of the response to a hook. */
  readonly status?: number;
  /** The credential that a file was fetched with, if any. */
  readonly bearer?: string;
  /** The content of a submit, if the interface logs it: its fields, long ones shortened, and its files. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly received?: readonly string[];
}

/** Creates the function that appends a line to a file. */
export function createLog(file: string): (line: Omit<LogLine, 'at'>) => void {
  return (line) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}
