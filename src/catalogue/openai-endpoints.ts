/**
 * OpenAI's media endpoints and their fields, as far as a model file can map them to the model's input
 * (`dialects.openai`). Fields that an endpoint handles itself are not here: `model`, `user`, `stream`, and of images
 * `response_format`.
 */
import { Type } from 'typebox';
import type { Static, TProperties } from 'typebox';
import type { TaskModality } from '@darkroom/api/facts/modalities';

/** A field of an endpoint. */
export interface EndpointField {
  /** Whether every request has it. */
  readonly isRequired?: true;
  /**
   * The values that change nothing for a model that does not have the field: OpenAI's default, and what its older
   * models had instead.
   */
  readonly defaults?: readonly (string | number | boolean)[];
  /** Whether it is a file, or several: the model's field takes their URLs, in a list if it takes one. */
  readonly isFile?: true;
  /** Clients send a number in a string; it is passed on in the type that the model has. */
  readonly isNumberInString?: true;
  /**
   * The model may require it although not every request has it: a request without it is then rejected by its name.
   */
  readonly mayBeRequired?: true;
  /** A model without it serves the request all the same: it is left out, and the response says so. */
  readonly isOptionalHint?: true;
}

export interface MediaEndpoint {
  readonly path: string;
  readonly modality: TaskModality;
  readonly fields: Readonly<Record<string, EndpointField>>;
}

/** By the name in a model file. */
export const MEDIA_ENDPOINTS = {
  'images/generations': {
    path: '/v1/images/generations',
    modality: 'image',
    fields: {
      prompt: { isRequired: true },
      n: { defaults: [1] },
      size: { defaults: ['auto'] },
      quality: { defaults: ['auto', 'standard'] },
      background: { defaults: ['auto'] },
      moderation: { defaults: ['auto'] },
      output_format: { defaults: ['png'] },
      output_compression: { defaults: [100] },
      style: { defaults: ['vivid'] },
    },
  },
  'images/edits': {
    path: '/v1/images/edits',
    modality: 'image',
    fields: {
      image: { isRequired: true, isFile: true },
      prompt: { isRequired: true },
      mask: { isFile: true },
      n: { defaults: [1] },
      size: { defaults: ['auto'] },
      quality: { defaults: ['auto', 'standard'] },
      background: { defaults: ['auto'] },
      input_fidelity: { defaults: ['low'] },
      moderation: { defaults: ['auto'] },
      output_format: { defaults: ['png'] },
      output_compression: { defaults: [100] },
    },
  },
  'audio/speech': {
    path: '/v1/audio/speech',
    modality: 'audio',
    fields: {
      input: { isRequired: true },
      voice: { isRequired: true },
      instructions: { isOptionalHint: true },
      response_format: { defaults: ['mp3'] },
      speed: { defaults: [1] },
    },
  },
  'audio/transcriptions': {
    path: '/v1/audio/transcriptions',
    modality: 'transcription',
    fields: {
      file: { isRequired: true, isFile: true },
      language: {},
      prompt: {},
      response_format: { defaults: ['json'] },
      temperature: { defaults: [0] },
    },
  },
  'audio/translations': {
    path: '/v1/audio/translations',
    modality: 'transcription',
    fields: {
      file: { isRequired: true, isFile: true },
      prompt: {},
      response_format: { defaults: ['json'] },
      temperature: { defaults: [0] },
    },
  },
  videos: {
    path: '/v1/videos',
    modality: 'video',
    // Without OpenAI's defaults for length and size: they are those of its own models.
    fields: {
      prompt: { isRequired: true },
      seconds: { isNumberInString: true },
      size: {},
      input_reference: { isFile: true, mayBeRequired: true },
    },
  },
  'videos/remix': {
    path: '/v1/videos/{videoId}/remix',
    modality: 'video',
    fields: {
      prompt: { isRequired: true },
      video: { isRequired: true, isFile: true },
    },
  },
} as const satisfies Readonly<Record<string, MediaEndpoint>>;

export type MediaEndpointName = keyof typeof MEDIA_ENDPOINTS;

/**
 * What a model does with a field: it has it under a name of its own (`field`), or has the listed values alone, each of
 * which sets fields of its input (`values`).
 */
const FieldRuleSchema = Type.Object(
  {
    field: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    values: Type.Optional(
      Type.Record(Type.String({ maxLength: 100 }), Type.Record(Type.String(), Type.Unknown()), { minProperties: 1 }),
    ),
  },
  { additionalProperties: false },
);

export type FieldRule = Static<typeof FieldRuleSchema>;
export type EndpointRules = Readonly<Record<string, FieldRule>>;

const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

function rulesOf({ fields }: MediaEndpoint) {
  const rules = Object.keys(fields).map((name) => [name, Type.Optional(FieldRuleSchema)] as const);
  return Type.Optional(Type.Unsafe<EndpointRules>(closed(Object.fromEntries(rules))));
}

/** `dialects` of a model file. */
export const DialectsSchema = closed({
  openai: Type.Optional(
    closed({
      'images/generations': rulesOf(MEDIA_ENDPOINTS['images/generations']),
      'images/edits': rulesOf(MEDIA_ENDPOINTS['images/edits']),
      'audio/speech': rulesOf(MEDIA_ENDPOINTS['audio/speech']),
      'audio/transcriptions': rulesOf(MEDIA_ENDPOINTS['audio/transcriptions']),
      'audio/translations': rulesOf(MEDIA_ENDPOINTS['audio/translations']),
      videos: rulesOf(MEDIA_ENDPOINTS.videos),
      'videos/remix': rulesOf(MEDIA_ENDPOINTS['videos/remix']),
    }),
  ),
});
