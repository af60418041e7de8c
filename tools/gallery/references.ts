/**
 * What models that work on something are given: their examples name addresses that do not exist, and here pictures, films
 * and sounds of this very installation stand in for them.
 */
import type { FieldSchema, Model } from './api.ts';

export type Kind = 'image' | 'video' | 'audio';

export interface Reference {
  readonly kind: Kind;
  readonly url: string;
}

interface Wanted {
  readonly kind: Kind;
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Made by models that take no media. */
const MAKEABLE: readonly Wanted[] = [
  {
    kind: 'image',
    model: 'darkroom/scene',
    input: { prompt: 'A red fishing boat in a quiet harbour, white houses, morning light', aspect_ratio: '3:2' },
  },
  {
    kind: 'image',
    model: 'darkroom/scene',
    input: { prompt: 'A forest of birches in autumn, watercolour', aspect_ratio: '1:1' },
  },
  {
    kind: 'image',
    model: 'darkroom/scene',
    input: { prompt: 'Mountains above a lake at dusk, full moon, oil painting', aspect_ratio: '16:9' },
  },
  {
    kind: 'video',
    model: 'darkroom/motion',
    input: { prompt: 'Waves roll onto a beach at sunset, gulls', duration: 4, resolution: '480p', seed: 4 },
  },
  {
    kind: 'video',
    model: 'darkroom/motion',
    input: { prompt: 'A train of clouds over snowy mountains', duration: 4, resolution: '480p', seed: 5 },
  },
  {
    kind: 'audio',
    model: 'darkroom/instrumental',
    input: { prompt: 'Calm acoustic guitar and strings, 80 bpm', duration: 12, seed: 6 },
  },
];

/** Those references that some of the models take. */
export function referencesNeeded(models: readonly Model[]): readonly Wanted[] {
  const kinds = new Set(
    models.flatMap(({ input_schema: schema }) => Object.values(schema.properties ?? {}).flatMap((field) => kindOf(field) ?? [])),
  );
  return MAKEABLE.filter(({ kind }) => kinds.has(kind));
}

/** An example with what was made in the place of what it names. */
export function withReferences(
  { input_schema: schema }: Model,
  example: Readonly<Record<string, unknown>>,
  references: readonly Reference[],
): Readonly<Record<string, unknown>> {
  const next = new Map<Kind, number>();
  const pick = (kind: Kind): string => {
    const found = references.filter((reference) => reference.kind === kind);
    const place = next.get(kind) ?? 0;
    next.set(kind, place + 1);
    const reference = found[place % found.length];
    if (reference === undefined) throw new Error(`there is no ${kind} to work on`);
    return reference.url;
  };
  const entries = Object.entries(example).map(([name, value]) => {
    const field = schema.properties?.[name];
    const kind = field === undefined ? undefined : kindOf(field);
    if (kind === undefined || (typeof value === 'string' && value.startsWith('data:'))) return [name, value] as const;
    return [name, Array.isArray(value) ? value.map(() => pick(kind)) : pick(kind)] as const;
  });
  return Object.fromEntries(entries);
}

function kindOf(field: FieldSchema): Kind | undefined {
  const type = (field.contentMediaType ?? field.items?.contentMediaType)?.split('/')[0];
  return type === 'image' || type === 'video' || type === 'audio' ? type : undefined;
}
