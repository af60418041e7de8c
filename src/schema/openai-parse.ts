/**
 * Bodies in OpenAI's form (contract §9): an empty string counts as not given wherever a member may be left out, because
 * form libraries and settings pages send every field they have. Our own requests (`/v1/tasks`) are taken as they are.
 */
import type { Static, TSchema } from 'typebox';
import { isRecord, memberOf } from '../domain/json-members.ts';
import { compileParse } from './schema-validation.ts';
import type { Parse } from './schema-validation.ts';

/**
 * Like `compileParse`, for a request in OpenAI's form.
 *
 * @throws {Error} as `compileParse`.
 */
export function compileOpenAiParse<Schema extends TSchema>(schema: Schema): Parse<Static<Schema>> {
  const parse = compileParse(schema, 'invalid request');
  return (value) => parse(withoutEmpty(schema, value));
}

/** @returns the value without its optional members that are empty strings; the value itself if it has none. */
function withoutEmpty(schema: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return eachWithoutEmpty(memberOf(schema, 'items'), value);
  const properties = memberOf(schema, 'properties');
  if (!isRecord(value) || !isRecord(properties)) return value;
  const required = memberOf(schema, 'required');
  let copy: Record<string, unknown> | undefined;
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name];
    if (member === '' && !(Array.isArray(required) && required.includes(name))) {
      copy ??= { ...value };
      delete copy[name];
      continue;
    }
    const given = withoutEmpty(property, member);
    if (given !== member) (copy ??= { ...value })[name] = given;
  }
  return copy ?? value;
}

function eachWithoutEmpty(schema: unknown, values: readonly unknown[]): readonly unknown[] {
  if (memberOf(schema, 'properties') === undefined) return values;
  let isChanged = false;
  const given = values.map((value) => {
    const each = withoutEmpty(schema, value);
    isChanged ||= each !== value;
    return each;
  });
  return isChanged ? given : values;
}
