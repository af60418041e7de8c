/**
 * Audio: speech and transcriptions. Source: the openai-openapi document (CreateSpeechRequest,
 * CreateTranscriptionRequest, CreateTranscriptionResponseVerboseJson, CreateTranscriptionResponseDiarizedJson,
 * CreateTranslationRequest).
 */
import { open } from 'node:fs/promises';
import { extensionFor } from '@darkroom/media/media-types';
import type { Consumption } from '../../domain/provider-usage.ts';
import { findWavSamples, isWav, wavHead } from '../../domain/wav.ts';
import type { SampleFormat } from '../../domain/wav.ts';
import { FORMATS_FIELD } from '../../transcripts/formats.ts';
import { transcriptOf } from '../../transcripts/transcript.ts';
import { consumptionOf } from '../consumption.ts';
import { textAt, valueAt } from '../json-answer.ts';
import { filesOfTranscript } from '../output-files.ts';
import { ProviderFailure } from '../provider.ts';
import type { GenerationRequest, Provider } from '../provider.ts';
import { createForm, textParts } from '../request-body.ts';
import type { RequestBody } from '../request-body.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { rejectionReason, withoutJobs } from './conventions.ts';

/** "24kHz (16-bit signed, low-endian)": what the document says of `pcm`, on one channel. */
const DOCUMENTED: SampleFormat = { rate: 24_000, channels: 1 };

/**
 * Fields of a transcription's input that are ours and not sent: the files that are made of the transcript, what the
 * price is held for, and whether it is a translation. The other fields are the provider's own.
 */
const OWN_FIELDS = [FORMATS_FIELD, 'max_seconds', 'translate'];

/**
 * `POST {baseUrl}/audio/speech`, whose response is the audio itself. Our names for two of its fields are `text` and
 * `format` (spec §2.5); the others are the provider's own. The format `pcm` is raw samples of 16 bits, which become a
 * WAV file: their bytes do not show what they are.
 */
export function createSpeech(calls: UpstreamCalls): Provider {
  return {
    ...withoutJobs(calls),

    async submit(request, call) {
      const { upstream } = request;
      const { text, format, ...fields } = { ...request.input, ...upstream.parameters };
      const isRaw = (format ?? fields['response_format']) === 'pcm';
      const { path, byteLength } = await calls.submitForFile(request, call, {
        path: '/audio/speech',
        body: {
          ...fields,
          ...(text === undefined ? {} : { input: text }),
          ...(format === undefined ? {} : { response_format: format }),
          model: upstream.model,
        },
        isSynchronous: true,
        rejectionReason,
        ...(isRaw && {
          fileHead: (contentType: string, beginning: Buffer) =>
            isWav(beginning) ? undefined : wavHead(sampleFormatOf(contentType, fields['sample_rate'])),
        }),
      });
      if (byteLength === 0) throw new ProviderFailure('no_output');
      if (isRaw) await completeHead(path, byteLength);
      return { kind: 'done', files: [{ from: 'file', path }] };
    },
  };
}

/** What the server states (`audio/pcm;rate=16000`), then what was requested. */
function sampleFormatOf(contentType: string, requestedRate: unknown): SampleFormat {
  const stated = (parameter: RegExp): number | undefined => Number(parameter.exec(contentType)?.[1]) || undefined;
  const requested = Number.isInteger(requestedRate) && Number(requestedRate) > 0 ? Number(requestedRate) : undefined;
  return {
    rate: stated(/\brate="?(\d{1,6})\b/i) ?? requested ?? DOCUMENTED.rate,
    channels: Math.min(stated(/\bchannels="?(\d{1,2})\b/i) ?? DOCUMENTED.channels, 8),
  };
}

/** The sizes are known once the file is complete. */
async function completeHead(path: string, byteLength: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
    const samples = findWavSamples(buffer.subarray(0, bytesRead));
    if (samples?.byteLength !== Infinity) return;
    const head = wavHead(samples, byteLength - samples.start);
    if (head.length === samples.start) await file.write(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
}

/**
 * `POST {baseUrl}/audio/transcriptions`, or for an input with `translate` `/audio/translations`, a form with the file,
 * whose response has the text and, as `verbose_json`, the times. A binding for a model that has another
 * `response_format` sets it in its `parameters`.
 */
export function createTranscriptions(calls: UpstreamCalls): Provider {
  return {
    ...withoutJobs(calls),

    async submit(request, call) {
      const json = await calls.submit(request, call, {
        path: isTranslation(request) ? '/audio/translations' : '/audio/transcriptions',
        content: await formOf(request),
        isSynchronous: true,
        rejectionReason,
      });
      const transcript = transcriptOf(json);
      const consumption = consumed(json);
      const files = transcript === undefined ? [] : filesOfTranscript(transcript, request.input);
      if (files.length === 0) throw new ProviderFailure('no_output', { consumption });
      return { kind: 'done', files, ...consumption };
    },
  };
}

function isTranslation({ input }: GenerationRequest): boolean {
  return input['translate'] === true;
}

async function formOf(request: GenerationRequest): Promise<RequestBody> {
  const { upstream, input, media = new Map() } = request;
  const mediaFields = [...media.keys()].map((fieldPath) => fieldPath.split('.')[0] ?? '');
  const fields = { response_format: 'verbose_json', ...input, ...upstream.parameters, model: upstream.model };
  // "The audio file object": one. Its name is what the type is known by.
  const files = [...media.values()].slice(0, 1).map((file) => ({
    name: 'file',
    file,
    fileName: `audio.${extensionFor(file.mimeType)}`,
  }));
  // A translation finds out the language by itself, and has no such field.
  const unsent = [...mediaFields, ...OWN_FIELDS, ...(isTranslation(request) ? ['language'] : [])];
  return createForm([...textParts(fields, new Set(unsent)), ...files]);
}

/** "usage", by seconds or by tokens; older models and most servers report only `duration`. */
function consumed(json: unknown): Consumption {
  const isByTokens = textAt(json, 'usage', 'type') === 'tokens';
  const usage = {
    inputSeconds: secondsOf(valueAt(json, 'usage', 'seconds') ?? valueAt(json, 'duration')),
    ...(isByTokens
      ? {
          inputTokens: valueAt(json, 'usage', 'input_tokens'),
          outputTokens: valueAt(json, 'usage', 'output_tokens'),
          totalTokens: valueAt(json, 'usage', 'total_tokens'),
        }
      : {}),
  };
  return consumptionOf({ usage });
}

/** The document has a number; its examples, and some servers, a decimal text. */
function secondsOf(value: unknown): unknown {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
}
