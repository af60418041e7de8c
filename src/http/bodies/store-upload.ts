/** Streams an upload into the store, identifies its type and records it; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { storedSource } from '../../objects/stores/stored-source.ts';
import { MAX_UPLOAD_BYTES, recordUpload, requireUploadRoom, uploadKey } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields } from './upload-body.ts';

/** @param fields those that the form has beside its file; absent: none. */
export async function storeUpload(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
): Promise<Upload & { readonly durationSeconds: number | undefined }> {
  const { store } = http;
  // Checked before a hundred megabytes are sent, as far as the size is known by then.
  await requireUploadRoom(http.database, accountId, Number(request.headers['content-length'] ?? 1) || 1, http.now());
  const id = newId('file');
  const objectKey = uploadKey(id);
  try {
    const stored = await receiveUpload(
      request,
      (file, signal) =>
        store.put(objectKey, file, { mimeType: 'application/octet-stream', maxBytes: MAX_UPLOAD_BYTES, signal }),
      http.uploadBounds,
      fields,
    );
    if (stored.sizeBytes === 0) throw invalidRequest('invalid request: the file is empty', { param: fields?.file });
    const source = storedSource(store, objectKey, stored.sizeBytes);
    const { mimeType, durationSeconds } = await http.inspector.inspect(accountId, source);
    const database = http.accountDatabase(accountId);
    const upload = await recordUpload(database, { id, accountId, objectKey, mimeType, ...stored }, http.now());
    return { ...upload, durationSeconds };
  } catch (error) {
    // If the database became unavailable, it is unknown whether the row was written: the sweep decides by the row.
    if (!(error instanceof DatabaseUnavailableError)) await discard(http, objectKey);
    throw error;
  }
}

/** The sweep removes what cannot be deleted now. */
async function discard(http: HttpContext, objectKey: string): Promise<void> {
  await http.store.delete(objectKey).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting a rejected upload failed; the sweep will retry');
  });
}
