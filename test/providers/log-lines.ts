/** A logger whose lines a test can read. */
import { pino } from 'pino';
import type { Logger } from '../../src/telemetry/log.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export interface LogLines {
  readonly logger: Logger;
  readonly lines: LogLine[];
}

export function createLogLines(): LogLines {
  const lines: LogLine[] = [];
  return { logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) }), lines };
}
