/** Streams an upload into the store, identifies its type and records it; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { newId } from '../../domain/ids.ts';
import { MAX_BATCH_FILE_BYTES, purposedId } from '../../objects/openai-files.ts';
import { storedSource } from '../../objects/stores/stored-source.ts';
import {
  MAX_UPLOAD_BYTES,
  UPLOAD_KEPT_SECONDS,
  recordUpload,
  requireUploadRoom,
  uploadKey,
} from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { FileForm } from './file-form.ts';
import type { FilePurposeFields } from './file-form.ts';
import { isForm, receiveUpload, tooLarge } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';

/** The type of files for batches, whose lines are read when a batch is. */
const JSON_LINES = 'application/jsonl';
/** The type of files that are only stored. */
const ANY_TYPE = 'application/octet-stream';
/** The longest name of a file that is kept, in characters. */
const MAX_FILE_NAME = 255;

/** What is recorded of a file beside its bytes. */
type Description = Pick<Upload, 'mimeType' | 'purpose' | 'fileName'> & {
  readonly keptSeconds: number;
  readonly durationSeconds?: number | undefined;
};

interface StoredBytes {
  readonly objectKey: string;
  readonly sizeBytes: number;
}

interface Receiving {
  /** Those that the form has beside its file; absent: none. */
  readonly fields?: FormFields | undefined;
  readonly maxBytesOf: (file: SentFile) => number;
  /** Called when the whole form has arrived. */
  readonly describe: (file: SentFile, stored: StoredBytes) => Promise<Description>;
}

type StoredUpload = Upload & { readonly durationSeconds: number | undefined };

/**
 * Stores media in our form.
 *
 * @param fields those that the form has beside its file; absent: none.
 */
export function storeUpload(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  fields?: FormFields,
): Promise<StoredUpload> {
  return receive(http, request, accountId, {
    fields,
    maxBytesOf: () => MAX_UPLOAD_BYTES,
    describe: (_, stored) => inspect(http, accountId, stored),
  });
}

/** Stores a file of `POST /v1/files`, whose form may have a purpose. */
export function storeFile(http: HttpContext, request: IncomingMessage, accountId: string): Promise<Upload> {
  const form = isForm(request) ? new FileForm() : undefined;
  return receive(http, request, accountId, {
    fields: form,
    // The purpose may follow the file: until then its name decides.
    maxBytesOf: ({ name }) => (form !== undefined && isJsonLines(name) ? MAX_BATCH_FILE_BYTES : MAX_UPLOAD_BYTES),
    async describe(file, stored) {
      const fields = form?.read();
      if (fields === undefined) return inspect(http, accountId, stored);
      if (file.field !== 'file') {
        throw invalidRequest('invalid request: missing property: file', {
          param: 'file',
          code: 'missing_required_parameter',
        });
      }
      return { ...fields, mimeType: await typeOf(http, accountId, fields, file, stored), fileName: fileNameOf(file) };
    },
  });
}

async function receive(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  { fields, maxBytesOf, describe }: Receiving,
): Promise<StoredUpload> {
  const { store } = http;
  // Checked before a hundred megabytes are sent, as far as the size is known by then.
  await requireUploadRoom(http.database, accountId, Number(request.headers['content-length'] ?? 1) || 1, http.now());
  const id = newId('file');
  const objectKey = uploadKey(id);
  const maxBytes = fields instanceof FileForm ? MAX_BATCH_FILE_BYTES : http.uploadBounds.maxBytes;
  try {
    let sent: SentFile = { field: undefined, name: undefined };
    const stored = await receiveUpload(
      request,
      (body, signal, file) => {
        sent = file;
        return store.put(objectKey, body, { mimeType: ANY_TYPE, maxBytes: maxBytesOf(file), signal });
      },
      { ...http.uploadBounds, maxBytes },
      fields,
    );
    if (stored.sizeBytes === 0) throw invalidRequest('invalid request: the file is empty', { param: fields?.file });
    const { durationSeconds, keptSeconds, ...described } = await describe(sent, { objectKey, ...stored });
    const database = http.accountDatabase(accountId);
    const upload = await recordUpload(
      database,
      { id: described.purpose === null ? id : purposedId(id), accountId, objectKey, ...described, ...stored },
      { keptSeconds, now: http.now() },
    );
    return { ...upload, durationSeconds };
  } catch (error) {
    // If the database became unavailable, it is unknown whether the row was written: the sweep decides by the row.
    if (!(error instanceof DatabaseUnavailableError)) await discard(http, objectKey);
    throw error;
  }
}

/** @throws {UnsupportedMediaError} it is no media of a type that is taken. */
async function inspect(
  { inspector, store }: HttpContext,
  accountId: string,
  { objectKey, sizeBytes }: StoredBytes,
): Promise<Description> {
  const { mimeType, durationSeconds } = await inspector.inspect(accountId, storedSource(store, objectKey, sizeBytes));
  return { mimeType, durationSeconds, purpose: null, fileName: null, keptSeconds: UPLOAD_KEPT_SECONDS };
}

/** The type of a file that has a purpose. @throws {RequestError} it does not fit its purpose. */
async function typeOf(
  http: HttpContext,
  accountId: string,
  { purpose }: FilePurposeFields,
  { name }: SentFile,
  stored: StoredBytes,
): Promise<string> {
  if (purpose === 'batch') {
    if (!isJsonLines(name)) throw unfit('the name of a file for batches must end in .jsonl');
    return JSON_LINES;
  }
  if (stored.sizeBytes > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES);
  try {
    const { mimeType } = await inspect(http, accountId, stored);
    if (purpose === 'vision' && !mimeType.startsWith('image/'))
      throw unfit(`vision takes images, and this is ${mimeType}`);
    return mimeType;
  } catch (error) {
    if (!(error instanceof UnsupportedMediaError) || purpose === 'vision') throw error;
    return ANY_TYPE;
  }
}

function unfit(problem: string): Error {
  return invalidRequest(`invalid request: file: ${problem}`, { param: 'file', code: 'invalid_value' });
}

function isJsonLines(name: string | undefined): boolean {
  return name?.toLowerCase().endsWith('.jsonl') === true;
}

/** What clients see again: no control characters, and no paths of their machines. */
function fileNameOf({ name = '' }: SentFile): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replaceAll(/\p{Cc}|\p{Cs}/gu, '').slice(0, MAX_FILE_NAME);
  return shown === '' ? 'file' : shown;
}

/** The sweep removes what cannot be deleted now. */
async function discard(http: HttpContext, objectKey: string): Promise<void> {
  await http.store.delete(objectKey).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting a rejected upload failed; the sweep will retry');
  });
}
