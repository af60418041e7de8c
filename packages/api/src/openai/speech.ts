/** `POST /audio/speech` (contract §10): OpenAI's public API. Null is the same as absent. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { enumOf, number, string } from './optional-parts.ts';

const DECLARED = 'Rejected if the model does not have it, unless it is the default.';

export const SpeechRequestSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The model name, as returned by `GET /v1/models`; its `endpoints` list this path.',
    }),
    input: Type.String({ minLength: 1, maxLength: 10_000, description: 'The text to speak.' }),
    voice: Type.String({ minLength: 1, maxLength: 100, description: 'A voice of the model.' }),
    instructions: string(4_096, `How to speak. ${DECLARED}`),
    response_format: string(100, `The format of the file: \`mp3\`, \`opus\`, \`aac\`, \`flac\`, \`wav\`. ${DECLARED}`),
    speed: number(0.25, 4, `The speed, 1 by default. ${DECLARED}`),
    stream_format: enumOf(
      ['audio', 'sse'],
      '`audio`, the default: the response is the file. `sse`: it consists of events with the bytes of the file in base64.',
    ),
  },
  { additionalProperties: false },
);

export type SpeechRequest = Static<typeof SpeechRequestSchema>;
