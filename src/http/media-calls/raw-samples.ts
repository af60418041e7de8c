/**
 * `response_format: pcm` (contract §10): the samples of a WAV file without its head, as `audio/pcm` with their rate and
 * channels, which no other part of the response says.
 */
import { buffer } from 'node:stream/consumers';
import { MAX_WAV_HEAD_BYTES, findWavSamples } from '../../domain/wav.ts';
import type { SampleFormat, WavSamples } from '../../domain/wav.ts';
import type { ServableOutput } from '../../objects/outputs/outputs.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';

const NOTHING = Buffer.alloc(0);

/** RFC 4856 has these parameters for L16, whose bytes are in the other order. */
export function contentTypeOfSamples({ rate, channels }: SampleFormat): string {
  return `audio/pcm;rate=${rate};channels=${channels}`;
}

/** Takes the samples out of a WAV file that arrives in pieces. */
export class RawSamples {
  #head: Buffer | undefined = NOTHING;
  #bytesLeft = 0;

  /** @throws {RequestError} the file has none. */
  take(bytes: Buffer): Buffer {
    if (this.#head === undefined) return this.#cut(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const samples = findWavSamples(this.#head);
    if (samples === undefined) {
      if (this.#head.length >= MAX_WAV_HEAD_BYTES) throw noSamples();
      return NOTHING;
    }
    const first = this.#head.subarray(samples.start);
    this.#head = undefined;
    this.#bytesLeft = samples.byteLength;
    return this.#cut(first);
  }

  /** What follows the samples is none. */
  #cut(bytes: Buffer): Buffer {
    const taken = bytes.length > this.#bytesLeft ? bytes.subarray(0, this.#bytesLeft) : bytes;
    this.#bytesLeft -= taken.length;
    return taken;
  }
}

/** The samples of a stored file. @throws {RequestError} it has none. */
export async function readSamples(
  { store }: HttpContext,
  { objectKey, sizeBytes }: Pick<ServableOutput, 'objectKey' | 'sizeBytes'>,
): Promise<WavSamples> {
  const end = Math.min(sizeBytes, MAX_WAV_HEAD_BYTES) - 1;
  const samples = findWavSamples(await buffer(await store.read(objectKey, { start: 0, end })));
  const byteLength = Math.min(samples?.byteLength ?? 0, sizeBytes - (samples?.start ?? 0));
  if (samples === undefined || byteLength <= 0) throw noSamples();
  return { ...samples, byteLength };
}

function noSamples(): RequestError {
  return new RequestError('unavailable', 'the file of the task has no raw samples of 16 bits', {
    code: 'no_output',
    headers: { 'x-should-retry': 'false' },
  });
}
