/**
 * Reads a JSON Schema: the target of a `$ref`, the combination of several schemas, and the depth of the smallest value
 * that a schema allows, so that recursion ends. The schema is untrusted, and a few hundred bytes of it can refer to
 * themselves exponentially often: each part is read once, and the total work is bounded.
 */
import type { JsonSchema } from '../request.ts';

/** A longer chain of references is circular. */
const MAX_HOPS = 16;
/** A deeper value is not generated. */
const MAX_HEIGHT = 48;
const MAX_NODES = 20_000;
/** Further parts of `allOf` are not read. */
const MAX_PARTS = 64;
const MAX_REFERENCE = 1000;
/** Parts and members that one reader combines: some tenths of a second. */
const MAX_WORK = 1_000_000;

/** Combining a schema takes more steps than it is allowed. */
export class SchemaTooComplexError extends Error {
  override readonly name = 'SchemaTooComplexError';

  constructor() {
    super('the parts of the schema refer to one another too often');
  }
}

/** The remaining steps; several readers may share them. */
export class WorkLimit {
  #left: number;

  /** @param steps parts and members that are read. */
  constructor(steps: number) {
    this.#left = steps;
  }

  /** @throws {SchemaTooComplexError} fewer are left. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new SchemaTooComplexError();
  }
}

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Like `Math.min` and `Math.max`, for lists of any length. */
export function leastOf(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function mostOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** The types that a schema names or implies; none: any. */
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
  readonly #work: WorkLimit;
  readonly #resolved = new Map<object, JsonSchema>();
  readonly #targets = new Map<string, unknown>();
  readonly #joined = new Map<object, Map<object, JsonSchema>>();
  #heights: ReadonlyMap<object, number> | undefined;

  constructor(root: JsonSchema, work = new WorkLimit(MAX_WORK)) {
    this.#root = root;
    this.#work = work;
  }

  /** The schema with its references resolved and all of `allOf` merged. @throws {SchemaTooComplexError} */
  resolve(schema: unknown): JsonSchema {
    if (!isObject(schema)) return {};
    let known = this.#resolved.get(schema);
    if (known === undefined) {
      known = this.#resolve(schema, 0, new Set());
      this.#resolved.set(schema, known);
    }
    return known;
  }

  /** @param read the parts that were already read: a second time they add nothing, and may be circular. */
  #resolve(schema: unknown, hops: number, read: Set<object>): JsonSchema {
    if (!isObject(schema) || read.has(schema)) return {};
    read.add(schema);
    const { $ref, allOf, ...own } = schema;
    this.#work.take(1 + sizeOf(own));
    if (hops > MAX_HOPS) return own;
    const parts = [...listOf(allOf).slice(0, MAX_PARTS), ...(typeof $ref === 'string' ? [this.#target($ref)] : [])];
    return parts.reduce<JsonSchema>((merged, part) => {
      const resolved = this.#resolve(part, hops + 1, read);
      this.#work.take(1 + sizeOf(merged) + sizeOf(resolved));
      return merge(resolved, merged);
    }, own);
  }

  #target(reference: string): unknown {
    if (!this.#targets.has(reference)) this.#targets.set(reference, this.#find(reference));
    return this.#targets.get(reference);
  }

  #find(reference: string): unknown {
    if (!reference.startsWith('#') || reference.length > MAX_REFERENCE) return undefined;
    let value: unknown = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = unescapePointer(part);
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
      value = (value as Record<string, unknown>)[name];
    }
    return value;
  }

  /**
   * A branch of `anyOf` together with its sibling keywords, which apply to each branch. The same object for the same
   * arguments, so that it is combined once.
   */
  branchOf(schema: JsonSchema, branch: JsonSchema): JsonSchema {
    let branches = this.#joined.get(schema);
    if (branches === undefined) this.#joined.set(schema, (branches = new Map<object, JsonSchema>()));
    let whole = branches.get(branch);
    if (whole === undefined) branches.set(branch, (whole = joined(schema, branch)));
    return whole;
  }

  /** How many levels the smallest value of a schema has; Infinity: it has no finite value. */
  heightOf(schema: unknown): number {
    this.#heights ??= this.#measure();
    return isObject(schema) ? (this.#heights.get(schema) ?? 0) : 0;
  }

  /** As the shortest words of a grammar are found: from parts that need nothing else upwards, until nothing changes. */
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

function joined(schema: JsonSchema, branch: JsonSchema): JsonSchema {
  const { anyOf: _anyOf, oneOf: _oneOf, ...beside } = schema;
  return Object.keys(beside).some((key) => !/^(?:\$|title|description|default|examples)/.test(key))
    ? { allOf: [beside, branch] }
    : branch;
}

/** How many members are copied when a schema is merged with another. */
function sizeOf(schema: JsonSchema): number {
  const { properties, required } = schema;
  const members = isObject(properties) ? Object.keys(properties).length : 0;
  return Object.keys(schema).length + members + listOf(required).length;
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

/** Merges both; where they differ, the second counts. */
function merge(first: JsonSchema, second: JsonSchema): JsonSchema {
  const both = { ...first, ...second };
  if (!isObject(first['properties']) || !isObject(second['properties'])) return both;
  return {
    ...both,
    properties: { ...first['properties'], ...second['properties'] },
    required: [...new Set([...listOf(first['required']), ...listOf(second['required'])])],
  };
}
