/** Model definitions for tests, as a model file would contain them. */
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { TEXT_FEATURES } from '@darkroom/api/facts/text-features';
import type { TextModelDefinition } from '../../src/catalogue/text-definition.ts';

/** A valid definition, with the changes that a test needs. */
export function definition(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  return {
    name: 'acme/images',
    modality: 'image',
    ownedBy: 'acme',
    created: 1_763_683_200,
    description: 'For tests.',
    routes: { default: { upstreams: [{ protocol: 'embedded', model: 'scene' }] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 2000 },
        resolution: { type: 'string', enum: ['1k', '2k'] },
      },
    },
    pricing: { unit: 'image', usd: '0.01', by: { field: 'resolution', usd: { '1k': '0.01', '2k': '0.025' } } },
    limits: { queuedSeconds: 3600, handlingSeconds: 600, archivingSeconds: 600 },
    typicalSeconds: 1,
    examples: [{ prompt: 'a fox' }],
    ...changes,
  };
}

/** A model that answers OpenAI's images. */
export function compatibleDefinition(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  const { inputSchema } = definition();
  return definition({
    name: 'acme/compatible',
    inputSchema: {
      ...inputSchema,
      properties: { ...(inputSchema['properties'] as object), count: { type: 'integer', minimum: 1, maximum: 4 } },
    },
    dialects: {
      openai: {
        'images/generations': {
          prompt: { field: 'prompt' },
          n: { field: 'count' },
          size: { values: { auto: {}, '1024x1024': { resolution: '1k' }, '2048x2048': { resolution: '2k' } } },
        },
      },
    },
    ...changes,
  });
}

/** A model that answers OpenAI's edits, of up to three images and a mask. */
export function compatibleEditDefinition(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  const image = { type: 'string', minLength: 1, maxLength: 2048, contentMediaType: 'image/*' };
  return definition({
    name: 'acme/compatible-edit',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt', 'image_urls'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 2000 },
        image_urls: { type: 'array', minItems: 1, maxItems: 3, items: image },
        mask_url: image,
        count: { type: 'integer', minimum: 1, maximum: 4 },
      },
    },
    pricing: { unit: 'image', usd: '0.01' },
    examples: [{ prompt: 'a fox', image_urls: ['https://example.com/a.png'] }],
    dialects: {
      openai: {
        'images/edits': {
          image: { field: 'image_urls' },
          mask: { field: 'mask_url' },
          prompt: { field: 'prompt' },
          n: { field: 'count' },
        },
      },
    },
    ...changes,
  });
}

/** The same for one image, without a mask. */
export function compatibleRetouchDefinition(): ModelDefinition {
  return compatibleEditDefinition({
    name: 'acme/compatible-retouch',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt', 'image'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 2000 },
        image: { type: 'string', maxLength: 2048, contentMediaType: 'image/*' },
      },
    },
    examples: [{ prompt: 'a fox', image: 'https://example.com/a.png' }],
    dialects: { openai: { 'images/edits': { image: { field: 'image' }, prompt: { field: 'prompt' } } } },
  });
}

/** A model that answers OpenAI's speech. */
export function compatibleSpeechDefinition(): ModelDefinition {
  return definition({
    name: 'acme/compatible-speech',
    modality: 'audio',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['text', 'voice'],
      properties: {
        text: { type: 'string', minLength: 1, maxLength: 1000, pattern: '\\S' },
        voice: { type: 'string', enum: ['slt', 'rms'] },
        format: { type: 'string', enum: ['mp3', 'wav', 'pcm'] },
      },
    },
    pricing: { unit: 'character', usd: '0.0001', text: { field: 'text' } },
    examples: [{ text: 'Hello.', voice: 'slt' }],
    dialects: {
      openai: {
        'audio/speech': {
          input: { field: 'text' },
          voice: { values: { alloy: { voice: 'slt' }, onyx: { voice: 'rms' } } },
          response_format: { field: 'format' },
        },
      },
    },
  });
}

