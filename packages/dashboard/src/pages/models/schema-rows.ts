/**
 * A JSON Schema as rows of a table: each field with its type, its allowed values, and its default. Members of objects
 * and items of lists follow the field that contains them, down to a readable depth.
 */
import { texts } from '../../texts/models.ts';

/** The `pattern` for a text that must not be blank, as the service defines it. */
export const NOT_BLANK = '\\S';

/** A part of a JSON Schema (draft 2020-12), as far as it is used here. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly pattern?: string;
  readonly contentMediaType?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export interface SchemaRow {
  /** `messages[].role`. */
  readonly path: string;
  readonly depth: number;
  readonly type: string;
  readonly isRequired: boolean;
  /** Separate statements; choices are listed elsewhere. */
  readonly allowed: readonly string[];
  readonly choices: readonly string[];
  readonly default: string | undefined;
  readonly description: string | undefined;
}

const DEEPEST = 4;

/** @param schema of an object. */
export function schemaRows(schema: Schema, prefix = '', depth = 0): readonly SchemaRow[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    return [rowOf(path, depth, field, required.has(name)), ...membersOf(path, depth, field)];
  });
}

function membersOf(path: string, depth: number, field: Schema): readonly SchemaRow[] {
  if (depth >= DEEPEST) return [];
  const item = field.items;
  if (item?.properties !== undefined) return schemaRows(item, `${path}[]`, depth + 1);
  return field.properties === undefined ? [] : schemaRows(field, path, depth + 1);
}

function rowOf(path: string, depth: number, field: Schema, isRequired: boolean): SchemaRow {
  const item = field.items;
  const chosenFrom = field.enum ?? (item?.properties === undefined ? item?.enum : undefined) ?? [];
  return {
    path,
    depth,
    type: typeOf(field),
    isRequired,
    allowed: [...bounds(field), ...(item === undefined || item.properties !== undefined ? [] : bounds(item))],
    choices: chosenFrom.filter((choice) => choice !== null).map(shown),
    default: field.default === undefined ? undefined : shown(field.default),
    description: field.description,
  };
}

function typeOf(field: Schema): string {
  const types = field.type === undefined ? alternatives(field) : [field.type].flat();
  const named = [...new Set(types.filter((type) => type !== 'null'))];
  if (named.length === 0) return texts.anything;
  return named
    .map((type) => (type === 'array' && field.items !== undefined ? `${typeOf(field.items)}[]` : type))
    .join(' or ');
}

function alternatives({ anyOf = [], oneOf = [], enum: choices = [], const: only }: Schema): readonly string[] {
  if (only !== undefined) return [typeof only];
  if (choices.length > 0) return choices.map((choice) => (choice === null ? 'null' : typeof choice));
  return [...anyOf, ...oneOf].flatMap((each) => [each.type ?? []].flat());
}

function bounds(field: Schema): readonly string[] {
  const { allowed } = texts;
  const media = field.contentMediaType?.split('/')[0];
  return [
    ...(media === undefined ? [] : [allowed.address(allowed.media[media] ?? allowed.media['any'] ?? '')]),
    ...range(field.minimum, field.maximum),
    ...(field.exclusiveMinimum === undefined ? [] : [allowed.above(field.exclusiveMinimum)]),
    ...(field.exclusiveMaximum === undefined ? [] : [allowed.below(field.exclusiveMaximum)]),
    ...(field.multipleOf === undefined ? [] : [allowed.multipleOf(field.multipleOf)]),
    // The length of a URL is of no interest.
    ...(media === undefined ? range(field.minLength, field.maxLength).map(allowed.characters) : []),
    ...range(field.minItems, field.maxItems).map(allowed.items),
    ...(field.uniqueItems === true ? [allowed.unique] : []),
    ...(field.pattern === undefined || media !== undefined
      ? []
      : [field.pattern === NOT_BLANK ? allowed.notBlank : allowed.pattern(field.pattern)]),
    ...(field.const === undefined ? [] : [allowed.constant(shown(field.const))]),
  ];
}

function range(least: number | undefined, most: number | undefined): readonly string[] {
  if (least !== undefined && most !== undefined) return [texts.allowed.between(least, most)];
  if (least !== undefined) return [texts.allowed.atLeast(least)];
  return most === undefined ? [] : [texts.allowed.atMost(most)];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
