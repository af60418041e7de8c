/** Streams an upload into the store, identifies its type and records it; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import type { PutResult } from '../../objects/stores/object-store.ts';
import { storedSource } from '../../objects/stores/stored-source.ts';
import { MAX_UPLOAD_BYTES, recordUpload, requireUploadRoom, uploadKey } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields } from './upload-body.ts';

/** An upload, and the length of what it contains, if that is known. */
export type StoredUpload = Upload & { readonly durationSeconds: number | undefined };

/** @param fields those that the form has beside its file; absent: none. */
export async function storeUpload(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
): Promise<StoredUpload> {
  const upload = await storeForm(http, request, accountId, fields);
  if (upload === undefined) throw new Error('a body without a file was received');
  return upload;
}

/** The same, where `fields` may say that the file is optional. @returns undefined: there is none. */
export async function storeForm(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
): Promise<StoredUpload | undefined> {
  // Checked before a hundred megabytes are sent, as far as the size is known by then.
  await requireUploadRoom(http.database, accountId, Number(request.headers['content-length'] ?? 1) || 1, http.now());
  return recordStored(http, accountId, fields?.file, async (objectKey) => {
    const store = (file: Readable, signal: AbortSignal) => put(http, objectKey, file, signal);
    const [stored] = await receiveUpload(request, store, http.uploadBounds, fields);
    return stored;
  });
}

/** Stores bytes that a request contains as an upload. @param param the field that has them. */
export async function storeBytes(
  http: HttpContext,
  accountId: string,
  param: string,
  bytes: Buffer,
): Promise<StoredUpload> {
  await requireUploadRoom(http.database, accountId, bytes.length, http.now());
  const upload = await recordStored(http, accountId, param, (objectKey) => put(http, objectKey, bytes));
  if (upload === undefined) throw new Error('bytes were not stored');
  return upload;
}

function put(http: HttpContext, objectKey: string, file: Readable | Buffer, signal?: AbortSignal): Promise<PutResult> {
  const options = { mimeType: 'application/octet-stream', maxBytes: MAX_UPLOAD_BYTES };
  return http.store.put(objectKey, file, signal === undefined ? options : { ...options, signal });
}

/** @param storeAs stores the file under a key. @returns undefined: there was none. */
async function recordStored(
  http: HttpContext,
  accountId: string,
  param: string | undefined,
  storeAs: (objectKey: string) => Promise<PutResult | undefined>,
): Promise<StoredUpload | undefined> {
  const { store } = http;
  const id = newId('file');
  const objectKey = uploadKey(id);
  try {
    const stored = await storeAs(objectKey);
    if (stored === undefined) return undefined;
    if (stored.sizeBytes === 0) throw invalidRequest('invalid request: the file is empty', { param });
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
