/**
 * The head of a WAV file with raw samples: 16 bits, little-endian. Providers send `pcm` without one; a stored file has
 * one, because nothing else says how fast and on how many channels its samples are to be played.
 */

/** How raw samples are played. */
export interface SampleFormat {
  /** In Hz. */
  readonly rate: number;
  readonly channels: number;
}

const BYTES_PER_SAMPLE = 2;
const HEAD_BYTES = 44;
/** What a size is while the file is still being written. */
const UNKNOWN_SIZE = 0xffff_ffff;
const PCM = 1;
/** Its own format follows in the chunk, and is PCM where samples have 16 bits. */
const EXTENSIBLE = 0xfffe;
/** The samples begin within these bytes. */
export const MAX_WAV_HEAD_BYTES = 64 * 1024;

/** @param sampleBytes how many bytes follow; undefined: not known yet. */
export function wavHead({ rate, channels }: SampleFormat, sampleBytes?: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  const frameBytes = channels * BYTES_PER_SAMPLE;
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(sampleBytes === undefined ? UNKNOWN_SIZE : sampleBytes + HEAD_BYTES - 8, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(PCM, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frameBytes, 28);
  head.writeUInt16LE(frameBytes, 32);
  head.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(sampleBytes ?? UNKNOWN_SIZE, 40);
  return head;
}

/** Whether a file begins as a WAV file. */
export function isWav(beginning: Buffer): boolean {
  return beginning.toString('latin1', 0, 4) === 'RIFF' && beginning.toString('latin1', 8, 12) === 'WAVE';
}

/** Where a WAV file has its samples. */
export interface WavSamples extends SampleFormat {
  readonly start: number;
  /** Infinity: to the end of the file. */
  readonly byteLength: number;
}

/** @returns undefined: the bytes do not hold the head of a WAV file with samples of 16 bits. */
export function findWavSamples(beginning: Buffer): WavSamples | undefined {
  if (!isWav(beginning)) return undefined;
  let format: SampleFormat | undefined;
  for (let at = 12; at + 8 <= beginning.length;) {
    const name = beginning.toString('latin1', at, at + 4);
    const size = beginning.readUInt32LE(at + 4);
    const start = at + 8;
    if (name === 'data') {
      const isUnknown = size === UNKNOWN_SIZE || size === 0;
      return format === undefined ? undefined : { ...format, start, byteLength: isUnknown ? Infinity : size };
    }
    if (name === 'fmt ') {
      if (start + 16 > beginning.length) return undefined;
      const kind = beginning.readUInt16LE(start);
      const bits = beginning.readUInt16LE(start + 14);
      if ((kind !== PCM && kind !== EXTENSIBLE) || bits !== BYTES_PER_SAMPLE * 8) return undefined;
      format = { rate: beginning.readUInt32LE(start + 4), channels: beginning.readUInt16LE(start + 2) };
    }
    // Chunks begin at even positions.
    at = start + size + (size % 2);
  }
  return undefined;
}
