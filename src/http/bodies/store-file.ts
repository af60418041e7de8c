/** Stores a file of `POST /v1/files`, whose form may have a purpose (contract §7.5). */
import type { IncomingMessage } from 'node:http';
import { MAX_BATCH_FILE_BYTES, purposedId } from '../../objects/openai-files.ts';
import { MAX_UPLOAD_BYTES, recordUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { FileForm } from './file-form.ts';
import type { FilePurposeFields } from './file-form.ts';
import { isJsonLines, plainFileName, requireNameFor, typeForPurpose } from './file-kind.ts';
import { receiveObject } from './receive-object.ts';
import { inspect, record, storeUpload } from './store-upload.ts';
import type { StoredFile } from './store-upload.ts';
import { isForm, tooLarge } from './upload-body.ts';
import type { SentFile } from './upload-body.ts';

export function storeFile(http: HttpContext, request: IncomingMessage, accountId: string): Promise<Upload> {
  if (!isForm(request)) return storeUpload(http, request, accountId);
  const form = new FileForm();
  // The purpose may follow the file: until then its name decides.
  const maxBytesOf = ({ name }: SentFile): number => (isJsonLines(name) ? MAX_BATCH_FILE_BYTES : MAX_UPLOAD_BYTES);
  const receiving = { accountId, fields: form, maxBytes: MAX_BATCH_FILE_BYTES, maxBytesOf };
  return receiveObject(http, request, receiving, async (file, sent) => {
    const fields = form.read();
    return fields === undefined
      ? record(http, accountId, file, await inspect(http, accountId, file))
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
  const mimeType = await typeForPurpose(http, accountId, purpose, file);
  return recordUpload(
    http.accountDatabase(accountId),
    { ...file, id: purposedId(file.id), accountId, mimeType, purpose, fileName: plainFileName(name) },
    { keptSeconds, now: http.now() },
  );
}
