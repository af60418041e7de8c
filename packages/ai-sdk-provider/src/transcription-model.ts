/** Transcriptions, by the endpoint of OpenAI's form: the recording is stored, and a task transcribes it. */
import { InvalidResponseDataError } from '@ai-sdk/provider';
import type { SharedV4Warning, TranscriptionModelV4 } from '@ai-sdk/provider';
import type { Darkroom } from '@darkroom/sdk';
import { translateErrors } from './errors.ts';
import { languageCode } from './language-code.ts';
import { bytesOf } from './task-input.ts';

const PATH = '/audio/transcriptions';
/** The recording is sent, and the response waits for the task. */
const MAX_WAIT_MS = 3_600_000;

/** What is used of `verbose_json`. */
interface Transcript {
  readonly text: string;
  readonly language?: string;
  readonly duration?: number;
  readonly segments?: readonly { readonly text: string; readonly start: number; readonly end: number }[];
}

export function createTranscriptionModel(client: Darkroom, modelId: string): TranscriptionModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'darkroom.transcription',
    modelId,
    async doGenerate(options) {
      const { audio, mediaType, timestampGranularities = [], providerOptions, abortSignal: signal } = options;
      const warnings: SharedV4Warning[] = [];
      if (timestampGranularities.includes('word')) {
        warnings.push({ type: 'unsupported', feature: 'timestampGranularities', details: 'only segments have times' });
      }
      const form = new FormData();
      form.set('model', modelId);
      form.set('response_format', 'verbose_json');
      for (const [name, value] of Object.entries(providerOptions?.['darkroom'] ?? {})) {
        form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
      }
      form.set('file', new Blob([bytesOf(audio)], { type: mediaType }), 'recording');
      // Encoded once: each attempt sends the same bytes.
      const body = await new Response(form).blob();
      return translateErrors(client.baseUrl + PATH, async () => {
        const request = { body, headers: { 'Idempotency-Key': `ai-sdk-${crypto.randomUUID()}` } };
        const response = await client.fetch('POST', PATH, request, { signal, timeoutMs: MAX_WAIT_MS });
        const { text, segments = [], language, duration } = transcriptOf(await response.json());
        return {
          text,
          segments: segments.map((segment) => ({
            text: segment.text,
            startSecond: segment.start,
            endSecond: segment.end,
          })),
          language: languageCode(language),
          durationInSeconds: duration,
          warnings,
          response: { timestamp: new Date(), modelId, headers: Object.fromEntries(response.headers) },
        };
      });
    },
  };
}

function transcriptOf(data: unknown): Transcript {
  if (typeof data === 'object' && data !== null && 'text' in data && typeof data.text === 'string') {
    return data as Transcript;
  }
  throw new InvalidResponseDataError({ data, message: 'the response is not a transcript' });
}
