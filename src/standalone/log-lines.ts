/**
 * What the terminal of `npm start` shows of the parts' logs: warnings and worse, each in one short line. Everything is
 * in the log files.
 */
const WARN = 40;
const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: WARN, error: 50, dpanic: 60, fatal: 60 };

/** The line as the terminal shows it, or undefined if it is not for the terminal. */
export function shortenLogLine(part: string, line: string): string | undefined {
  if (line.trim() === '') return undefined;
  const record = parseRecord(line);
  if (record === undefined) return isWorthShowing(part, line) ? `${part}: ${line}` : undefined;
  const level =
    typeof record['level'] === 'number' ? record['level'] : (LEVELS[String(record['level']).toLowerCase()] ?? 0);
  // Temporal logs warnings about much that it recovers from by itself.
  if (level < (part === 'temporal' ? WARN + 1 : WARN)) return undefined;
  const message = textOf(record['msg']);
  const detail = textOf(record['err']) || textOf(record['error']);
  return `${part}: ${message}${message.includes(detail) ? '' : ` (${detail})`}`;
}

/** A field as a string: the string itself, or an error's message. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const isError = typeof value === 'object' && value !== null && 'message' in value;
  return isError && typeof value.message === 'string' ? value.message : '';
}

/** The server's answer to us while it starts: we retry until it accepts connections (waitForCluster). */
const STARTING_UP = ['the database system is starting up', 'the database system is not yet accepting connections'];

/** PostgreSQL's own lines: a client's error (ERROR) is reported by the client, and the rest is routine. */
function isWorthShowing(part: string, line: string): boolean {
  if (part === 'postgres') {
    return / (WARNING|FATAL|PANIC): /.test(line) && !STARTING_UP.some((text) => line.includes(text));
  }
  return part !== 'temporal';
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
