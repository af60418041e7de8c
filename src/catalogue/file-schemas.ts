/**
 * The JSON Schemas of model files and provider files for editors: as the files are written, before an upstream has what
 * the file of its provider adds.
 */
import { Type } from 'typebox';
import type { TObject, TSchema } from 'typebox';
import { modelSchemaWith, upstreamSchema } from './definition.ts';
import type { Protocol } from './protocol.ts';
import { providerFileForm } from './provider-file.ts';
import { TextModelDefinitionSchema, TextUpstreamSchema } from './text-definition.ts';

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** @param protocols that files can name. */
export function providerFileSchema(protocols: readonly Protocol[]): object {
  const form = providerFileForm([TextUpstreamSchema, upstreamSchema(protocols)]);
  return { $schema: DRAFT, title: 'Provider file of Darkroom', ...form };
}

/** @param protocols that files can name. */
export function modelFileSchema(protocols: readonly Protocol[]): object {
  const ofText = Type.Object(
    {
      ...TextModelDefinitionSchema.properties,
      upstreams: Type.Array(asWritten(TextUpstreamSchema), { minItems: 1, maxItems: 8 }),
    },
    { additionalProperties: false },
  );
  return {
    $schema: DRAFT,
    title: 'Model file of Darkroom',
    type: 'object',
    ...choice(
      { properties: { modality: { const: 'text' } }, required: ['modality'] },
      ofText,
      modelSchemaWith(asWritten(upstreamSchema(protocols))),
    ),
  };
}

/** An upstream that names a provider has any of the members, and removes one by null (RFC 7396). */
function asWritten(upstream: TObject): TSchema {
  const completing = { ...overriding(upstream), required: ['provider', 'model'] };
  return Type.Unsafe({
    type: 'object',
    ...choice({ properties: { provider: true }, required: ['provider'] }, completing, upstream),
  });
}

/** One of two schemas, by a third. */
function choice(condition: object, ifMet: object, otherwise: object): object {
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema; the object is never awaited
  return { if: condition, then: ifMet, else: otherwise };
}

/** The same schema for a document that is merged over another one. */
function overriding(schema: object): object {
  return Object.fromEntries(
    Object.entries<unknown>({ ...schema }).flatMap(([keyword, value]) => {
      if (keyword === 'required') return [];
      const hasMembers = keyword === 'properties' || keyword === 'patternProperties';
      return [[keyword, hasMembers ? withNull(value) : value]];
    }),
  );
}

/** Schemas by name. */
function withNull(schemas: unknown): unknown {
  if (!isObject(schemas)) return schemas;
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]: [string, unknown]) => {
      if (!isObject(schema)) return [name, schema];
      const description = 'description' in schema ? { description: schema.description } : {};
      return [name, { ...description, anyOf: [overriding(schema), { type: 'null' }] }];
    }),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
