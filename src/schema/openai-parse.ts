/**
 * Bodies in OpenAI's form (contract §9). Null counts as not given wherever a member may be left out, unless its schema
 * has a null. So does an empty string where emptiness cannot be meant: of every parameter of the request itself, because
 * form libraries and settings pages send all fields that they have, and further inside where the schema forbids it. What
 * was said, such as the content of a message, is taken as it is. So are our own requests (`/v1/tasks`).
 */
import type { Violation } from '@darkroom/api/facts/violation';
import type { Static, TSchema } from 'typebox';
import { hasMember, isRecord, memberOf } from '../domain/json.ts';
import { compileParse } from './schema-validation.ts';
import type { Parse } from './schema-validation.ts';

/**
 * Like `compileParse`, for a request in OpenAI's form.
 *
 * @throws {Error} as `compileParse`.
 */
export function compileOpenAiParse<Schema extends TSchema>(schema: Schema): Parse<Static<Schema>> {
  const parse = compileParse(schema, 'invalid request');
  return (value) => parse(givenOf(schema, value, (property) => !isContent(property)));
}

/** Whether an empty string counts as not given although the schema of the member takes it. */
type IsLeftOut = (property: unknown) => boolean;

/** @returns the value without its optional members that count as not given; the value itself if it has none. */
function givenOf(schema: unknown, value: unknown, isLeftOut: IsLeftOut): unknown {
  if (Array.isArray(value)) return eachGivenOf(memberOf(schema, 'items'), value);
  const properties = memberOf(schema, 'properties');
  if (!isRecord(value) || !isRecord(properties)) return value;
  const required = memberOf(schema, 'required');
  let copy: Record<string, unknown> | undefined;
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name];
    if (!(Array.isArray(required) && required.includes(name)) && isNotGiven(property, member, isLeftOut)) {
      copy ??= { ...value };
      delete copy[name];
      continue;
    }
    const given = givenOf(property, member, () => false);
    if (given !== member) (copy ??= { ...value })[name] = given;
  }
  return copy ?? value;
}

function eachGivenOf(schema: unknown, values: readonly unknown[]): readonly unknown[] {
  if (memberOf(schema, 'properties') === undefined) return values;
  let isChanged = false;
  const given = values.map((value) => {
    const each = givenOf(schema, value, () => false);
    isChanged ||= each !== value;
    return each;
  });
  return isChanged ? given : values;
}

function isNotGiven(property: unknown, member: unknown, isLeftOut: IsLeftOut): boolean {
  if (member === null) return !takes(property, null);
  return member === '' && (isLeftOut(property) || !takes(property, ''));
}

/** Whether a member is what was said: a text, or a list of its parts, and the text may be empty. */
function isContent(schema: unknown): boolean {
  return [memberOf(schema, 'type')].flat().includes('array') && takes(schema, '');
}

/** Whether a value is valid for the schema of a member, as far as its type and its bounds decide that. */
function takes(schema: unknown, value: '' | null): boolean {
  const alternatives = memberOf(schema, 'anyOf');
  if (Array.isArray(alternatives)) return alternatives.some((each) => takes(each, value));
  const values = memberOf(schema, 'enum');
  if (Array.isArray(values)) return values.includes(value);
  if (hasMember(schema, 'const')) return schema['const'] === value;
  const type = memberOf(schema, 'type');
  if (type !== undefined && ![type].flat().includes(value === null ? 'null' : 'string')) return false;
  // A pattern is that of an id, or of another word that has at least one character.
  return value === null || !(hasMember(schema, 'minLength') || hasMember(schema, 'pattern'));
}

/** OpenAI's codes for what is wrong with a parameter: its clients branch on them (contract §9.8). */
const CODES: Readonly<Record<string, string>> = {
  required: 'missing_required_parameter',
  type: 'invalid_type',
  additionalProperties: 'unknown_parameter',
  maxLength: 'string_above_max_length',
  minLength: 'string_below_min_length',
  maxItems: 'array_above_max_length',
  minItems: 'array_below_min_length',
};

/** Of an empty value that must not be empty. */
const EMPTY_CODES: Readonly<Record<string, string>> = { minLength: 'empty_string', minItems: 'empty_array' };

/** After `integer_` or `decimal_`. */
const BOUND_CODES: Readonly<Record<string, string>> = {
  maximum: 'above_max_value',
  exclusiveMaximum: 'above_max_value',
  minimum: 'below_min_value',
  exclusiveMinimum: 'below_min_value',
};

/** The code for a violation. */
export function openAiCodeOf({ keyword, valueKind }: Pick<Violation, 'keyword' | 'valueKind'>): string {
  const empty = valueKind === 'empty' ? EMPTY_CODES[keyword] : undefined;
  if (empty !== undefined) return empty;
  const bound = BOUND_CODES[keyword];
  if (bound === undefined) return CODES[keyword] ?? 'invalid_value';
  if (valueKind === 'integer') return `integer_${bound}`;
  return valueKind === 'decimal' ? `decimal_${bound}` : 'invalid_value';
}
