/** Streams uploads into the store, identifies their types and records them; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { MediaMetadata } from '@darkroom/media/inspect';
import { audioTypeOf, extensionFor, isPhonePhotograph } from '@darkroom/media/media-types';
import { UndecodableMediaError } from '@darkroom/media/undecodable-media-error';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { storedSource } from '../../objects/stores/object-store.ts';
import {
  MAX_UPLOAD_BYTES,
  UPLOAD_KEPT_SECONDS,
  factsOf,
  markUploadDeleted,
  recordUpload,
  requireUploadRoom,
  uploadKey,
} from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';

/** A converted photograph: as large as the largest that is decoded, and of a quality that edits can start from. */
const PHOTOGRAPH_BOUNDS = { maxEdge: 8192, maxBytes: 50_000_000, quality: 92 };
/** The preview maker ends earlier; this bounds the wait for a turn. */
const CONVERT_MS = 60_000;

/** A file in the store that is not recorded yet. */
export interface StoredFile {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/**
 * Stores the file of a request as an upload.
 *
 * @param fields those that the form has beside its file; absent: none.
 * @param options.isHeard whether of a video its audio alone counts.
 */
export async function storeUpload(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
  { isHeard = false }: { readonly isHeard?: boolean } = {},
): Promise<Upload> {
  const receiving = { accountId, fields, maxBytes: MAX_UPLOAD_BYTES };
  return receiveObject(http, request, receiving, async (stored, _, begin) => {
    const inspected = await servableForm(http, accountId, begin, stored);
    return record(http, accountId, isHeard ? { ...inspected, metadata: heard(inspected.metadata) } : inspected);
  });
}

/** A video with audio as what it is to who only listens. */
function heard(metadata: MediaMetadata): MediaMetadata {
  const { channels, durationSeconds } = metadata;
  const mimeType = audioTypeOf(metadata.mimeType);
  if (channels === undefined || mimeType === undefined) return metadata;
  const length = durationSeconds === undefined ? {} : { durationSeconds };
  return { mimeType, kind: 'audio', extension: extensionFor(mimeType), channels, ...length };
}

/** How the file of a request is received. */
interface Receiving {
  readonly accountId: string;
  /** Those that the form has beside its file; absent: none. */
  readonly fields?: FormFields | undefined;
  /** The maximum size of any file here, for the body as a whole. */
  readonly maxBytes: number;
  /** The maximum size of this file; absent: `maxBytes`. */
  readonly maxBytesOf?: (file: SentFile) => number;
}

/**
 * Streams the file of a request into the store.
 *
 * @param recorded writes the row of the file. If it throws, the file is deleted.
 */
export async function receiveObject<Recorded>(
  http: HttpContext,
  request: IncomingMessage,
  { accountId, fields, maxBytes, maxBytesOf = () => maxBytes }: Receiving,
  recorded: (file: StoredFile, sent: SentFile, begin: Begin) => Promise<Recorded>,
): Promise<Recorded> {
  await requireRoom(http, request, accountId);
  return storing(http, async (begin) => {
    let sent: SentFile = { field: undefined, name: undefined };
    const stored = await receiveUpload(
      request,
      (file, signal, about) => {
        sent = about;
        return begin(file, { maxBytes: maxBytesOf(about), signal });
      },
      { ...http.uploadBounds, maxBytes },
      fields,
    );
    if (stored.sizeBytes === 0) throw emptyFile(fields?.file);
    return recorded(stored, sent, begin);
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

/** A file in the store, and what it is. */
export interface InspectedFile {
  readonly stored: StoredFile;
  readonly metadata: MediaMetadata;
}

/**
 * Inspects a file. A photograph of a phone is replaced by a JPEG, which providers and browsers read.
 *
 * @throws {UnsupportedMediaError} its type is not served, or it cannot be decoded.
 */
export async function servableForm(
  http: HttpContext,
  accountId: string,
  begin: Begin,
  stored: StoredFile,
): Promise<InspectedFile> {
  const metadata = await inspect(http, accountId, stored);
  if (!isPhonePhotograph(metadata.mimeType)) return { stored, metadata };
  const jpeg = await photographAsJpeg(http, accountId, { ...stored, mimeType: metadata.mimeType });
  const converted = await begin(jpeg, { maxBytes: jpeg.length });
  await discardObject(http, stored.objectKey);
  return { stored: converted, metadata: await inspect(http, accountId, converted) };
}

/** @throws {UnsupportedMediaError} it cannot be decoded. */
export async function photographAsJpeg(
  http: HttpContext,
  accountId: string,
  { objectKey, sizeBytes, mimeType }: Pick<StoredFile, 'objectKey' | 'sizeBytes'> & { readonly mimeType: string },
  signal?: AbortSignal,
): Promise<Buffer> {
  const source = { sizeBytes, read: () => http.store.read(objectKey) };
  const inTime = AbortSignal.timeout(CONVERT_MS);
  const until = signal === undefined ? inTime : AbortSignal.any([signal, inTime]);
  try {
    return (await http.previews.make(accountId, source, PHOTOGRAPH_BOUNDS, until)).jpeg;
  } catch (error) {
    throw error instanceof UndecodableMediaError ? new UnsupportedMediaError(mimeType, error.message) : error;
  }
}

export function inspect(
  { store, inspector }: HttpContext,
  accountId: string,
  { objectKey, sizeBytes }: Pick<StoredFile, 'objectKey' | 'sizeBytes'>,
): Promise<MediaMetadata> {
  return inspector.inspect(accountId, storedSource(store, objectKey, sizeBytes));
}

export function record(http: HttpContext, accountId: string, { stored, metadata }: InspectedFile): Promise<Upload> {
  return recordUpload(
    http.accountDatabase(accountId),
    { accountId, ...factsOf(metadata), purpose: null, fileName: null, ...stored },
    { keptSeconds: UPLOAD_KEPT_SECONDS, now: http.now() },
  );
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
