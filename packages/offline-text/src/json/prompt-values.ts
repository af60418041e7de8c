/**
 * Values for the members of a JSON value, from the prompt or from the answer to it, as far as the schema allows them.
 */
import type { JsonSchema } from '../request.ts';
import type { FoundValues } from '../reading/found-values.ts';
import { numberFrom, wordsOfName } from '../reading/words.ts';
import { isAllowedNumber } from './numbers.ts';
import { listOf, typeOf, typesOf } from './schema-reader.ts';
import type { SchemaReader } from './schema-reader.ts';

/** `anyOf` in `anyOf` through references may be circular. */
const MAX_HOPS = 8;
/** How often the prompt is searched: each search takes some 0.1 ms, and blocks all other work meanwhile. */
const MAX_SEARCHES = 128;
/** Further members of an enum are not searched for. */
const MAX_MEMBERS = 200;
const ANSWERS = new Set(
  'answer response result output text content message summary reply explanation description reason reasoning'.split(
    ' ',
  ),
);

export class PromptValues {
  readonly #reader: SchemaReader;
  readonly #found: FoundValues;
  readonly #answer: string | undefined;
  #searches = MAX_SEARCHES;

  /** @param answer the content of members called `answer`, `result` and so on. */
  constructor(reader: SchemaReader, found: FoundValues, answer: string | undefined) {
    this.#reader = reader;
    this.#found = found;
    this.#answer = answer;
  }

  /** A value from the prompt; undefined: none fits. */
  valueFor(schema: JsonSchema, name: string, hops = 0): unknown {
    this.#searches -= 1;
    if (hops > MAX_HOPS || this.#searches < 0) return undefined;
    if (Array.isArray(schema['enum'])) {
      const types = typesOf(schema);
      return this.#found.oneOf(schema['enum'].slice(0, MAX_MEMBERS).filter((member) => isOfType(member, types)));
    }
    for (const branch of listOf(schema['anyOf'] ?? schema['oneOf'])) {
      const value = this.valueFor(this.#reader.resolve(branch), name, hops + 1);
      if (value !== undefined) return value;
    }
    for (const type of typesOf(schema)) {
      const value =
        this.#answer !== undefined && isAnswerName(name)
          ? answerAs(type, this.#answer, schema)
          : this.#ofType(type, schema, name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #ofType(type: string, schema: JsonSchema, name: string): unknown {
    const found = this.#found;
    if (name === '') return undefined;
    if (type === 'boolean') return found.boolean(name);
    if (type === 'integer' || type === 'number') return found.number(name, schema, type === 'integer');
    if (type === 'array') return this.#list(schema, name);
    if (type !== 'string') return undefined;
    return fittingText(found.string(name, schema), schema);
  }

  #list(schema: JsonSchema, name: string): readonly unknown[] | undefined {
    const items = this.#reader.resolve(schema['items']);
    const [type] = typesOf(items);
    const found = this.#found;
    const values =
      type === 'integer' || type === 'number'
        ? found.numbers().filter((value) => isAllowedNumber(value, items, type === 'integer'))
        : type === 'string' && items['enum'] === undefined
          ? found.list(name).filter((text) => items['format'] === undefined && fittingText(text, items) !== undefined)
          : [];
    const distinct = schema['uniqueItems'] === true ? [...new Set<unknown>(values)] : values;
    const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : Infinity;
    const isEnough = distinct.length > 0 && distinct.length >= Number(schema['minItems'] ?? 0);
    return isEnough && schema['prefixItems'] === undefined ? distinct.slice(0, most) : undefined;
  }
}

/** Whether a member of that name, or the value as a whole, is the requested answer. */
export function isAnswerName(name: string): boolean {
  return name === '' || ANSWERS.has(wordsOfName(name).at(-1) ?? '');
}

function answerAs(type: string, answer: string, schema: JsonSchema): unknown {
  if (type === 'string') return schema['format'] === undefined ? fittingText(answer, schema) : undefined;
  const value = type === 'number' || type === 'integer' ? numberFrom(answer) : undefined;
  return value !== undefined && isAllowedNumber(value, schema, type === 'integer') ? value : undefined;
}

/** Whether it matches a pattern is not checked: see pattern.ts. */
function fittingText(text: string | undefined, schema: JsonSchema): string | undefined {
  if (text === undefined || schema['pattern'] !== undefined) return undefined;
  const { minLength, maxLength } = schema;
  const isFitting = isLength(
    text,
    typeof minLength === 'number' ? minLength : 0,
    typeof maxLength === 'number' ? maxLength : Infinity,
  );
  return isFitting ? text : undefined;
}

/** In characters, and not in UTF-16 units: JSON Schema. */
export function isLength(text: string, least: number, most: number): boolean {
  if (text.length < least || text.length > most * 2) return false;
  const length = text.length - (text.match(/[\u{10000}-\u{10FFFF}]/gu)?.length ?? 0);
  return length >= least && length <= most;
}

export function isOfType(value: unknown, types: readonly string[]): boolean {
  const type = typeOf(value);
  return types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));
}
