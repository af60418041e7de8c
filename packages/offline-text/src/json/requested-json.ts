/**
 * The JSON that a prompt asks for if the request has no schema: a schema or an example in the prompt (some clients put
 * it there), or the keys that it names.
 */
import type { JsonSchema } from '../request.ts';
import type { Conversation } from '../reading/conversation.ts';
import { isObject } from './schema-reader.ts';

const MAX_JSON = 128 * 1024;
/** The maximum depth of a request (contract §1). */
const MAX_DEPTH = 32;
/** The types that a key's description can state; the first match counts. */
const TYPES: readonly (readonly [RegExp, JsonSchema])[] = [
  [/\b(?:array|list)\b/i, { type: 'array', items: { type: 'string' } }],
  [/\b(?:integer|int|whole number)\b/i, { type: 'integer' }],
  [/\b(?:number|float|numeric)\b/i, { type: 'number' }],
  [/\bbool(?:ean)?\b/i, { type: 'boolean' }],
  [/\bobject\b/i, { type: 'object', properties: {} }],
];
const KEYS =
  /\b(?:keys?|fields?|properties|property|members?|attributes?)\b(?: called| named| are)?:?\s?([^\n]{1,400})/i;
const QUOTED_KEY = /["“'`]([\p{L}_$][\p{L}\p{N}_ $-]{0,63})["”'`]([^"“'`]{0,60})/gu;

/** JSON that a prompt asks for. */
export interface RequestedJson {
  readonly schema: JsonSchema;
  /** The text without the description of the JSON: it may contain values. */
  readonly rest: string;
}

/** @returns undefined: the prompt does not specify the JSON. */
export function findRequestedJson({ instructions, prompt }: Conversation): RequestedJson | undefined {
  const excerpt = prompt.slice(0, MAX_JSON);
  const own = schemaIn(excerpt) ?? keysIn(excerpt);
  if (own !== undefined) return own;
  const instructed = schemaIn(instructions.slice(0, MAX_JSON)) ?? keysIn(instructions.slice(0, 8192));
  return instructed === undefined ? exampleIn(excerpt) : { schema: instructed.schema, rest: prompt };
}

function schemaIn(text: string): RequestedJson | undefined {
  const from = text.search(/schema/i);
  const found = from < 0 ? undefined : firstObject(text, from);
  const isSchema =
    found !== undefined && ['properties', 'type', '$ref'].some((key) => Object.hasOwn(found.schema, key));
  return isSchema ? found : undefined;
}

function exampleIn(text: string): RequestedJson | undefined {
  const found = firstObject(text, 0);
  return found === undefined ? undefined : { schema: schemaOfExample(found.schema), rest: found.rest };
}

/** The first JSON object in a text, if what looks like one is valid. */
function firstObject(text: string, after: number): RequestedJson | undefined {
  const from = text.indexOf('{', after);
  if (from < 0) return undefined;
  let depth = 0;
  // A string that is not closed ends with the prompt, so that nothing is scanned twice.
  for (const match of text.slice(from).matchAll(/[{}]|"(?:[^"\\]|\\.)*(?:"|\\?$)/gs)) {
    if (match[0] === '{') depth += 1;
    if (match[0] === '}') depth -= 1;
    if (depth > MAX_DEPTH) return undefined;
    if (depth > 0) continue;
    const to = from + match.index + 1;
    try {
      const value: unknown = JSON.parse(text.slice(from, to));
      return isObject(value) ? { schema: value, rest: text.slice(0, from) + text.slice(to) } : undefined;
    } catch {
      return undefined;
    }
  }
  return undefined;
}

function schemaOfExample(value: unknown, depth = 0): JsonSchema {
  if (Array.isArray(value)) return { type: 'array', items: depth > 8 ? {} : schemaOfExample(value[0], depth + 1) };
  if (!isObject(value)) return { type: value === null || value === undefined ? 'string' : typeof value };
  const properties = Object.entries(value).map(([name, member]) => [
    name,
    depth > 8 ? {} : schemaOfExample(member, depth + 1),
  ]);
  return objectOf(Object.fromEntries(properties));
}

function objectOf(properties: JsonSchema): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

function keysIn(text: string): RequestedJson | undefined {
  const [whole = '', listed] = KEYS.exec(text) ?? [];
  if (listed === undefined) return undefined;
  const quoted = [...listed.matchAll(QUOTED_KEY)].map(([, name = '', hint = '']) => [name, typeIn(hint)]);
  const named = quoted.length > 0 ? quoted : bareKeys(listed);
  return named.length === 0
    ? undefined
    : { schema: objectOf(Object.fromEntries(named)), rest: text.replace(whole, () => '') };
}

/** `name (string), age (number) and city` */
function bareKeys(listed: string): readonly (readonly [string, JsonSchema])[] {
  const sentence = listed.split(/[.;?!](?:\s|$)/, 1)[0] ?? '';
  const parts = sentence.split(/,(?: and)? ?| and /);
  const keys = parts.map((part) => /^\s?([\p{L}_$][\p{L}\p{N}_$-]{0,63})\s?(\(.{1,60}\)|:.{1,60})?\s?$/u.exec(part));
  return keys.flatMap((key) => (key?.[1] === undefined ? [] : [[key[1], typeIn(key[2] ?? '')] as const]));
}

function typeIn(hint: string): JsonSchema {
  return TYPES.find(([pattern]) => pattern.test(hint))?.[1] ?? { type: 'string' };
}
