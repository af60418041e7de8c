/** One line of a batch: OpenAI's `{custom_id, method, url, body}`. */
import { isRecord } from '../domain/json-members.ts';
import { JSON_BOUNDS, JsonBoundsError, createJsonScanner } from '../domain/json-scanner.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import type { InputLine } from './input-lines.ts';
import { MAX_LINE_BYTES } from './input-lines.ts';

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
}

/** @param endpoint the `url` that every line must have. */
export function parseLine({ bytes }: Pick<InputLine, 'bytes'>, endpoint: string): ParsedLine {
  if (bytes === undefined) return broken(null, `it has more than ${MAX_LINE_BYTES} bytes`, 'line_too_large');
  let value: unknown;
  try {
    createJsonScanner(BOUNDS).push(bytes);
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return broken(null, error instanceof JsonBoundsError ? error.message : 'it is not JSON', 'invalid_json_line');
  }
  if (!isRecord(value)) return broken(null, 'it is not a JSON object', 'invalid_json_line');
  const { custom_id: id, method, url, body } = value;
  if (typeof id !== 'string' || id === '' || id.length > MAX_CUSTOM_ID) {
    return broken(null, `custom_id must be 1-${MAX_CUSTOM_ID} characters`, 'missing_required_parameter', 'custom_id');
  }
  if (method !== 'POST') return broken(id, 'method must be POST', 'invalid_method', 'method');
  if (url !== endpoint) return broken(id, `url must be ${endpoint}, as the batch says`, 'invalid_url', 'url');
  if (!isRecord(body)) return broken(id, 'body must be a JSON object', 'invalid_type', 'body');
  return { customId: id, body, problem: undefined };
}

function broken(customId: string | null, problem: string, code: string, param?: string): ParsedLine {
  return { customId, body: undefined, problem: new InvalidLineError(problem, code, param) };
}

/** The Idempotency-Key of the task of a line: a repeated feed finds the task. */
export function lineKey(batchId: string, line: number): string {
  return `${batchId}:${line}`;
}
