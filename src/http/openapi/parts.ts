/**
 * The reusable parts of an OpenAPI document. Named schemas are written once and referenced wherever they occur; they
 * are recognised by their content, because TypeBox copies schemas that it makes optional.
 */

/** A piece of the document: plain JSON. */
export type OpenApiNode = Readonly<Record<string, unknown>>;

/** Our own annotation: integers outside the range are clamped to it (http/app/query.ts). */
const CLAMPED = 'x-clamped';

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
    const described = CLAMPED in schema ? withoutRange(schema) : schema;
    return Object.fromEntries(Object.entries(described).map(([keyword, value]) => [keyword, this.#resolved(value)]));
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

/** A range that rejects nothing is described in words. */
function withoutRange(schema: object): object {
  const { minimum, maximum, [CLAMPED]: _, description = '', ...rest } = schema as Record<string, unknown>;
  const range = `From ${String(minimum)} to ${String(maximum)}. Values outside this range are set to the nearest limit.`;
  return { ...rest, description: `${String(description)} ${range}`.trim() };
}
