/**
 * ajv, and the forms in which a violation is reported (spec §2.5, contract §1): the first offending field, what it is
 * and what it should be. Used for model inputs, request bodies and model files alike.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { countCodePoints } from './code-points.ts';
import { fieldInRequest, violation } from '@darkroom/api/facts/violation';
import type { Violation, ViolationPrefix } from '@darkroom/api/facts/violation';

/** Returns what is wrong with a value, or undefined if nothing is. */
export type Check = (value: unknown) => string | undefined;

/** The `pattern` of a string that is not blank; the prompts of all embedded models have it. */
const NOT_BLANK = '\\S';

/**
 * The maximum length of a value quoted in a message, so that messages stay readable and do not repeat a whole prompt.
 */
const MAX_QUOTED_CHARACTERS = 64;

/**
 * Compiles a JSON Schema.
 *
 * @throws {Error} the schema itself is not valid under ajv's strict mode; the message says where.
 */
export function compileCheck(schema: object, prefix: ViolationPrefix): Check {
  const find = compileViolation(schema, prefix);
  return (value) => find(value)?.message;
}

/**
 * Like `compileCheck`, for callers that need the position apart from the message.
 *
 * @throws {Error} as `compileCheck`.
 */
export function compileViolation(schema: object, prefix: ViolationPrefix): FindViolation {
  const validate = compile(schema, false);
  return (value) => (validate(value) ? undefined : firstViolation(validate.errors, prefix));
}

function firstViolation(errors: ValidateFunction['errors'], prefix: ViolationPrefix): Violation {
  const [error] = errors ?? [];
  if (error === undefined) return { message: `${prefix}: not valid`, field: fieldInRequest(prefix, ''), keyword: '' };
  return violationOf(error, prefix);
}

/** A value that has the type of its schema, or the first thing that is wrong with it. */
type Parsed<T> = { readonly value: T; readonly violation?: never } | { readonly violation: Violation };

/** Gives a value the type of its schema. */
export type Parse<T> = (value: unknown) => Parsed<T>;

/**
 * Like `compileViolation`, for callers that go on with the value.
 *
 * @throws {Error} as `compileCheck`.
 */
export function compileParse<Schema extends TSchema>(schema: Schema, prefix: ViolationPrefix): Parse<Static<Schema>> {
  const validate = compile<Static<Schema>>(schema, false);
  return (value) => (validate(value) ? { value } : { violation: firstViolation(validate.errors, prefix) });
}

/** Returns the first thing that is wrong with a value, or undefined if nothing is. */
export type FindViolation = (value: unknown) => Violation | undefined;

/**
 * Returns everything that is wrong with a value, at most a hundred violations: what `estimate` lists (contract §4).
 * For a value with very many members only the first is returned: if each of them were wrong, there would be too many
 * to collect.
 */
export type FindViolations = (value: unknown) => readonly Violation[];

/** The maximum number of violations that are reported for one value. */
const MAX_VIOLATIONS = 100;

/**
 * A violation occupies some hundred bytes until all are found, and a body of 10 MB has room for millions of members.
 */
const MAX_LISTED_MEMBERS = 10_000;

/**
 * Compiles a JSON Schema into a check that finds every violation.
 *
 * @throws {Error} as `compileCheck`.
 */
export function compileViolations(schema: object, prefix: ViolationPrefix): FindViolations {
  const validate = compile(schema, true);
  const findFirst = compileViolation(schema, prefix);
  return (value) => {
    if (hasMoreMembers(value, MAX_LISTED_MEMBERS)) {
      const first = findFirst(value);
      return first === undefined ? [] : [first];
    }
    if (validate(value)) return [];
    const violations = (validate.errors ?? []).map((error) => violationOf(error, prefix));
    return [...new Map(violations.map((each) => [each.message, each])).values()].slice(0, MAX_VIOLATIONS);
  };
}

/** Whether a parsed value has more members, at all depths, than the limit. */
function hasMoreMembers(value: unknown, limit: number): boolean {
  const open: unknown[] = [value];
  let members = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inside: unknown[] = Object.values(next);
    members += inside.length;
    if (members > limit) return true;
    open.push(...inside);
  }
  return false;
}

/** Annotations of ours: their meaning is documented where they are read (http/app/query.ts). */
const ANNOTATIONS = ['x-clamped'];

/** A new instance compiles the meta-schema of JSON Schema first, which takes some fifty times as long as a schema. */
const instances = { first: newInstance(false), all: newInstance(true) };

