/** Streams the file of a request into the store, for whoever records it; what is not recorded leaves nothing. */
import type { IncomingMessage } from 'node:http';
import type { HttpContext } from '../app/context.ts';
import { emptyFile, requireRoom, storing } from './store-upload.ts';
import type { Begin, StoredFile } from './store-upload.ts';
import { receiveUpload } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';

export interface Receiving {
  readonly accountId: string;
  /** Those that the form has beside its file; absent: none. */
  readonly fields?: FormFields | undefined;
  /** The maximum size of any file here, for the body as a whole. */
  readonly maxBytes: number;
  /** The maximum size of this file; absent: `maxBytes`. */
  readonly maxBytesOf?: (file: SentFile) => number;
}

/** @param record writes the row of the file. If it throws, the file is deleted. */
export async function receiveObject<Recorded>(
  http: HttpContext,
  request: IncomingMessage,
  { accountId, fields, maxBytes, maxBytesOf = () => maxBytes }: Receiving,
  record: (file: StoredFile, sent: SentFile, begin: Begin) => Promise<Recorded>,
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
    return record(stored, sent, begin);
  });
}
