/**
 * Where results and messages go: stdout has results and nothing else, stderr has progress and errors. On a terminal
 * stderr can have a status line at its end, above which messages are written; text received over the network cannot
 * control the terminal.
 */
import { stripVTControlCharacters } from 'node:util';
import type { CliEnvironment } from './cli-environment.ts';

export interface Terminal {
  /** Whether both ends are terminals, so that prompts make sense. */
  readonly isInteractive: boolean;
  /** Whether stderr can have a status line. */
  readonly hasStatusLine: boolean;
  /** Columns of stderr. */
  readonly columns: number;
  /** Fires when the reader of stdout is closed. */
  readonly outputGone: AbortSignal;
  /** Writes a line of the result. */
  readonly print: (line: string) => void;
  /** Writes a part of the result: bytes as they are for a pipe, without control characters for a terminal. */
  readonly write: (text: string) => void;
  /** Writes the result as JSON, indented or as one line. */
  readonly printJson: (value: unknown, isOneLine?: boolean) => void;
  /** Waits until the whole result is written. @returns the error if it could not be. */
  readonly written: () => Promise<Error | undefined>;
  /** Writes a message on stderr. */
  readonly say: (line: string) => void;
  /** Writes a part of a message, dimmed if the terminal supports it. */
  readonly sayDim: (text: string) => void;
  /** Replaces the status line; undefined removes it. Does nothing if there is none. */
  readonly setStatus: (line: string | undefined) => void;
}

export function createTerminal({ environment, stdin, stdout, stderr }: CliEnvironment): Terminal {
  const hasStatusLine = stderr.isTTY && environment['TERM'] !== 'dumb';
  const isDimShown = hasStatusLine && (environment['NO_COLOR'] ?? '') === '';
  const closed = new AbortController();
  let status: string | undefined;

  stdout.on('error', (error) => closed.abort(error));
  // Messages that cannot be shown are no reason to stop.
  stderr.on('error', () => undefined);

  const clear = (): void => {
    if (status !== undefined) stderr.write('\r\u001B[K');
  };
  const redraw = (): void => {
    if (status !== undefined) stderr.write(status);
  };
  const put = (text: string): void => {
    if (closed.signal.aborted) return;
    // If both are the same terminal, the status line must not end up in front of a result.
    clear();
    stdout.write(text);
    redraw();
  };
  const shown = (text: string): string => (stdout.isTTY ? printable(text) : text);

  return {
    isInteractive: stdin.isTTY && stderr.isTTY,
    hasStatusLine,
    get columns() {
      return stderr.columns || 80;
    },
    outputGone: closed.signal,
    print: (line) => put(`${shown(line)}\n`),
    write: (text) => put(shown(text)),
    printJson(value, isOneLine = false) {
      const text = JSON.stringify(value, undefined, isOneLine ? undefined : 2);
      put(`${escapeControls(text)}\n`);
    },
    written: () =>
      new Promise((resolve) => {
        const finish = (): void => resolve(closed.signal.aborted ? (closed.signal.reason as Error) : undefined);
        if (closed.signal.aborted || stdout.destroyed) finish();
        // The error is emitted after the callback.
        else stdout.write('', () => setImmediate(finish));
      }),
    say(line) {
      clear();
      stderr.write(`${printable(line)}\n`);
      redraw();
    },
    sayDim(text) {
      stderr.write(isDimShown ? `\u001B[2m${printable(text)}\u001B[22m` : printable(text));
    },
    setStatus(line) {
      if (!hasStatusLine || line === status) return;
      clear();
      status = line;
      redraw();
    },
  };
}

/** Removes control sequences for a terminal from a string; line breaks and tabs stay. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what this is about
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '');
}

/** The same on one line: for a cell of a table. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ').trim();
}

/** JSON escapes some control characters but not others, which a terminal may interpret as well. */
function escapeControls(json: string): string {
  return json.replaceAll(/[\u007F-\u009F]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
