/** Streams uploads into the store, identifies their types and records them; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import type { MediaMetadata } from '@darkroom/media/inspect';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { storedSource } from '../../objects/stores/stored-source.ts';
import {
  MAX_UPLOAD_BYTES,
  UPLOAD_KEPT_SECONDS,
  markUploadDeleted,
  recordUpload,
  requireUploadRoom,
  uploadKey,
} from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields } from './upload-body.ts';

/** An upload, and what its bytes say about it. */
export type StoredUpload = Upload & Pick<MediaMetadata, 'width' | 'height' | 'durationSeconds'>;

/** A file in the store that is not recorded yet. */
export interface StoredFile {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** @param fields those that the form has beside its file; absent: none. */
export async function storeUpload(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
): Promise<StoredUpload> {
  await requireRoom(http, request, accountId);
  return storing(http, async (begin) => {
    const stored = await receiveUpload(
      request,
      (file, signal) => begin(file, { maxBytes: MAX_UPLOAD_BYTES, signal }),
      http.uploadBounds,
      fields,
    );
    if (stored.sizeBytes === 0) throw emptyFile(fields?.file);
    return record(http, accountId, stored, await inspect(http, accountId, stored));
  });
}

/** Checked before a hundred megabytes are sent, as far as the size is known by then. */
export function requireRoom(http: HttpContext, { headers }: IncomingMessage, accountId: string): Promise<void> {
  return requireUploadRoom(http.database, accountId, Number(headers['content-length'] ?? 1) || 1, http.now());
}

/** Stores a file under a new id. */
export type Begin = (
  content: Parameters<HttpContext['store']['put']>[1],
  options: { readonly maxBytes: number; readonly signal?: AbortSignal },
) => Promise<StoredFile>;

/** @param work stores files with `begin`; if it throws, they are deleted. */
export async function storing<Result>(http: HttpContext, work: (begin: Begin) => Promise<Result>): Promise<Result> {
  const keys: string[] = [];
  const begin: Begin = async (content, options) => {
    const id = newId('file');
    const objectKey = uploadKey(id);
    keys.push(objectKey);
    const stored = await http.store.put(objectKey, content, { mimeType: 'application/octet-stream', ...options });
    return { id, objectKey, ...stored };
  };
  try {
    return await work(begin);
  } catch (error) {
    // If the database became unavailable, it is unknown whether the rows were written: the sweep decides by the rows.
    if (!(error instanceof DatabaseUnavailableError)) {
      for (const objectKey of keys) await discardObject(http, objectKey);
    }
    throw error;
  }
}

export function inspect(
  { store, inspector }: HttpContext,
  accountId: string,
  { objectKey, sizeBytes }: StoredFile,
): Promise<MediaMetadata> {
  return inspector.inspect(accountId, storedSource(store, objectKey, sizeBytes));
}

export async function record(
  http: HttpContext,
  accountId: string,
  stored: StoredFile,
  { mimeType, width, height, durationSeconds }: MediaMetadata,
): Promise<StoredUpload> {
  const database = http.accountDatabase(accountId);
  const upload = await recordUpload(
    database,
    { accountId, mimeType, purpose: null, fileName: null, ...stored },
    { keptSeconds: UPLOAD_KEPT_SECONDS, now: http.now() },
  );
  return {
    ...upload,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
  };
}

/** Deletes an upload that is of no use; at the latest it expires. */
export async function discardUpload(http: HttpContext, accountId: string, id: string): Promise<void> {
  await markUploadDeleted(http.database, accountId, id, http.now()).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting an upload without a task failed; it will expire');
  });
}

export function emptyFile(field: string | undefined) {
  return invalidRequest('invalid request: the file is empty', { param: field });
}

/** The sweep removes what cannot be deleted now. */
export async function discardObject(http: HttpContext, objectKey: string): Promise<void> {
  await http.store.delete(objectKey).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting a rejected upload failed; the sweep will retry');
  });
}
