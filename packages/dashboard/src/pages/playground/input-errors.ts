/**
 * The errors of an input, by field: validated here against the model's own schema, with messages for people, and in
 * addition whatever only the service found (`POST /v1/tasks/estimate` lists everything with status 200).
 */
import type { Violation } from '@darkroom/api/facts/violation';
import { Validator } from '@cfworker/json-schema';
import type { OutputUnit } from '@cfworker/json-schema';
import { texts } from '../../texts/playground.ts';
import { NOT_BLANK } from '../models/schema-rows.ts';
import type { Schema } from '../models/schema-rows.ts';

export interface FieldError {
  /** Names and indexes: `['image_urls', '2']`. Empty: the whole input. */
  readonly path: readonly string[];
  readonly message: string;
}

/** They only state that something further down is invalid. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  'patternProperties',
  'additionalProperties',
  '$ref',
  'allOf',
]);
/** An error within one of several alternatives says little: the error reported is that none matches. */
const BELOW_ALTERNATIVE = /\/(?:anyOf|oneOf|not|if)\/\d*\/?/;
const NOT_GIVEN = new Set<unknown>([undefined, null, '']);

/** All errors, one line each. */
export function inputErrors(schema: Schema, input: unknown): readonly FieldError[] {
  const { errors } = new Validator(schema as object, '2020-12', false).validate(input);
  const seen = new Set<string>();
  // The validator treats an invalid field as one that no schema has evaluated, and so reports it as an unknown field
  // too.
  const hasError = (location: string): boolean =>
    errors.some(
      ({ keyword, instanceLocation: at }) => keyword !== 'false' && (at === location || at.startsWith(`${location}/`)),
    );
  return errors
    .filter(({ keyword, instanceLocation }) => keyword !== 'false' || !hasError(instanceLocation))
    .filter(({ keyword, keywordLocation }) => !WRAPPERS.has(keyword) && !BELOW_ALTERNATIVE.test(keywordLocation))
    .flatMap((unit) => errorsOf(schema, input, unit))
    .filter(({ path, message }) => {
      const key = JSON.stringify([path, message]);
      return !seen.has(key) && seen.add(key);
    });
}

function errorsOf(
  schema: Schema,
  input: unknown,
  { keyword, keywordLocation, instanceLocation }: OutputUnit,
): readonly FieldError[] {
  const path = partsOf(instanceLocation);
  const parent = at(schema, partsOf(keywordLocation).slice(0, -1)) as Schema | undefined;
  if (keyword === 'required') {
    const value = at(input, path) as Readonly<Record<string, unknown>> | undefined;
    return (parent?.required ?? [])
      .filter((name) => NOT_GIVEN.has(value?.[name]))
      .map((name) => ({ path: [...path, name], message: texts.errors.required }));
  }
  return [{ path, message: messageFor(keyword, parent ?? {}) }];
}

function messageFor(keyword: string, field: Schema): string {
  const { errors } = texts;
  switch (keyword) {
    case 'minLength':
      return field.minLength === 1 ? errors.required : errors.tooShort(field.minLength ?? 0);
    case 'maxLength':
      return errors.tooLong(field.maxLength ?? 0);
    case 'minimum':
      return errors.tooSmall(field.minimum ?? 0);
    case 'maximum':
      return errors.tooLarge(field.maximum ?? 0);
    case 'exclusiveMinimum':
      return errors.above(field.exclusiveMinimum ?? 0);
    case 'exclusiveMaximum':
      return errors.below(field.exclusiveMaximum ?? 0);
    case 'multipleOf':
      return errors.multipleOf(field.multipleOf ?? 1);
    case 'minItems':
      return errors.tooFew(field.minItems ?? 0);
    case 'maxItems':
      return errors.tooMany(field.maxItems ?? 0);
    case 'uniqueItems':
      return errors.notUnique;
    case 'enum':
    case 'const':
      return errors.notChoice;
    case 'type':
      return errors.wrongType([field.type ?? []].flat().join(' or '));
    case 'pattern':
      if (field.pattern === NOT_BLANK) return errors.blank;
      return field.contentMediaType === undefined ? errors.pattern : errors.url;
    case 'format':
      return errors.pattern;
    case 'false':
      return errors.unknownField;
    default:
      return errors.notFitting;
  }
}

/** Assigns the service's errors to the fields of the form. @param known fields that already have an error. */
export function serviceErrors(
  schema: Schema,
  violations: readonly Violation[],
  known: readonly FieldError[],
): { readonly fields: readonly FieldError[]; readonly others: readonly string[] } {
  const namesWithError = new Set(known.map(({ path: [name] }) => name));
  const fields: FieldError[] = [];
  const others: string[] = [];
  for (const { message, problem = message, field } of violations) {
    const [root, ...path] = field.split('.');
    const [name] = path;
    if (root !== 'input' || name === undefined || !Object.hasOwn(schema.properties ?? {}, name)) others.push(message);
    // The form itself reports a missing field, at the field.
    else if (!namesWithError.has(name)) fields.push({ path, message: problem });
  }
  return { fields, others };
}

/** @param pointer `#/image_urls/2`. */
function partsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}
