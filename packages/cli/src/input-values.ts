/**
 * From `key=value` to an input: each value becomes what the model's schema expects there, a number, a boolean, a list
 * or an object. Nothing is validated here: a value that does not match is sent as text, and the service reports what
 * is wrong with it.
 */
import { UsageError } from './errors.ts';
import type { JsonSchema } from './json-schema.ts';

/** A file to upload, which is replaced by its URL (`@image.png`). */
export class FileValue {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

type Container = Record<string, unknown> | unknown[];

/**
 * Applies assignments to an input.
 *
 * @param base the input to which they are added: `--input`. It is not modified.
 * @param assignments `key=value`; keys are nested with dots, `a.b=1`, and a repeated key adds to a list.
 * @param schema of the model's input; undefined if it is unknown: then every value is text.
 * @returns an input that may hold `FileValue`s.
 * @throws {UsageError} one is not an assignment.
 */
export function assignInput(
  base: Readonly<Record<string, unknown>>,
  assignments: readonly string[],
  schema: JsonSchema | undefined,
): Record<string, unknown> {
  const input = ownMembers(structuredClone(base));
  const seen = new Set<string>();
  for (const assignment of assignments) {
    const { key, text } = splitAssignment(assignment);
    const { path, schemas } = locate(key, schema);
    const isAgain = seen.has(key);
    seen.add(key);
    put(input, path, schemas, text, isAgain);
  }
  return input;
}

/** @throws {UsageError} */
export function splitAssignment(assignment: string): { readonly key: string; readonly text: string } {
  const at = assignment.indexOf('=');
  if (at < 1) throw new UsageError(`${JSON.stringify(assignment)}: write key=value`);
  return { key: assignment.slice(0, at), text: assignment.slice(at + 1) };
}

/** Objects without a prototype: `__proto__` is a name like any other there. */
function ownMembers(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.assign(Object.create(null) as Record<string, unknown>, members);
}

/** The path of a key, and the schemas that apply there. A name that contains a dot itself is recognized. */
function locate(
  key: string,
  schema: JsonSchema | undefined,
): { readonly path: readonly string[]; readonly schemas: readonly JsonSchema[] } {
  const roots = schema === undefined ? [] : alternatives(schema, schema);
  if (memberSchemas(roots, key, schema).length > 0) return { path: [key], schemas: memberSchemas(roots, key, schema) };
  const path = key.split('.');
  let schemas: readonly JsonSchema[] = roots;
  for (const name of path) schemas = memberSchemas(schemas, name, schema);
  return { path, schemas };
}

function memberSchemas(
  schemas: readonly JsonSchema[],
  name: string,
  root: JsonSchema | undefined,
): readonly JsonSchema[] {
  if (root === undefined) return [];
  return schemas.flatMap(({ properties, items }) => {
    if (isSchema(properties) && Object.hasOwn(properties, name) && isSchema(properties[name])) {
      return alternatives(properties[name], root);
    }
    return /^\d+$/.test(name) && isSchema(items) ? alternatives(items, root) : [];
  });
}

/** A schema with all its parts: what it refers to, and the branches of its unions. */
function alternatives(schema: JsonSchema, root: JsonSchema, seen = new Set<JsonSchema>()): readonly JsonSchema[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, anyOf, oneOf, allOf } = schema;
  const branches = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list.filter(isSchema) : []));
  const referred = typeof $ref === 'string' ? pointed(root, $ref) : undefined;
  const further = referred === undefined ? branches : [...branches, referred];
  return [schema, ...further.flatMap((branch) => alternatives(branch, root, seen))];
}

/** The target of `#/$defs/name`. */
function pointed(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let container: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    container = isSchema(container) && Object.hasOwn(container, name) ? container[name] : undefined;
  }
  return isSchema(container) ? container : undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a value at a path, creating the objects on the way. */
function put(
  input: Record<string, unknown>,
  path: readonly string[],
  schemas: readonly JsonSchema[],
  text: string,
  isAgain: boolean,
): void {
  let container: Container = input;
  for (const name of path.slice(0, -1)) {
    const found = memberOf(container, name);
    const next: Container = isContainer(found) ? found : ownMembers({});
    setMember(container, name, next);
    container = next;
  }
  const name = path.at(-1) ?? '';
  const earlier = memberOf(container, name);
  const value = valueOf(text, schemas);
  if (!isAgain) setMember(container, name, value);
  // A repeated key makes a list, whatever the schema declares: the service rejects a list that it does not accept.
  else
    setMember(container, name, [
      ...(Array.isArray(earlier) ? earlier : [earlier]),
      ...(Array.isArray(value) ? value : [value]),
    ]);
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !(value instanceof FileValue);
}

function memberOf(container: Container, name: string): unknown {
  return Object.hasOwn(container, name) ? (container as Record<string, unknown>)[name] : undefined;
}

function setMember(container: Container, name: string, value: unknown): void {
  if (Array.isArray(container) && !/^\d{1,4}$/.test(name)) {
    throw new UsageError(`${JSON.stringify(name)}: a list has indexes 0, 1, 2 …`);
  }
  (container as Record<string, unknown>)[name] = value;
}

/** Converts a string to a value according to a schema. */
function valueOf(text: string, schemas: readonly JsonSchema[]): unknown {
  const types = new Set(schemas.flatMap(typesOf));
  const isList = types.has('array');
  const itemSchemas = schemas.flatMap(({ items }) => (isSchema(items) ? [items] : []));
  if (text.startsWith('@') && [...schemas, ...itemSchemas].some(takesMedia)) {
    const file = new FileValue(text.slice(1));
    return isList && !schemas.some(takesMedia) ? [file] : file;
  }
  // A string that is one of the allowed values stays a string, even if a number would be accepted: "6".
  if (types.has('string') && schemas.some((schema) => Array.isArray(schema['enum']) && schema['enum'].includes(text))) {
    return text;
  }
  const isNumber = types.has('number') || (types.has('integer') && /^[+-]?\d+$/.test(text));
  if (isNumber && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) {
    const number = Number(text);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) return number;
  }
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('null') && text === 'null') return null;
  if ((isList && text.startsWith('[')) || (types.has('object') && text.startsWith('{'))) {
    const parsed = parseJson(text);
    if (parsed !== undefined) return parsed;
  }
  if (isList && !types.has('string')) return [valueOf(text, itemSchemas)];
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function takesMedia({ contentMediaType }: JsonSchema): boolean {
  return typeof contentMediaType === 'string';
}

/** The types that a schema accepts; those of its allowed values if it names none. */
function typesOf({ type, enum: choices, const: only, properties, items }: JsonSchema): readonly string[] {
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((name): name is string => typeof name === 'string');
  const values = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  if (values.length > 0) return values.map((value) => (value === null ? 'null' : typeof value));
  if (properties !== undefined) return ['object'];
  return items === undefined ? [] : ['array'];
}
