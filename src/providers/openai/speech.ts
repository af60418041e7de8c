/**
 * Speech: `POST {baseUrl}/audio/speech`, whose response is the audio itself. Source: the openai-openapi document
 * (CreateSpeechRequest).
 *
 * Our names for two of its fields are `text` and `format` (spec §2.5); the others are the provider's own. The format
 * `pcm` is raw samples of 16 bits, which become a WAV file: their bytes do not show what they are.
 */
import { open } from 'node:fs/promises';
import { findWavSamples, isWav, wavHead } from '../../domain/wav.ts';
import type { SampleFormat } from '../../domain/wav.ts';
import { ProviderFailure } from '../provider.ts';
import type { Provider } from '../provider.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { rejectionReason } from './rejections.ts';
import { withoutJobs } from './without-jobs.ts';

/** "24kHz (16-bit signed, low-endian)": what the document says of `pcm`, on one channel. */
const DOCUMENTED: SampleFormat = { rate: 24_000, channels: 1 };

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
