/**
 * Exchanges with a provider in a file: written by `models try --record`, or by hand from a provider's documentation, and
 * read by `--recording` in place of the provider.
 */
import { writeFileSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { errorCodeOf } from '../../../domain/darkroom-error.ts';
import { compileParse } from '../../../schema/schema-validation.ts';
import { AdminError } from '../admin-error.ts';

/** More than the largest response that a worker reads, several times. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

const ResponseSchema = Type.Object(
  {
    status: Type.Integer({ minimum: 100, maximum: 599 }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** JSON. */
    body: Type.Optional(Type.Unknown()),
    /** Of a body that is something else. */
    text: Type.Optional(Type.String()),
    /** The size of a body that is a file. */
    fileBytes: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Why the body is not complete. */
    fault: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
);

const ExchangeSchema = Type.Object(
  {
    request: Type.Optional(
      Type.Object(
        { method: Type.String(), url: Type.String(), body: Type.Optional(Type.Unknown()) },
        { additionalProperties: false },
      ),
    ),
    response: Type.Optional(ResponseSchema),
    /** Why there is no response. */
    lost: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
);

const RecordingSchema = Type.Object(
  {
    taskId: Type.Optional(
      Type.Unsafe<`tk-svc-${string}`>({ type: 'string', pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' }),
    ),
    input: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    /** Of the upstream that answered. */
    baseUrl: Type.Optional(Type.String({ pattern: '^https?://' })),
    /** The outcome, as of `--expect`. */
    expect: Type.Optional(Type.String()),
    exchanges: Type.Array(ExchangeSchema, { maxItems: 100_000 }),
  },
  { additionalProperties: false },
);

export type RecordedResponse = Static<typeof ResponseSchema>;
export type RecordedExchange = Static<typeof ExchangeSchema>;
export type Recording = Static<typeof RecordingSchema>;

const parseRecording = compileParse(RecordingSchema, 'invalid request');

/** @throws {AdminError} it cannot be read, or is none. */
export async function readRecording(file: string): Promise<Recording> {
  let parsed: unknown;
  try {
    const { size } = await stat(file);
    if (size > MAX_FILE_BYTES)
      throw new AdminError(`--recording: ${file} has ${size} bytes, more than ${MAX_FILE_BYTES}`);
    parsed = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof AdminError) throw error;
    const problem =
      error instanceof SyntaxError ? `is not JSON: ${error.message}` : `cannot be read (${errorCodeOf(error)})`;
    throw new AdminError(`--recording: ${file} ${problem}`, { cause: error });
  }
  const recording = parseRecording(parsed);
  if (recording.violation === undefined) return recording.value;
  throw new AdminError(`--recording: ${file}: ${recording.violation.message.replace(/^invalid request: /, '')}`);
}

/** Hands out the exchanges of a recording, each once. */
export interface Playback {
  /**
   * The next exchange for a request: one whose request is the same below the base URL, or that has none.
   *
   * @returns undefined: there is none left.
   */
  take(method: string, url: string): RecordedExchange | undefined;
  /** What is left, in words. */
  describeRest(): string;
  readonly isOver: boolean;
}

/** How many requests are listed. */
const MAX_LISTED = 10;

/** @param baseUrl of the upstream that would be asked now. */
export function playBack({ exchanges, baseUrl: recordedBase }: Recording, baseUrl: string | undefined): Playback {
  const left = [...exchanges];
  const isSame = (recorded: string, url: string): boolean => {
    if (recorded === url) return true;
    const path = baseUrl === undefined ? undefined : pathBelow(url, baseUrl);
    if (path === undefined) return false;
    // A recording that does not say its base URL was written by hand.
    return recordedBase === undefined ? recorded.endsWith(path) : pathBelow(recorded, recordedBase) === path;
  };
  return {
    take(method, url) {
      const index = left.findIndex(
        ({ request }) => request === undefined || (request.method === method && isSame(request.url, url)),
      );
      return index === -1 ? undefined : left.splice(index, 1)[0];
    },
    describeRest() {
      if (left.length === 0) return 'All of its exchanges were used.';
      // None is for any request: it would have answered this one.
      const requests = left.map(({ request }) => `${request?.method ?? ''} ${request?.url ?? ''}`);
      const more = left.length > MAX_LISTED ? ` and ${left.length - MAX_LISTED} more` : '';
      return `It has ${requests.slice(0, MAX_LISTED).join(', ')}${more}.`;
    },
    get isOver() {
      return left.length === 0;
    },
  };
}

/** The path and query of a URL below a base URL; undefined: it is somewhere else. */
function pathBelow(url: string, baseUrl: string): string | undefined {
  const base = baseUrl.replace(/\/+$/, '');
  const path = url.startsWith(base) ? url.slice(base.length) : '';
  return path.startsWith('/') ? path : undefined;
}

/** Collects exchanges and writes them to a file. */
export interface Recorder {
  add(exchange: RecordedExchange): void;
  /** Without waiting, so that it can be the last thing that a process does. */
  save(): void;
}

/** @throws {AdminError} the file cannot be written, which is found out before anything is sent. */
export async function createRecorder(file: string, facts: Omit<Recording, 'exchanges'>): Promise<Recorder> {
  const exchanges: RecordedExchange[] = [];
  const contents = (): string => `${JSON.stringify({ ...facts, exchanges }, null, 2)}\n`;
  try {
    await writeFile(file, contents());
  } catch (error) {
    throw new AdminError(`--record: ${file} cannot be written (${errorCodeOf(error)})`, { cause: error });
  }
  return {
    add(exchange) {
      // A poll that brings nothing new.
      if (JSON.stringify(exchange) !== JSON.stringify(exchanges.at(-1))) exchanges.push(exchange);
    },
    save: () => writeFileSync(file, contents()),
  };
}
