/**
 * The program's log: one JSON object per line on standard output, or readable text on a terminal. The same field names
 * everywhere (`taskId`, `accountId`, `workflowId`, `upstream`, `durationMs`, `err`), so that one query follows a task.
 * Never logged: keys, prompts, bodies, signatures, signed URLs.
 */
import { pino } from 'pino';
import type { Logger } from 'pino';

export type { Logger } from 'pino';

/** The format of the log. `pretty` is for people, `json` for everything else. */
export interface LogSettings {
  readonly level: string;
  readonly format: 'json' | 'pretty';
  /** The process that writes: `api`, `worker`, `migrate`. */
  readonly role: string;
}

/** A logger for one process. */
export function createLogger(settings: LogSettings): Logger {
  return pino({
    level: settings.level,
    base: { role: settings.role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: ['req.headers.authorization', '*.secret', '*.apiKey', '*.signature'],
    ...(settings.format === 'pretty'
      ? { transport: { target: 'pino-pretty', options: { ignore: 'pid', translateTime: 'HH:MM:ss.l' } } }
      : {}),
  });
}

/** No other fields of an error: a database error contains the values that were given to a statement. */
function describeError(error: Error): object {
  const { type, message, stack, ['code']: code } = pino.stdSerializers.err(error);
  return { type, message, stack, ...(code === undefined ? {} : { code }) };
}

/** A logger that writes nothing, for callers that have none. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
