/** Files in memory as the sources of an inspection. */
import type { ByteSource } from '../src/byte-source.ts';

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** @param ranges gets what is read of it. */
export function sourceOf(bytes: Uint8Array, ranges: ByteRange[] = []): ByteSource {
  return {
    sizeBytes: bytes.byteLength,
    async read(start, end) {
      ranges.push({ start, end });
      return Buffer.from(bytes.subarray(start, end));
    },
  };
}
