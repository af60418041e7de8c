/**
 * The logs of the parts of a standalone installation: their files, and what the terminal of `npm start` shows of them.
 */
import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import path from 'node:path';

const WARN = 40;
const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: WARN, error: 50, dpanic: 60, fatal: 60 };

/**
 * The line as the terminal shows it, or undefined if it is not for the terminal: warnings and worse are, each in one
 * short line. Everything is in the log files.
 */
export function shortenLogLine(part: string, line: string): string | undefined {
  if (line.trim() === '') return undefined;
  const record = parseRecord(line);
  if (record === undefined) return isWorthShowing(part, line) ? `${part}: ${line}` : undefined;
  const level =
    typeof record['level'] === 'number' ? record['level'] : (LEVELS[String(record['level']).toLowerCase()] ?? 0);
  // Temporal logs warnings about much that it recovers from by itself.
  if (level < (part === 'temporal' ? WARN + 1 : WARN)) return undefined;
  return `${part}: ${withDetail(record)}`;
}

/** How often the terminal shows that a start waits. */
const NOTICE_MS = 10_000;

/** Calls `notice` with the whole seconds since the beginning, at every interval until the work is done. */
export async function withNotices<T>(
  work: Promise<T>,
  notice: (seconds: number) => void,
  everyMs = NOTICE_MS,
): Promise<T> {
  const since = performance.now();
  const timer = setInterval(() => notice(Math.round((performance.now() - since) / 1000)), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/**
 * @param title of what is waited for, as at the beginning of a sentence: `The API`.
 * @param detail what it is doing, if that is known.
 */
export function waitingLine(title: string, seconds: number, detail: string | undefined): string {
  return `Waiting for ${title.replace(/^The /, 'the ')} (${seconds} s)${detail === undefined ? '.' : `: ${detail}`}`;
}

/** The message of the last of some log lines. */
export function lastMessage(lines: readonly string[]): string | undefined {
  const line = lines.findLast((each) => each.trim() !== '');
  if (line === undefined) return undefined;
  return textOf(parseRecord(line)?.['msg']) || line;
}

/** Log lines as they follow a sentence on the terminal: the messages alone, which may have several lines. */
export function indented(lines: readonly string[]): string {
  return lines
    .flatMap((line) => {
      const record = parseRecord(line);
      return (record === undefined ? line : withDetail(record)).split('\n');
    })
    .map((line) => `  ${line}`)
    .join('\n');
}

/** The message of a record, with that of its error. */
function withDetail(record: Readonly<Record<string, unknown>>): string {
  const message = textOf(record['msg']);
  const detail = textOf(record['err']) || textOf(record['error']);
  return `${message}${message.includes(detail) ? '' : ` (${detail})`}`;
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

const KEPT_FILES = 3;
const LARGEST_BYTES = 20 * 1024 * 1024;
const KEPT_LINES = 20;

/**
 * The log of one part. Bounded: each part retains its last three files, and starts a new one at each start and when one
 * has grown large.
 */
export class LogFile {
  readonly path: string;
  #stream: WriteStream;
  #bytes = 0;
  #lastLines: string[] = [];

  constructor(directory: string, name: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.path = path.join(directory, `${name}.log`);
    this.#stream = this.#open();
  }

  /** The last lines written, for a message about why a part died. */
  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  write(line: string): void {
    this.#lastLines = [...this.#lastLines, line].slice(-KEPT_LINES);
    if (this.#bytes > LARGEST_BYTES) {
      this.#stream.end();
      this.#stream = this.#open();
    }
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#stream.write(`${line}\n`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stream.once('error', () => resolve());
      this.#stream.end(resolve);
    });
  }

  #open(): WriteStream {
    for (let age = KEPT_FILES - 1; age > 0; age -= 1) {
      const younger = age === 1 ? this.path : `${this.path}.${age - 1}`;
      try {
        renameSync(younger, `${this.path}.${age}`);
      } catch {
        // There are not that many yet.
      }
    }
    this.#bytes = 0;
    const stream = createWriteStream(this.path, { flags: 'a', mode: 0o600 });
    // A full disk must not stop what still works; the part that needs the disk will report it.
    stream.on('error', () => undefined);
    return stream;
  }
}
