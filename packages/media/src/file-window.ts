/**
 * A file that is read from front to back in growing pieces: a reader of a format asks for the bytes at a position, and
 * what it skips is not read. Nothing is kept but the last piece.
 */
import type { ByteSource } from './byte-source.ts';

/** Enough for nearly every image. */
const FIRST_BYTES = 16 * 1024;
const MOST_BYTES = 1024 * 1024;

export class FileWindow {
  readonly sizeBytes: number;
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #nextBytes = FIRST_BYTES;

  constructor(source: ByteSource) {
    this.#source = source;
    this.sizeBytes = source.sizeBytes;
  }

  /** All bytes from a position on that are at hand, at least `least` of them unless the file ends before. */
  async from(position: number, least: number): Promise<Buffer> {
    const missing = Math.min(position + least, this.sizeBytes) > this.#start + this.#bytes.length;
    if (position < this.#start || missing) {
      const end = Math.min(position + Math.max(least, this.#nextBytes), this.sizeBytes);
      this.#bytes = position < end ? await this.#source.read(position, end) : Buffer.alloc(0);
      this.#start = position;
      this.#nextBytes = Math.min(this.#nextBytes * 2, MOST_BYTES);
    }
    return this.#bytes.subarray(position - this.#start);
  }

  /** `length` bytes from a position on, fewer if the file ends before. */
  async at(position: number, length: number): Promise<Buffer> {
    return (await this.from(position, length)).subarray(0, length);
  }
}
