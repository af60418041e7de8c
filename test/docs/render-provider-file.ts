/**
 * Renders `docs/reference/provider-file.md` from the schemas of provider files and upstreams. Run by itself it writes
 * the file: `npm run ts -- test/docs/render-provider-file.ts`
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { providerFileSchema } from '../../src/catalogue/file-schemas.ts';
import { upstreamSchema } from '../../src/catalogue/definition.ts';
import { TextUpstreamSchema } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { table } from './markdown-table.ts';

/** Where the rendered text is stored. */
export const PROVIDER_FILE = packageFile('docs/reference/provider-file.md');

const INTRODUCTION = `# Provider file reference

Every member of a \`provider.json\`. The upstreams of model files have the members of \`upstream\` too, and \`provider\` and \`model\`; what a model file lacks comes from the file of its provider. Members that are required have to be in one of the two files. [Adding an upstream](../guides/adding-an-upstream.md) explains how they work together.

An expression is [JSONata](https://jsonata.org). \`npm run admin -- models schema provider\` prints the same as a JSON Schema, with the forms of all values.

This page is generated from the schemas in \`src/catalogue\` and \`src/providers\`.
`;

type Schema = Readonly<Record<string, unknown>>;

/** One member. */
export interface Member {
  readonly path: string;
  readonly type: string;
  readonly description: string;
}

interface Section {
  readonly title: string;
  /** Of its members. */
  readonly prefix: string;
  readonly schema: Schema;
  readonly members: readonly Member[];
}

/** Where a schema occurs several times: it is shown once, under a title of its own. */
const SHARED: readonly (readonly [name: string, title: string])[] = [['form', 'Parts of a form']];

/** The page of another schema. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'upstream.cost.pricing': 'object, as [`pricing` of a model](../guides/adding-a-model.md#the-file)',
};

/** All sections of the page, from the outside in. */
export function sectionsOf(): readonly Section[] {
  const file = recordOf(providerFileSchema(PROTOCOLS));
  // As an upstream is once it is complete, which says what is required.
  const upstream = {
    ...recordOf(recordOf(file['properties'])['upstream']),
    properties: { ...TextUpstreamSchema.properties, ...upstreamSchema(PROTOCOLS).properties },
    required: upstreamSchema(PROTOCOLS).required,
  };
  const { provider: _provider, model: _model, ...shared } = upstream.properties;
  const whole = {
    ...file,
    properties: { ...recordOf(file['properties']), upstream: { ...upstream, properties: shared } },
  };
  const sections: Section[] = [];
  const open: { readonly title: string; readonly prefix: string; readonly schema: Schema }[] = [
    { title: 'The file', prefix: '', schema: whole },
  ];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { title, prefix, schema } = next;
    if (sections.some((each) => each.title === title)) continue;
    const required = Array.isArray(schema['required']) ? (schema['required'] as readonly unknown[]) : [];
    const members: Member[] = [];
    const inner: typeof open = [];
    for (const [name, value] of Object.entries(recordOf(schema['properties']))) {
      const member = recordOf(value);
      const path = `${prefix}${name}`;
      const below = ELSEWHERE[path] === undefined ? objectIn(member) : undefined;
      if (below !== undefined) inner.push(sectionFor(path, name, below));
      const type = ELSEWHERE[path] ?? typeOf(member, below !== undefined);
      members.push({
        path,
        type: required.includes(name) ? `${type}, required` : type,
        description: textOf(member, 'description').replace(/^JSONata\. /, ''),
      });
    }
    sections.push({ title, prefix, schema, members });
    // Below the section, and before those beside it.
    open.unshift(...inner);
  }
  return sections;
}

function sectionFor(path: string, name: string, schema: Schema) {
  const shared = SHARED.find(([suffix]) => suffix === name)?.[1];
  return shared === undefined
    ? { title: `\`${path}\``, prefix: `${path}.`, schema }
    : { title: shared, prefix: '', schema };
}

/** The object with members of its own that a member is, or is a list of. */
function objectIn(schema: Schema): Schema | undefined {
  const object = schema['type'] === 'array' ? recordOf(schema['items']) : schema;
  return object['properties'] === undefined ? undefined : object;
}

/** @param hasSection whether the page shows its own members. */
function typeOf(schema: Schema, hasSection: boolean): string {
  const { type, enum: values, minimum, maximum, items } = schema;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (type === 'array') return `list of ${hasSection ? 'objects, below' : typeOf(recordOf(items), false)}`;
  if (type === 'object') return hasSection ? 'object, below' : objectType(schema);
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'integer') return `${String(minimum)} to ${String(maximum)}`;
  return textOf(schema, 'description').startsWith('JSONata') ? 'expression' : 'text';
}

function objectType(schema: Schema): string {
  const [value] = Object.values(recordOf(schema['patternProperties']));
  const type = value === undefined ? '' : typeOf(recordOf(value), false);
  return type === '' || Object.keys(recordOf(value)).length === 0 ? 'object' : `object; each: ${type}`;
}

function recordOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function textOf(schema: Schema, member: string): string {
  const text = schema[member];
  return typeof text === 'string' ? text : '';
}

export function renderProviderFile(): string {
  const sections = sectionsOf().map(({ title, schema, members }) => {
    const description = textOf(schema, 'description');
    const head = title === 'The file' || description === '' ? '' : `${description}\n\n`;
    const rows = members.map(({ path, type, description: meaning }) => [`\`${path}\``, type, meaning]);
    return `## ${title}\n\n${head}${table(['member', 'value', 'meaning'], rows)}`;
  });
  return `${INTRODUCTION}\n${sections.join('\n')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PROVIDER_FILE, renderProviderFile());
