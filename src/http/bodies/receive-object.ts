/** Streams the file of a request into the store, for whoever records it; what is not recorded leaves nothing. */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import type { PutResult } from '../../objects/stores/object-store.ts';
import { requireUploadRoom, uploadKey } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';

/** An object in the store that no row names yet. */
export interface ReceivedObject extends PutResult {
  /** `file_…`: an id of its own, which its key contains. */
  readonly id: string;
  readonly objectKey: string;
}

export interface Receiving {
  readonly accountId: string;
  /** Those that the form has beside its file; absent: none. */
  readonly fields?: FormFields | undefined;
  /** The maximum size of any file here, for the body as a whole. */
  readonly maxBytes: number;
  /** The maximum size of this file; absent: `maxBytes`. */
  readonly maxBytesOf?: (file: SentFile) => number;
}

/** @param record writes the row of the object. If it throws, the object is removed. */
export async function receiveObject<Recorded>(
  http: HttpContext,
  request: IncomingMessage,
  { accountId, fields, maxBytes, maxBytesOf = () => maxBytes }: Receiving,
  record: (object: ReceivedObject, sent: SentFile) => Promise<Recorded>,
): Promise<Recorded> {
  // Checked before a hundred megabytes are sent, as far as the size is known by then.
  await requireUploadRoom(http.database, accountId, Number(request.headers['content-length'] ?? 1) || 1, http.now());
  const id = newId('file');
  const objectKey = uploadKey(id);
  return discardingUnless(http, objectKey, async () => {
    let sent: SentFile = { field: undefined, name: undefined };
    const stored = await receiveUpload(
      request,
      (body, signal, file) => {
        sent = file;
        const options = { mimeType: 'application/octet-stream', maxBytes: maxBytesOf(file), signal };
        return http.store.put(objectKey, body, options);
      },
      { ...http.uploadBounds, maxBytes },
      fields,
    );
    if (stored.sizeBytes === 0) throw invalidRequest('invalid request: the file is empty', { param: fields?.file });
    return record({ id, objectKey, ...stored }, sent);
  });
}

/** Removes an object if the work that would record it fails. */
export async function discardingUnless<Recorded>(
  http: HttpContext,
  objectKey: string,
  work: () => Promise<Recorded>,
): Promise<Recorded> {
  try {
    return await work();
  } catch (error) {
    // If the database became unavailable, it is unknown whether the row was written: the sweep decides by the row.
    if (!(error instanceof DatabaseUnavailableError)) await discardObject(http, objectKey);
    throw error;
  }
}

/** The sweep removes what cannot be deleted now. */
export async function discardObject(http: HttpContext, objectKey: string): Promise<void> {
  await http.store.delete(objectKey).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting a rejected upload failed; the sweep will retry');
  });
}
