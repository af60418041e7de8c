/** `POST /audio/speech` (contract §10): OpenAI's public API. Null is the same as absent. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { END_USER, enumOf, number, string } from './optional-parts.ts';

const DECLARED = 'Rejected if the model does not have it, unless it is the default.';

/** A voice as an object; it has one of the two. */
interface SpeechVoice {
  readonly id?: string;
  readonly name?: string;
}

export const SpeechRequestSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The model name, as returned by `GET /v1/models`; its `endpoints` list this path.',
    }),
    input: Type.String({ minLength: 1, maxLength: 10_000, description: 'The text to speak.' }),
    voice: Type.Unsafe<string | SpeechVoice>({
      type: ['string', 'object'],
      minLength: 1,
      maxLength: 100,
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 100 },
        name: { type: 'string', minLength: 1, maxLength: 100 },
      },
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      description: 'A voice of the model: its name, or an object with it as `id` or `name`.',
    }),
    instructions: string(4_096, 'How to speak. Ignored, with a warning in the headers, if the model does not have it.'),
    response_format: string(
      100,
      `The format of the file: \`mp3\`, \`opus\`, \`aac\`, \`flac\`, \`wav\` or \`pcm\`: raw samples of 16 bits, signed and little-endian. ${DECLARED}`,
    ),
    speed: number(0.25, 4, `The speed, 1 by default. ${DECLARED}`),
    stream_format: enumOf(
      ['audio', 'sse'],
      '`audio`, the default: the response is the file. `sse`: it consists of events with the bytes of the file in base64.',
    ),
    ...END_USER,
  },
  { additionalProperties: false },
);

export type SpeechRequest = Static<typeof SpeechRequestSchema>;

const NAMED = Type.Object({ id: Type.String(), name: Type.String() });

/** What Open WebUI reads of a server of speech: not part of OpenAI's API. */
export const SpeechModelsSchema = Type.Object({ models: Type.Array(NAMED) });
export const VoicesSchema = Type.Object({ voices: Type.Array(NAMED) });

export const VoicesQuerySchema = Type.Object(
  { model: Type.Optional(Type.String({ maxLength: 300, description: 'A model name. Default: the voices of all.' })) },
  { additionalProperties: false },
);
