/**
 * `$parseJson(text)` of the expressions of model files: reads JSON that an answer has as a text. It gives data and
 * never an expression, unlike `$eval`. It runs in the expressions' thread, with the bounds of answers.
 */
import { UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../../domain/json-scanner.ts';

/** The maximum length in characters: as long as an answer without files (upstream-calls.ts). */
export const MAX_PARSED_LENGTH = 1024 * 1024;

/**
 * @returns undefined if it is no text, or no JSON.
 * @throws {JsonBoundsError} it is nested deeper or has more parts than an answer may have.
 * @throws {RangeError} it is too long.
 */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  if (text.length > MAX_PARSED_LENGTH) throw new RangeError(`the text has more than ${MAX_PARSED_LENGTH} characters`);
  createJsonScanner(UPSTREAM_JSON_BOUNDS).push(Buffer.from(text, 'utf8'));
  try {
    // As an own member it is harmless, but what copies objects member by member would set a prototype.
    return JSON.parse(text, (name, value: unknown) => (name === '__proto__' ? undefined : value));
  } catch {
    return undefined;
  }
}
