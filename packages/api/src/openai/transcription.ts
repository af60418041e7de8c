/** `POST /audio/transcriptions` and `/audio/translations` (contract §10): OpenAI's public API, whose request is a form. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { END_USER } from './optional-parts.ts';

const DECLARED = 'Rejected if the model does not have it, unless it is the default.';

const IGNORED = 'Ignored, with a warning in the headers.';

/** The fields of both endpoints. */
const COMMON = {
  model: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'The model name, as returned by `GET /v1/models`; its `endpoints` list this path.',
  }),
  prompt: Type.Optional(Type.String({ maxLength: 10_000, description: `Words that occur. ${DECLARED}` })),
  response_format: Type.Optional(
    Type.String({
      maxLength: 100,
      description: `\`json\`, the default, \`text\`, \`srt\`, \`vtt\` or \`verbose_json\`. ${DECLARED}`,
    }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: `Randomness. ${DECLARED}` })),
  ...END_USER,
};

/** The fields of a transcription beside the file. */
export const TranscriptionRequestSchema = Type.Object(
  {
    ...COMMON,
    language: Type.Optional(Type.String({ maxLength: 100, description: `The language that is spoken. ${DECLARED}` })),
    timestamp_granularities: Type.Optional(
      Type.Array(Type.Unsafe<'segment'>({ type: 'string', enum: ['segment'] }), {
        maxItems: 2,
        description: 'Only `segment`, which `verbose_json` always has. Sent as `timestamp_granularities[]`.',
      }),
    ),
    include: Type.Optional(
      Type.Array(Type.Unsafe<'logprobs'>({ type: 'string', enum: ['logprobs'] }), {
        maxItems: 2,
        description: `Only \`logprobs\`. ${IGNORED} Sent as \`include[]\`.`,
      }),
    ),
    chunking_strategy: Type.Optional(
      Type.Unsafe<'auto'>({
        type: 'string',
        enum: ['auto'],
        description: `Only \`auto\`: how the recording is divided is up to the model. ${IGNORED}`,
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        description: 'Whether the response is a stream of server-sent events. For `json` and `text`.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type TranscriptionRequest = Static<typeof TranscriptionRequestSchema>;

/** The fields of a translation beside the file. */
export const TranslationRequestSchema = Type.Object(COMMON, { additionalProperties: false });

const FILE = {
  file: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: 'The recording, at most 100 MB; a model may take less.',
  }),
};

/** The whole form of a transcription. */
export const TranscriptionFormSchema = Type.Object(
  { ...FILE, ...TranscriptionRequestSchema.properties },
  { additionalProperties: false },
);

/** The whole form of a translation. */
export const TranslationFormSchema = Type.Object({ ...FILE, ...COMMON }, { additionalProperties: false });

const SegmentSchema = Type.Object({
  id: Type.Integer({ minimum: 0 }),
  seek: Type.Integer({ description: 'Always 0: not known.' }),
  start: Type.Number({ description: 'Seconds.' }),
  end: Type.Number({ description: 'Seconds.' }),
  text: Type.String(),
  tokens: Type.Array(Type.Integer(), { description: 'Always empty: not known.' }),
  temperature: Type.Number({ description: 'Always 0: not known.' }),
  avg_logprob: Type.Number({ description: 'Always 0: not known.' }),
  compression_ratio: Type.Number({ description: 'Always 0: not known.' }),
  no_speech_prob: Type.Number({ description: 'Always 0: not known.' }),
});

/** The response for `json`, which has only `text` and `usage`, and for `verbose_json`. */
export const TranscriptionSchema = Type.Object({
  text: Type.String(),
  task: Type.Optional(Type.Unsafe<'transcribe' | 'translate'>({ type: 'string', enum: ['transcribe', 'translate'] })),
  language: Type.Optional(Type.String({ description: 'Empty: not known.' })),
  duration: Type.Optional(Type.Number({ description: 'Seconds.' })),
  segments: Type.Optional(Type.Array(SegmentSchema)),
  usage: Type.Optional(Type.Object({ type: Type.Literal('duration'), seconds: Type.Number() })),
});

export type Transcription = Static<typeof TranscriptionSchema>;
