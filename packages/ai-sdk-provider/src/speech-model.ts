/** Speech, by the endpoint of OpenAI's form: the file of each model says what becomes of its fields. */
import type { SharedV4Warning, SpeechModelV4 } from '@ai-sdk/provider';
import type { Darkroom } from '@darkroom/sdk';
import { translateErrors } from './errors.ts';

const PATH = '/audio/speech';
/** A voice that models with OpenAI's names have. */
const VOICE = 'alloy';

export function createSpeechModel(client: Darkroom, modelId: string): SpeechModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'darkroom.speech',
    modelId,
    async doGenerate(options) {
      const { text, voice = VOICE, outputFormat, instructions, speed, language, providerOptions } = options;
      const warnings: SharedV4Warning[] = [];
      if (language !== undefined) warnings.push({ type: 'unsupported', feature: 'language' });
      const fields = { model: modelId, input: text, voice, response_format: outputFormat, instructions, speed };
      const body = { ...fields, ...providerOptions?.['darkroom'] };
      return translateErrors(client.baseUrl + PATH, async () => {
        const request = { body, headers: { 'Idempotency-Key': `ai-sdk-${crypto.randomUUID()}` } };
        const response = await client.fetch('POST', PATH, request, {
          signal: options.abortSignal,
          timeoutMs: MAX_WAIT_MS,
        });
        return {
          audio: new Uint8Array(await response.arrayBuffer()),
          warnings,
          response: { timestamp: new Date(), modelId, headers: Object.fromEntries(response.headers) },
        };
      });
    },
  };
}

/** The response waits for the task: as long as audio may take (contract §4.9). */
const MAX_WAIT_MS = 900_000;
