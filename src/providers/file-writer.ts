/** Writes the body of a response to a file as it arrives, no faster than the disk takes it. */
import { createWriteStream } from 'node:fs';
import { CollectedBytes } from '@darkroom/media/collected-bytes';

/**
 * Written at once, and therefore taken from a sender between two pauses. The client reads up to 64 kB from the
 * connection each time it is resumed: a pause after less than that lets its buffer grow without bound.
 */
const BLOCK_BYTES = 256 * 1024;

/** A file that an upstream sent as its response. */
export interface ReceivedFile {
  readonly path: string;
  readonly byteLength: number;
}

/** What is being written. */
export interface FileWriter {
  /** How much was written or is about to be. */
  readonly byteLength: number;
  write(chunk: Buffer): void;
  /** @returns the complete file; undefined if it could not be written. */
  finish(): Promise<ReceivedFile | undefined>;
  /** Stops writing; what was written may remain, and goes with its directory. */
  discard(): void;
}

/** The sender, which can be made to wait. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/** @param onError is called once if the file cannot be written. */
export function createFileWriter(path: string, sender: Pausable, onError: () => void): FileWriter {
  const stream = createWriteStream(path, { flags: 'w' });
  const block = new CollectedBytes();
  let byteLength = 0;
  let isFailed = false;
  stream.on('drain', () => sender.resume());
  stream.on('error', () => {
    isFailed = true;
    onError();
  });
  return {
    get byteLength() {
      return byteLength;
    },
    write(chunk) {
      byteLength += chunk.length;
      block.push(chunk);
      if (block.length >= BLOCK_BYTES && !stream.write(block.take())) sender.pause();
    },
    finish: () =>
      new Promise((resolve) => {
        stream.once('close', () => resolve(isFailed ? undefined : { path, byteLength }));
        stream.end(block.take());
      }),
    discard() {
      stream.destroy();
    },
  };
}
