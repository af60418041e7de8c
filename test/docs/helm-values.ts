/** The values of the Helm chart as `values.yaml` and its schema document them. */
import { isMap, isScalar, parseDocument } from 'yaml';
import type { Pair, YAMLMap } from 'yaml';

/** The part of a JSON Schema that the chart's uses. */
export interface SchemaNode {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly description?: string;
}

export interface DocumentedValue {
  /** `api.service.port`, `workers[].name`. */
  readonly path: string;
  /** Undefined for a field of a list's entries. */
  readonly fallback: unknown;
  /** Empty if it is not documented. */
  readonly meaning: string;
}

/**
 * Every value, in the order of the file: those that have no parts, or whose parts are Kubernetes' own. After a list, the
 * fields of its entries that the schema describes.
 */
export function documentedValues(text: string, schema: SchemaNode): readonly DocumentedValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error('values.yaml is no mapping');
  return valuesOf(contents, schema, '');
}

function valuesOf(map: YAMLMap, schema: SchemaNode, prefix: string): readonly DocumentedValue[] {
  return map.items.flatMap((pair, index) => {
    if (!isScalar(pair.key)) throw new Error(`values.yaml: a key of ${prefix} is no text`);
    const name = String(pair.key.value);
    const path = prefix + name;
    const node = schema.properties?.[name] ?? {};
    if (isMap(pair.value) && pair.value.flow !== true && node.properties !== undefined) {
      return valuesOf(pair.value, node, `${path}.`);
    }
    const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    const own = { path, fallback: fallbackOf(pair), meaning: textOf(comment) };
    return [own, ...fieldsOf(node.items, `${path}[].`)];
  });
}

function fallbackOf({ value }: Pair): unknown {
  return (value as { toJSON(): unknown } | null)?.toJSON() ?? null;
}

function fieldsOf(items: SchemaNode | undefined, prefix: string): readonly DocumentedValue[] {
  return Object.entries(items?.properties ?? {}).flatMap(([name, { description }]) =>
    description === undefined ? [] : [{ path: prefix + name, fallback: undefined, meaning: description }],
  );
}

/** The paragraph directly above the key: what stands before an empty line is about what follows in general. */
function textOf(comment: string | null | undefined): string {
  const paragraph = (comment ?? '').split(/\n\s*\n/).at(-1) ?? '';
  return paragraph
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();
}
