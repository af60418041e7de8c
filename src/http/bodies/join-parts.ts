/** Joins the parts of an upload into one object, read and written as a stream (contract §7.5). */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Part } from '../../objects/multipart-uploads.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import type { Begin, StoredFile } from './store-upload.ts';

/** What was joined. */
export interface JoinedFile extends StoredFile {
  /** Lower-case hex. */
  readonly md5: string;
}

/** @param begin stores the parts, in their order, as one file. */
export async function joinParts(store: ObjectStore, parts: readonly Part[], begin: Begin): Promise<JoinedFile> {
  const md5 = createHash('md5');
  async function* bytes(): AsyncGenerator<Buffer> {
    for (const part of parts) {
      for await (const chunk of await store.read(part.objectKey)) {
        // Both stores read bytes.
        const piece = chunk as Buffer;
        md5.update(piece);
        yield piece;
      }
    }
  }
  const maxBytes = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const stored = await begin(Readable.from(bytes(), { objectMode: false }), { maxBytes });
  return { ...stored, md5: md5.digest('hex') };
}
