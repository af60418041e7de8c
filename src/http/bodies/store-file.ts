/** Stores a file of `POST /v1/files`, whose form may have a purpose (contract §7.5). */
import type { IncomingMessage } from 'node:http';
import { MAX_BATCH_FILE_BYTES, purposedId } from '../../objects/openai-files.ts';
import { storedSource } from '../../objects/stores/object-store.ts';
import { MAX_UPLOAD_BYTES, recordUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { FileForm } from './file-form.ts';
import type { FilePurposeFields } from './file-form.ts';
import { factsForPurpose, isJsonLines, plainFileName, requireNameFor } from './file-kind.ts';
import { receiveObject } from './receive-object.ts';
import { record, servableForm, storeUpload } from './store-upload.ts';
import type { StoredFile } from './store-upload.ts';
import { isForm, tooLarge } from './upload-body.ts';
import type { SentFile } from './upload-body.ts';

export function storeFile(http: HttpContext, request: IncomingMessage, accountId: string): Promise<Upload> {
  if (!isForm(request)) return storeUpload(http, request, accountId);
  const form = new FileForm();
  // The purpose may follow the file: until then its name decides.
  const maxBytesOf = ({ name }: SentFile): number => (isJsonLines(name) ? MAX_BATCH_FILE_BYTES : MAX_UPLOAD_BYTES);
  const receiving = { accountId, fields: form, maxBytes: MAX_BATCH_FILE_BYTES, maxBytesOf };
  return receiveObject(http, request, receiving, async (file, sent, begin) => {
    const fields = form.read();
    return fields === undefined
      ? record(http, accountId, await servableForm(http, accountId, begin, file))
      : recordPurposed(http, accountId, fields, file, sent);
  });
}

async function recordPurposed(
  http: HttpContext,
  accountId: string,
  { purpose, keptSeconds }: FilePurposeFields,
  file: StoredFile,
  { field, name }: SentFile,
): Promise<Upload> {
  if (field !== 'file') {
    const code = 'missing_required_parameter';
    throw invalidRequest('invalid request: missing property: file', { param: 'file', code });
  }
  requireNameFor(purpose, name, 'file');
  if (purpose !== 'batch' && file.sizeBytes > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES);
  const source = storedSource(http.store, file.objectKey, file.sizeBytes);
  const facts = await factsForPurpose(http, accountId, purpose, source);
  return recordUpload(
    http.accountDatabase(accountId),
    { ...file, ...facts, id: purposedId(file.id), accountId, purpose, fileName: plainFileName(name) },
    { keptSeconds, now: http.now() },
  );
}
