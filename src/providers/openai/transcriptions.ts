/**
 * Transcriptions: `POST {baseUrl}/audio/transcriptions`, or for an input with `translate` `/audio/translations`, a form
 * with the file, whose response has the text and, as `verbose_json`, the times. Source: the openai-openapi document
 * (CreateTranscriptionRequest, CreateTranscriptionResponseVerboseJson, CreateTranscriptionResponseDiarizedJson,
 * CreateTranslationRequest).
 *
 * Three fields of an input are ours and not sent: `translate`; `formats`, the files that are made of the transcript;
 * and `max_seconds`, which the price is held for. The other fields are the provider's own. A binding for a model that has
 * another `response_format` sets it in its `parameters`.
 */
import { extensionFor } from '@darkroom/media/media-types';
import type { Consumption } from '../../domain/provider-usage.ts';
import { FORMATS_FIELD } from '../../transcripts/formats.ts';
import { transcriptOf } from '../../transcripts/transcript.ts';
import { consumptionOf } from '../consumption.ts';
import { createForm, textParts } from '../form.ts';
import { textAt, valueAt } from '../json-answer.ts';
import { ProviderFailure } from '../provider.ts';
import type { GenerationRequest, Provider } from '../provider.ts';
import type { RequestBody } from '../request-body.ts';
import { filesOfTranscript } from '../transcript-files.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { rejectionReason } from './rejections.ts';
import { withoutJobs } from './without-jobs.ts';

const OWN_FIELDS = [FORMATS_FIELD, 'max_seconds', 'translate'];

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
