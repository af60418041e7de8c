/**
 * Reading a JSON Schema: where a `$ref` leads, what several schemas come to together, and how deep the smallest value
 * is that a schema allows, so that recursion ends.
 */
import type { JsonSchema } from '../../request.ts';

/** A chain of references that is longer leads in a circle. */
const MAX_HOPS = 16;
/** A value that is deeper is not made. */
const MAX_HEIGHT = 48;
const MAX_NODES = 20_000;
/** More parts of `allOf` are not read. */
const MAX_PARTS = 64;
const MAX_REFERENCE = 1000;

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** As `Math.min` and `Math.max`, of lists of any length. */
export function leastOf(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function mostOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** The types that a schema names or lets one guess; none: any. */
export function typesOf(schema: JsonSchema): readonly string[] {
  const { type } = schema;
  if (type !== undefined) return (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
  if (schema['properties'] !== undefined || schema['required'] !== undefined) return ['object'];
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return ['array'];
  return [];
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

export class SchemaReader {
  readonly #root: JsonSchema;
  readonly #resolved = new Map<object, JsonSchema>();
  #heights: ReadonlyMap<object, number> | undefined;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** The schema with what it refers to, and with what all of `allOf` say. */
  resolve(schema: unknown): JsonSchema {
    if (!isObject(schema)) return {};
    const known = this.#resolved.get(schema) ?? this.#resolve(schema, 0);
    this.#resolved.set(schema, known);
    return known;
  }

  #resolve(schema: unknown, hops: number): JsonSchema {
    if (!isObject(schema)) return {};
    const { $ref, allOf, ...own } = schema;
    if (hops > MAX_HOPS) return own;
    const parts = [...listOf(allOf).slice(0, MAX_PARTS), ...(typeof $ref === 'string' ? [this.#target($ref)] : [])];
    return parts.reduce<JsonSchema>((merged, part) => merge(this.#resolve(part, hops + 1), merged), own);
  }

  #target(reference: string): unknown {
    if (!reference.startsWith('#') || reference.length > MAX_REFERENCE) return undefined;
    let value: unknown = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = unescapePointer(part);
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
      value = (value as Record<string, unknown>)[name];
    }
    return value;
  }

  /** How many levels the smallest value of a schema has; Infinity: it has none that ends. */
  heightOf(schema: unknown): number {
    this.#heights ??= this.#measure();
    return isObject(schema) ? (this.#heights.get(schema) ?? 0) : 0;
  }

  /** As the shortest words of a grammar are found: from those that need nothing else upwards, until nothing changes. */
  #measure(): ReadonlyMap<object, number> {
    const heights = new Map<object, number>();
    const open: unknown[] = [this.#root];
    for (let next = open.pop(); next !== undefined && heights.size < MAX_NODES; next = open.pop()) {
      if (typeof next !== 'object' || next === null || heights.has(next)) continue;
      if (!Array.isArray(next)) heights.set(next, Infinity);
      for (const value of Object.values(next)) if (typeof value === 'object' && value !== null) open.push(value);
    }
    if (heights.size >= MAX_NODES) return new Map();
    for (let round = 0, isChanged = true; isChanged && round < MAX_HEIGHT; round++) {
      isChanged = false;
      for (const [schema, height] of heights) {
        const better = this.#heightFrom(schema as JsonSchema, heights);
        if (better >= height) continue;
        heights.set(schema, better);
        isChanged = true;
      }
    }
    return heights;
  }

  #heightFrom(schema: JsonSchema, heights: ReadonlyMap<object, number>): number {
    const height = (part: unknown): number => (isObject(part) ? (heights.get(part) ?? 0) : 0);
    const whole = [
      ...listOf(schema['allOf']),
      ...(typeof schema['$ref'] === 'string' ? [this.#target(schema['$ref'])] : []),
    ];
    const together = mostOf(whole.map(height));
    if (schema['const'] !== undefined || schema['enum'] !== undefined) return together;
    const branches = listOf(schema['anyOf'] ?? schema['oneOf']);
    const branch = branches.length === 0 ? 0 : leastOf(branches.map(height));
    const types = typesOf(schema);
    const own = types.length === 0 ? 0 : leastOf(types.map((type) => heightOfType(type, schema, height)));
    return Math.max(together, branch, own);
  }
}

function heightOfType(type: string, schema: JsonSchema, height: (part: unknown) => number): number {
  if (type === 'array') return Number(schema['minItems'] ?? 0) > 0 ? 1 + height(schema['items']) : 0;
  if (type !== 'object') return 0;
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = listOf(schema['required']).map((name) => height(properties[String(name)]));
  return 1 + mostOf(required);
}

function unescapePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}

/** What both say; where they differ, the second counts. */
function merge(first: JsonSchema, second: JsonSchema): JsonSchema {
  const both = { ...first, ...second };
  if (!isObject(first['properties']) || !isObject(second['properties'])) return both;
  return {
    ...both,
    properties: { ...first['properties'], ...second['properties'] },
    required: [...new Set([...listOf(first['required']), ...listOf(second['required'])])],
  };
}
