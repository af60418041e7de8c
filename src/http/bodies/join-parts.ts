/** Joins the parts of an upload into one object, read and written as a stream (contract §7.5). */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Part } from '../../objects/multipart-uploads.ts';
import type { ObjectStore, PutResult } from '../../objects/stores/object-store.ts';

/** What was joined. */
export interface JoinedObject extends PutResult {
  /** Lower-case hex. */
  readonly md5: string;
}

/** Stores the parts, in their order, under another key. */
export async function joinParts(store: ObjectStore, parts: readonly Part[], objectKey: string): Promise<JoinedObject> {
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
  const stored = await store.put(objectKey, Readable.from(bytes(), { objectMode: false }), {
    mimeType: 'application/octet-stream',
    maxBytes,
  });
  return { ...stored, md5: md5.digest('hex') };
}
