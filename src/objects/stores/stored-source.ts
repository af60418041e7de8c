/** A stored object as a source of bytes, for the package that reads media. */
import type { ByteSource } from '@darkroom/media/byte-source';
import type { ObjectStore } from './object-store.ts';

/** Reads fail as `ObjectStore.read` does. */
export function storedSource(store: Pick<ObjectStore, 'read'>, key: string, sizeBytes: number): ByteSource {
  return {
    sizeBytes,
    async read(start, end) {
      const chunks: Buffer[] = [];
      for await (const chunk of await store.read(key, { start, end: end - 1 })) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  };
}
