/**
 * Speech: `POST {baseUrl}/audio/speech`, whose response is the audio itself. Source: the openai-openapi document
 * (CreateSpeechRequest).
 *
 * Our names for two of its fields are `text` and `format` (spec §2.5); the others are the provider's own.
 */
import { ProviderFailure } from '../provider.ts';
import type { Provider } from '../provider.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { rejectionReason } from './rejections.ts';
import { withoutJobs } from './without-jobs.ts';

export function createSpeech(calls: UpstreamCalls): Provider {
  return {
    ...withoutJobs(calls),

    async submit(request, call) {
      const { upstream } = request;
      const { text, format, ...fields } = { ...request.input, ...upstream.parameters };
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
      });
      if (byteLength === 0) throw new ProviderFailure('no_output');
      return { kind: 'done', files: [{ from: 'file', path }] };
    },
  };
}
