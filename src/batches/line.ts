/** One line of a batch: OpenAI's `{custom_id, method, url, body}`. */
import type { Queryable } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { isRecord } from '../domain/json.ts';
import { JSON_BOUNDS, JsonBoundsError, createJsonScanner } from '../domain/json-scanner.ts';
import { ObjectNotFoundError, StoreUnavailableError } from '../objects/stores/object-store.ts';
import { readOwner } from '../objects/stores/claimed-store.ts';
import type { BodyFacts } from '../tasks/record/body-facts.ts';
import { readBatch } from './batch-record.ts';
import type { Batch } from './batch-record.ts';
import { MAX_LINE_BYTES, memoryOf, readLine, readLines } from './input-lines.ts';
import type { InputLine, LinePosition, LineReading } from './input-lines.ts';

/** The longest `custom_id`, in characters. */
const MAX_CUSTOM_ID = 512;

/** Those of a request, whose body is one level deeper here. */
const BOUNDS = { ...JSON_BOUNDS, depth: JSON_BOUNDS.depth + 1 };

/** A line that is no request of the endpoint. */
export class InvalidLineError extends DarkroomError {
  override readonly name = 'InvalidLineError';
  override readonly kind = 'invalid_request';
  override readonly code: string;
  override readonly param: string | undefined;

  constructor(problem: string, code: string, param?: string) {
    super(`invalid line: ${problem}`);
    this.code = code;
    this.param = param;
  }
}

export interface ParsedLine {
  /** Null: the line has none that could be read. */
  readonly customId: string | null;
  readonly body: unknown;
  readonly problem: InvalidLineError | undefined;
  /** Whether work on it takes long enough to be done in turns (limits/turns.ts). */
  readonly isLarge: boolean;
  /** Of the body, if it is large. */
  readonly facts: BodyFacts | undefined;
}

/** What is read of an account, in the share that it has of memory and threads (http/bodies/json-body.ts). */
export interface LineBodies {
  /**
   * Takes memory, once there is some: all that a piece of work needs at once, because one that holds some while it
   * waits for more may wait for itself. @returns gives it back.
   */
  reserve(accountId: string, bytes: number, signal: AbortSignal): Promise<() => void>;
  /** @param options.values as counted by the scanner. @throws {ShareExhaustedError} */
  parse(
    accountId: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: { readonly values: number; readonly needed: NeededOfLine },
  ): Promise<ParsedJson>;
}

/** `outline`: its name, and of its body the model; `body`: all of it; `task`: that and what a create knows of it. */
export type NeededOfLine = 'outline' | 'body' | 'task';

type ParsedJson =
  | { readonly kind: 'not_utf8' | 'not_json' }
  | {
      readonly kind: 'parsed';
      readonly value: unknown;
      readonly isLarge: boolean;
      readonly facts?: BodyFacts | undefined;
    };

/** What parsing lines needs. */
export interface LineParsing extends LineReading {
  readonly lineBodies: LineBodies;
}

/** Parses a line for which memory is reserved. @throws {ShareExhaustedError} no thread was free for it. */
export async function parseLine(
  parsing: LineParsing,
  batch: LineOwner,
  line: Pick<InputLine, 'beginByte' | 'sizeBytes' | 'bytes'>,
  needed: NeededOfLine,
  signal: AbortSignal,
): Promise<ParsedLine> {
  if (line.sizeBytes > MAX_LINE_BYTES)
    return broken(null, `it has more than ${MAX_LINE_BYTES} bytes`, 'line_too_large');
  const scanner = createJsonScanner(BOUNDS);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readLine(parsing, batch, line, signal, (part) => scanner.push(part));
  } catch (error) {
    if (error instanceof JsonBoundsError) return broken(null, error.message, 'invalid_json_line');
    throw error;
  }
  const parsed = await parsing.lineBodies.parse(batch.accountId, bytes, { values: scanner.values, needed });
  if (parsed.kind !== 'parsed') return broken(null, 'it is not JSON', 'invalid_json_line');
  return requestOf(parsed, batch.endpoint);
}

/** The same for an outline, with the memory for this line alone, for as long as `use` works on it. */
export async function withOutline<Result>(
  parsing: LineParsing,
  batch: LineOwner,
  line: InputLine,
  signal: AbortSignal,
  use: (parsed: ParsedLine) => Result,
): Promise<Result> {
  // One that was kept is small.
  if (line.bytes !== undefined) return use(await parseLine(parsing, batch, line, 'outline', signal));
  const release = await parsing.lineBodies.reserve(batch.accountId, memoryOf([line]), signal);
  try {
    return use(await parseLine(parsing, batch, line, 'outline', signal));
  } finally {
    release();
  }
}

/** Whose lines they are, where they are, and the `url` that each must have. */
type LineOwner = Pick<Batch, 'accountId' | 'endpoint' | 'inputObjectKey' | 'inputBytes'>;

function requestOf({ value, isLarge, facts }: Extract<ParsedJson, { kind: 'parsed' }>, endpoint: string): ParsedLine {
  if (!isRecord(value)) return broken(null, 'it is not a JSON object', 'invalid_json_line');
  const { custom_id: id, method, url, body } = value;
  if (typeof id !== 'string' || id === '' || id.length > MAX_CUSTOM_ID) {
    return broken(null, `custom_id must be 1-${MAX_CUSTOM_ID} characters`, 'missing_required_parameter', 'custom_id');
  }
  if (method !== 'POST') return broken(id, 'method must be POST', 'invalid_method', 'method');
  if (url !== endpoint) return broken(id, `url must be ${endpoint}, as the batch says`, 'invalid_url', 'url');
  if (!isRecord(body)) return broken(id, 'body must be a JSON object', 'invalid_type', 'body');
  return { customId: id, body, problem: undefined, isLarge, facts };
}

function broken(customId: string | null, problem: string, code: string, param?: string): ParsedLine {
  const error = new InvalidLineError(problem, code, param);
  return { customId, body: undefined, problem: error, isLarge: false, facts: undefined };
}

/** The Idempotency-Key of the task of a line: a repeated feed finds the task. */
export function lineKey(batchId: string, line: number): string {
  return `${batchId}:${line}`;
}

interface InputSource extends LineParsing {
  readonly database: Queryable;
}

/**
 * Reads the body of a line, for work that continues after the line was fed.
 *
 * @param hold takes the memory for so many bytes, before anything of the line is in memory.
 * @throws {InvalidLineError} it is no request, or the input is lost.
 * @throws {StoreUnavailableError} the input cannot be read now.
 * @throws {ShareExhaustedError} no thread was free for it.
 * @throws what `hold` throws.
 */
export async function readLineBody(
  source: InputSource,
  batchId: string,
  from: LinePosition,
  { signal, hold }: { readonly signal: AbortSignal; readonly hold: (bytes: number) => void },
): Promise<Pick<ParsedLine, 'body' | 'isLarge'>> {
  const batch = await readBatch(source.database, batchId);
  try {
    for await (const line of readLines(source, batch, signal, from)) {
      hold(memoryOf([line]));
      const { body, isLarge, problem } = await parseLine(source, batch, line, 'body', signal);
      if (problem !== undefined) throw problem;
      return { body, isLarge };
    }
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
    // A store without a mark is not the one that had the file (advance.ts).
    const hasOwner = (await readOwner(source.store)) !== undefined;
    throw hasOwner
      ? new InvalidLineError('the input file is no longer in the store', 'input_file_lost')
      : new StoreUnavailableError('read', { cause: error });
  }
  throw new InvalidLineError('the input ends before it', 'invalid_json_line');
}
