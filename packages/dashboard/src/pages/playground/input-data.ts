/**
 * An input as the form has it, and as it is sent: the form shows every default, and sends only values that differ from
 * it.
 */
import type { ModelDetail } from '../../api/models.ts';
import type { Schema } from '../models/schema-rows.ts';

export type Input = Readonly<Record<string, unknown>>;

/** The greatest seed if a schema names none: accepted everywhere. */
const MAX_SEED = 2_147_483_647;

/** The media kind of a field. */
export type MediaKind = 'image' | 'video' | 'audio' | 'any';

/** The kind of media whose URL a field takes; undefined for any other field. */
export function mediaKindOf({ contentMediaType }: Schema): MediaKind | undefined {
  if (contentMediaType === undefined) return undefined;
  const kind = contentMediaType.split('/')[0];
  return kind === 'image' || kind === 'video' || kind === 'audio' ? kind : 'any';
}

/** The defaults of the fields that have one. */
export function defaultsOf({ properties = {} }: Schema): Input {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The input to send: without empty values and without values that equal their default. */
export function sentInput({ properties = {}, required = [] }: Schema, data: Input): Input {
  return Object.fromEntries(
    Object.entries(data).filter(([name, value]) => {
      if (value === undefined || value === '' || value === null) return false;
      if (Array.isArray(value) && value.length === 0) return false;
      const isDefault = JSON.stringify(properties[name]?.default) === JSON.stringify(value);
      return !isDefault || required.includes(name);
    }),
  );
}

/** Fields that the model knows, from a task or an example. */
export function knownFields({ properties = {} }: Schema, input: Input): Input {
  return Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(properties, name)));
}

/** An example of the model; the media URLs in it do not exist. */
export function exampleInput({ input_schema: schema, examples }: ModelDetail, index: number): Input {
  const { properties = {} } = schema as Schema;
  return Object.fromEntries(
    Object.entries(examples[index] ?? {}).filter(([name]) => {
      const field = properties[name] ?? {};
      return mediaKindOf(field) === undefined && mediaKindOf(field.items ?? {}) === undefined;
    }),
  );
}

/** Another seed; undefined if the model takes none. */
export function anotherSeed({ properties = {} }: Schema): number | undefined {
  const { seed } = properties;
  if (seed?.type !== 'integer') return undefined;
  const least = seed.minimum ?? 0;
  const most = seed.maximum ?? MAX_SEED;
  return least + Math.floor(Math.random() * (most - least + 1));
}
