/** Streams an upload into the store, identifies its type and records it; a failed upload leaves nothing. */
import type { IncomingMessage } from 'node:http';
import { MAX_BATCH_FILE_BYTES, purposedId } from '../../objects/openai-files.ts';
import { MAX_UPLOAD_BYTES, UPLOAD_KEPT_SECONDS, recordUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { FileForm } from './file-form.ts';
import type { FilePurposeFields } from './file-form.ts';
import { inspectMedia, isJsonLines, plainFileName, requireNameFor, typeForPurpose } from './file-kind.ts';
import { receiveObject } from './receive-object.ts';
import type { ReceivedObject } from './receive-object.ts';
import { isForm, tooLarge } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';

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
  const { maxBytes } = http.uploadBounds;
  return receiveObject(http, request, { accountId, fields, maxBytes }, (object) =>
    recordMedia(http, accountId, object),
  );
}

/** Stores a file of `POST /v1/files`, whose form may have a purpose. */
export function storeFile(http: HttpContext, request: IncomingMessage, accountId: string): Promise<Upload> {
  if (!isForm(request)) return storeUpload(http, request, accountId);
  const form = new FileForm();
  // The purpose may follow the file: until then its name decides.
  const maxBytesOf = ({ name }: SentFile): number => (isJsonLines(name) ? MAX_BATCH_FILE_BYTES : MAX_UPLOAD_BYTES);
  const receiving = { accountId, fields: form, maxBytes: MAX_BATCH_FILE_BYTES, maxBytesOf };
  return receiveObject(http, request, receiving, (object, sent) => {
    const fields = form.read();
    return fields === undefined
      ? recordMedia(http, accountId, object)
      : recordPurposed(http, accountId, fields, object, sent);
  });
}

async function recordMedia(http: HttpContext, accountId: string, object: ReceivedObject): Promise<StoredUpload> {
  const { mimeType, durationSeconds } = await inspectMedia(http, accountId, object);
  const upload = await recordUpload(
    http.accountDatabase(accountId),
    { ...object, accountId, mimeType, purpose: null, fileName: null },
    { keptSeconds: UPLOAD_KEPT_SECONDS, now: http.now() },
  );
  return { ...upload, durationSeconds };
}

async function recordPurposed(
  http: HttpContext,
  accountId: string,
  { purpose, keptSeconds }: FilePurposeFields,
  object: ReceivedObject,
  { field, name }: SentFile,
): Promise<Upload> {
  if (field !== 'file') {
    const code = 'missing_required_parameter';
    throw invalidRequest('invalid request: missing property: file', { param: 'file', code });
  }
  requireNameFor(purpose, name, 'file');
  if (purpose !== 'batch' && object.sizeBytes > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES);
  const mimeType = await typeForPurpose(http, accountId, purpose, object);
  return recordUpload(
    http.accountDatabase(accountId),
    { ...object, id: purposedId(object.id), accountId, mimeType, purpose, fileName: plainFileName(name) },
    { keptSeconds, now: http.now() },
  );
}