function newInstance(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    ownProperties: true,
    verbose: true,
    allErrors,
    // Its optimizer takes a third of the time that compiling takes; V8 optimizes the same code as well (measured).
    code: { optimize: false },
  });
  for (const annotation of ANNOTATIONS) ajv.addKeyword(annotation);
  return ajv;
}

function compile<T = unknown>(schema: object, allErrors: boolean): ValidateFunction<T> {
  // The name that a schema gives itself stays known to its instance, and the next version of it has the same name.
  if (JSON.stringify(schema).includes('"$id"')) return newInstance(allErrors).compile<T>(schema);
  const ajv = instances[allErrors ? 'all' : 'first'];
  try {
    return ajv.compile<T>(schema);
  } finally {
    // An instance keeps what it has compiled, and definitions come and go.
    ajv.removeSchema(schema);
  }
}

function violationOf(error: ErrorObject, prefix: ViolationPrefix): Violation {
  const name = fieldOf(error);
  const field = fieldInRequest(prefix, name);
  const { keyword } = error;
  if (keyword === 'additionalProperties') {
    const problem = 'additional properties not allowed';
    return { message: `${problem}: ${name}`, problem, field, keyword };
  }
  if (keyword === 'required') {
    const problem = 'missing property';
    return { message: `${prefix}: ${problem}: ${name}`, problem, field, keyword };
  }
  const found = violation(prefix, name, keyword, `${keyword}: got ${got(error)}, want ${want(error)}`);
  const valueKind = valueKindOf(error);
  return valueKind === undefined ? found : { ...found, valueKind };
}

const BOUNDS: ReadonlySet<string> = new Set(['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum']);

function valueKindOf({ keyword, data, parentSchema }: ErrorObject): Violation['valueKind'] {
  if (keyword === 'minLength' || keyword === 'minItems') {
    return data === '' || (Array.isArray(data) && data.length === 0) ? 'empty' : undefined;
  }
  if (!BOUNDS.has(keyword)) return undefined;
  return [parentSchema?.['type']].flat().includes('integer') ? 'integer' : 'decimal';
}

/** The offending field: for a missing or an additional member, that member. */
function fieldOf(error: ErrorObject): string {
  const path = dotted(error.instancePath);
  if (error.keyword === 'additionalProperties') return join(path, error.params['additionalProperty']);
  if (error.keyword === 'required') return join(path, error.params['missingProperty']);
  return path;
}

/** `/image_urls/0` is reported as `image_urls.0`. */
function dotted(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map((part) => quoteless(part.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('.');
}

function join(field: string, member: unknown): string {
  const name = quoteless(String(member));
  return field === '' ? name : `${field}.${name}`;
}

function got(error: ErrorObject): string {
  const value: unknown = error.data;
  if (error.keyword === 'type') return typeName(value);
  if (Array.isArray(value)) return String(value.length);
  if (typeof value === 'string' && error.keyword.endsWith('Length')) return String(countCodePoints(value));
  if (typeof value === 'object' && value !== null) {
    return error.keyword.endsWith('Properties') ? String(Object.keys(value).length) : 'object';
  }
  return quoted(value);
}

function want(error: ErrorObject): string {
  const params: Record<string, unknown> = error.params;
  if (error.keyword === 'type') return [params['type']].flat().join(' or ');
  if (error.keyword === 'enum') return `one of ${[params['allowedValues']].flat().map(quoted).join(', ')}`;
  if (error.keyword === 'const') return quoted(params['allowedValue']);
  if (error.keyword === 'pattern') return wantedText(params['pattern'], error.parentSchema?.['description']);
  if (error.keyword === 'multipleOf') return `a multiple of ${String(params['multipleOf'])}`;
  if (error.keyword === 'uniqueItems') return 'no item twice';
  if (error.keyword === 'propertyNames') return 'other property names';
  if ('limit' in params) return String(params['limit']);
  return 'another value';
}

/** What a text should be: in the words of its description, because few people read regular expressions. */
function wantedText(pattern: unknown, description: unknown): string {
  if (pattern === NOT_BLANK) return 'more than white space';
  return typeof description === 'string' ? `this: ${description}` : `a text that matches ${String(pattern)}`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  if (text.length <= MAX_QUOTED_CHARACTERS) return text;
  return `${text.slice(0, MAX_QUOTED_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A member's name as it is reported: control characters escaped, cut if it is long. */
function quoteless(name: string): string {
  return quoted(name).replace(/^"|"$/g, '');
}
