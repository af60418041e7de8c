/**
 * Reading a provider's JSON, whose shape is not guaranteed: every step may be missing or of another type, and none of
 * that may throw.
 */
import { memberOf } from '../domain/json.ts';

/** The value at the end of a path of field names; undefined if the path breaks off. */
export function valueAt(json: unknown, ...path: readonly string[]): unknown {
  let value = json;
  for (const name of path) value = memberOf(value, name);
  return value;
}

/** The string at a path; undefined if there is none. */
export function textAt(json: unknown, ...path: readonly string[]): string | undefined {
  const value = valueAt(json, ...path);
  return typeof value === 'string' ? value : undefined;
}

/** The array at the end of a path; empty if there is none. */
export function listAt(json: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(json, ...path);
  return Array.isArray(value) ? value : [];
}

/**
 * A job's id. It goes into paths and into our tables, so it must be a plain word of at most 200 characters that is not
 * a dot segment (`.`, `..`).
 */
export function jobIdAt(json: unknown, ...path: readonly string[]): string | undefined {
  const text = textAt(json, ...path);
  return text !== undefined && /^[A-Za-z0-9][\w.:-]{0,199}$/.test(text) ? text : undefined;
}

/** Whether a string is an absolute http or https URL. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** The JSON of an answer; undefined if it is none, because no JSON text gives `undefined`. */
export function parseAnswer(bytes: Uint8Array): unknown {
  try {
    // Without a byte order mark, which `JSON.parse` does not accept and some servers send.
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}
