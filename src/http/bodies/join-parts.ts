/**
 * The parts of an upload as one file (contract §7.5). What can be wrong with it is found before anything is written: its
 * hash is computed from the parts as they lie, its type from a source of their bytes.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ByteSource } from '@darkroom/media/byte-source';
import type { Part } from '../../objects/multipart-uploads.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';

/** The bytes of the parts, one after another. */
async function* bytesOf(store: ObjectStore, parts: readonly Part[]): AsyncGenerator<Buffer> {
  for (const { objectKey } of parts) {
    // Both stores read bytes.
    for await (const chunk of await store.read(objectKey)) yield chunk as Buffer;
  }
}

/** A stream of the parts as one file. */
export function joinParts(store: ObjectStore, parts: readonly Part[]): Readable {
  return Readable.from(bytesOf(store, parts), { objectMode: false });
}

/** @returns lower-case hex. */
export async function md5OfParts(store: ObjectStore, parts: readonly Part[]): Promise<string> {
  const md5 = createHash('md5');
  for await (const chunk of bytesOf(store, parts)) md5.update(chunk);
  return md5.digest('hex');
}

/** Identifies which parts were hashed, and in which order. */
export function partsPrint(parts: readonly Part[]): string {
  return createHash('sha256')
    .update(parts.map(({ id }) => id).join())
    .digest('hex');
}

/** The parts as a source of bytes that can be read anywhere. */
export function partsSource(store: ObjectStore, parts: readonly Part[]): ByteSource {
  return {
    sizeBytes: sizeOfParts(parts),
    async read(start, end) {
      const chunks: Buffer[] = [];
      let offset = 0;
      for (const { objectKey, sizeBytes } of parts) {
        const [first, beyond] = [Math.max(start - offset, 0), Math.min(end - offset, sizeBytes)];
        offset += sizeBytes;
        if (first >= beyond) continue;
        const range = { start: first, end: beyond - 1 };
        for await (const chunk of await store.read(objectKey, range)) chunks.push(chunk as Buffer);
      }
      return Buffer.concat(chunks);
    },
  };
}

/** In bytes. */
export function sizeOfParts(parts: readonly Part[]): number {
  return parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
