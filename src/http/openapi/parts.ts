/**
 * The reusable parts of an OpenAPI document. Named schemas are written once and referenced wherever they occur; they
 * are recognised by their content, because TypeBox copies schemas that it makes optional.
 */

/** A piece of the document: plain JSON. */
export type OpenApiNode = Readonly<Record<string, unknown>>;

/** Our own annotation: integers outside the range are clamped to it (http/app/query.ts). */
const CLAMPED = 'x-clamped';

/**
 * The schema of one value. Not with `const`: generators of clients cannot merge it with the type that it narrows. Nor is
 * a truth value enumerated: openapi-generator makes Java of it that does not compile.
 */
export function valueOf(value: unknown): OpenApiNode {
  if (typeof value === 'boolean') return { type: 'boolean', not: { const: !value } };
  const type = Number.isInteger(value) ? 'integer' : typeof value;
  return value === null ? { type: 'null' } : { type, enum: [value] };
}

/** Collects the components that a document uses. */
export class OpenApiParts {
  readonly #nameOf: ReadonlyMap<string, string>;
  readonly #examples: Readonly<Record<string, unknown>>;
  readonly #schemas = new Map<string, OpenApiNode>();
  readonly #responses = new Map<string, OpenApiNode>();
  readonly #headers = new Map<string, OpenApiNode>();

  /**
   * @param named schemas that become components where they occur, by their names.
   * @param examples of some of them.
   */
  constructor(named: Readonly<Record<string, object>>, examples: Readonly<Record<string, unknown>> = {}) {
    this.#nameOf = new Map(Object.entries(named).map(([name, schema]) => [JSON.stringify(schema), name]));
    this.#examples = examples;
  }

  /** A schema as it appears in the document: named ones as references. */
  schema(schema: object): OpenApiNode {
    const name = this.#nameOf.get(JSON.stringify(schema));
    if (name === undefined) return this.#inner(schema);
    const example = this.#examples[name];
    const examples = example === undefined ? {} : { examples: [example] };
    return this.addSchema(name, () => ({ ...this.#inner(schema), ...examples }));
  }

  /** Adds a schema under a unique name, unless it is there already. @returns the reference to it. */
  addSchema(name: string, make: () => OpenApiNode): OpenApiNode {
    return add(this.#schemas, 'schemas', name, make);
  }

  addResponse(name: string, make: () => OpenApiNode): OpenApiNode {
    return add(this.#responses, 'responses', name, make);
  }

  addHeader(name: string, make: () => OpenApiNode): OpenApiNode {
    return add(this.#headers, 'headers', name, make);
  }

  /** The `components` of the document, in the order of their names. */
  components(): OpenApiNode {
    return {
      schemas: sorted(this.#schemas),
      responses: sorted(this.#responses),
      headers: sorted(this.#headers),
    };
  }

  #inner(schema: object): OpenApiNode {
    const described = forGenerators(CLAMPED in schema ? withoutRange(schema) : schema);
    return Object.fromEntries(
      Object.entries(described).map(([keyword, value]) => {
        // Generators ignore it, and it is as exact as it was written.
        if (keyword === 'not') return [keyword, value];
        const resolved = this.#resolved(value);
        return [keyword, keyword === 'properties' ? withoutNullTypes(resolved as OpenApiNode) : resolved];
      }),
    );
  }

  #resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#resolved(each));
    return typeof value === 'object' && value !== null ? this.schema(value) : value;
  }
}

function add(
  parts: Map<string, OpenApiNode>,
  kind: 'schemas' | 'responses' | 'headers',
  name: string,
  make: () => OpenApiNode,
): OpenApiNode {
  if (!parts.has(name)) {
    // Reserved before it is made, so that a schema may refer to itself.
    parts.set(name, {});
    parts.set(name, make());
  }
  return { $ref: `#/components/${kind}/${name}` };
}

function sorted(parts: ReadonlyMap<string, OpenApiNode>): OpenApiNode {
  return Object.fromEntries([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Properties that are always null, without that type: openapi-generator refers to a class of Java that it does not make. */
function withoutNullTypes(properties: OpenApiNode): OpenApiNode {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const { type, ...rest } = property as OpenApiNode;
      return [name, type === 'null' ? { ...rest, const: null } : property];
    }),
  );
}

/** The keywords that are about values of one type; the others are about all. */
const KEYWORDS_OF: Readonly<Record<string, readonly string[]>> = {
  array: ['items', 'maxItems', 'minItems', 'uniqueItems'],
  object: ['additionalProperties', 'maxProperties', 'minProperties', 'properties', 'propertyNames', 'required'],
  string: ['contentMediaType', 'format', 'maxLength', 'minLength', 'pattern'],
  integer: ['maximum', 'minimum', 'multipleOf'],
  number: ['maximum', 'minimum', 'multipleOf'],
};
const OF_ONE_TYPE = new Set(Object.values(KEYWORDS_OF).flat());

/** Several types beside null as one schema for each: generators give a schema one type. */
function byTypes({ type, ...rest }: Record<string, unknown>): object {
  const kept = (isKept: (keyword: string) => boolean): object =>
    Object.fromEntries(Object.entries(rest).filter(([keyword]) => isKept(keyword)));
  return {
    ...kept((keyword) => !OF_ONE_TYPE.has(keyword)),
    anyOf: (type as readonly string[]).map((each) => ({
      type: each,
      ...kept((keyword) => KEYWORDS_OF[each]?.includes(keyword) === true),
    })),
  };
}

/**
 * The same schema as generators of clients read it: values with their types, one type beside null, and arrays of anything
 * as such.
 */
function forGenerators(schema: object): object {
  const { const: value, ...rest } = schema as Record<string, unknown>;
  if ('const' in schema) return { ...rest, ...valueOf(value) };
  const { type, enum: values, ...untyped } = rest;
  if (type === 'boolean' && Array.isArray(values) && values.length === 1) return { ...untyped, ...valueOf(values[0]) };
  if (type === undefined && Array.isArray(values)) {
    const isText = values.every((each) => typeof each === 'string');
    return isText ? { ...schema, type: 'string' } : { ...untyped, anyOf: values.map(valueOf) };
  }
  if (Array.isArray(type) && type.filter((each) => each !== 'null').length > 1) return byTypes(rest);
  return [type].flat().includes('array') && !('items' in schema) ? { ...schema, items: {} } : schema;
}

/** A range that rejects nothing is described in words. */
function withoutRange(schema: object): object {
  const { minimum, maximum, [CLAMPED]: _, description = '', ...rest } = schema as Record<string, unknown>;
  const range = `From ${String(minimum)} to ${String(maximum)}. Values outside this range are set to the nearest limit.`;
  return { ...rest, description: `${String(description)} ${range}`.trim() };
}