/** A model that answers OpenAI's transcriptions. */
export function compatibleTranscriptionDefinition(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  return definition({
    name: 'acme/compatible-transcription',
    modality: 'transcription',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['audio_url'],
      properties: {
        audio_url: { type: 'string', maxLength: 2048, contentMediaType: 'audio/*' },
        language: { type: 'string', pattern: '^[a-z]{2}$' },
        translate: { type: 'boolean', default: false },
        formats: { type: 'array', items: { enum: ['text', 'json', 'srt', 'vtt'] }, minItems: 1, uniqueItems: true },
        max_seconds: { type: 'integer', minimum: 1, maximum: 60, default: 60 },
      },
    },
    pricing: { unit: 'input_second', usd: '0.001', hold: { field: 'max_seconds', default: 60 } },
    examples: [{ audio_url: 'https://example.com/a.mp3' }],
    dialects: {
      openai: {
        'audio/translations': {
          file: { field: 'audio_url' },
          response_format: {
            values: {
              json: { formats: ['json'], translate: true },
              text: { formats: ['text'], translate: true },
              srt: { formats: ['srt'], translate: true },
              vtt: { formats: ['vtt'], translate: true },
              verbose_json: { formats: ['json'], translate: true },
            },
          },
        },
        'audio/transcriptions': {
          file: { field: 'audio_url' },
          language: { field: 'language' },
          response_format: {
            values: {
              json: { formats: ['json'] },
              text: { formats: ['text'] },
              srt: { formats: ['srt'] },
              vtt: { formats: ['vtt'] },
              verbose_json: { formats: ['json'] },
            },
          },
        },
      },
    },
    ...changes,
  });
}

/** A model that answers OpenAI's videos. */
export function compatibleVideoDefinition(changes: Partial<ModelDefinition> = {}): ModelDefinition {
  return definition({
    name: 'acme/compatible-video',
    modality: 'video',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 2000 },
        duration: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
        aspect_ratio: { type: 'string', enum: ['16:9', '9:16'], default: '16:9' },
        style: { type: 'string', enum: ['ink', 'oil'] },
        image_urls: {
          type: 'array',
          maxItems: 1,
          items: { type: 'string', minLength: 1, maxLength: 2048, contentMediaType: 'image/*' },
        },
        video_url: { type: 'string', minLength: 1, maxLength: 2048, contentMediaType: 'video/*' },
      },
    },
    pricing: { unit: 'second', usd: '0.01', duration: { field: 'duration', default: 5 } },
    dialects: {
      openai: {
        videos: {
          prompt: { field: 'prompt' },
          seconds: { field: 'duration' },
          size: { values: { '1280x720': { aspect_ratio: '16:9' }, '720x1280': { aspect_ratio: '9:16' } } },
          input_reference: { field: 'image_urls' },
        },
        'videos/remix': { prompt: { field: 'prompt' }, video: { field: 'video_url' } },
      },
    },
    ...changes,
  });
}

/** The same with more routes than the default one. */
export function definitionWithRoutes(...names: string[]): ModelDefinition {
  const route = { upstreams: [{ protocol: 'embedded', model: 'scene' }] };
  return definition({ routes: Object.fromEntries(['default', ...names].map((name) => [name, route])) });
}

/** A valid text model, served by the offline text model. */
export function textDefinition(changes: Partial<TextModelDefinition> = {}): TextModelDefinition {
  return {
    name: 'acme/text',
    modality: 'text',
    ownedBy: 'acme',
    created: 1_763_683_200,
    description: 'For tests.',
    upstreams: [{ protocol: 'embedded', model: 'conformance' }],
    contextTokens: 128_000,
    maxOutputTokens: 4_096,
    features: [...TEXT_FEATURES],
    pricing: { unit: 'token', inputUsd: '1', cachedInputUsd: '0.1', outputUsd: '4' },
    ...changes,
  };
}
