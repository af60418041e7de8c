/** Stores the images of a request as uploads: those of a form, and those that are in the request itself. */
import type { IncomingMessage } from 'node:http';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { ObjectTooLargeError } from '../../objects/stores/object-store.ts';
import { requireUploadRoom } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { discardUpload, emptyFile, record, requireRoom, servableForm, storing } from './store-upload.ts';
import type { Begin, InspectedFile, StoredFile } from './store-upload.ts';
import { receiveFiles } from './upload-body.ts';
import type { FilesForm } from './upload-body.ts';

/** A form whose files are images. */
export interface ImageForm extends FilesForm {
  /** The most bytes of one file, and of the whole form. */
  readonly maxFileBytes: number;
  readonly maxBytes: number;
}

/** An image of a form, with the name of its field: `image` also for `image[]`. */
export interface FormImage {
  readonly field: string;
  readonly upload: Upload;
}

/** Streams the images of a form into the store. A form that is rejected, or that breaks off, leaves nothing. */
export async function storeImages(
  http: HttpContext,
  request: IncomingMessage,
  accountId: string,
  form: ImageForm,
): Promise<readonly FormImage[]> {
  const { maxFileBytes, maxBytes } = form;
  await requireRoom(http, request, accountId);
  return storing(http, async (begin) => {
    const received = await receiveFiles(
      request,
      async (name, file, signal) => {
        const field = name.endsWith('[]') ? name.slice(0, -2) : name;
        const stored = await begin(file, { maxBytes: maxFileBytes, signal }).catch((error: unknown) =>
          Promise.reject(error instanceof ObjectTooLargeError ? tooLarge(field, maxFileBytes) : error),
        );
        if (stored.sizeBytes === 0) throw emptyFile(field);
        return { field, stored };
      },
      { ...http.uploadBounds, maxBytes },
      form,
    );
    const images = [];
    for (const { field, stored } of received) {
      images.push({ field, file: await inspectImage(http, accountId, begin, { field, stored }) });
    }
    return recordAll(http, accountId, images);
  });
}

/** Stores an image that is in memory. @param field of the request that contains it. */
export async function storeImageBytes(
  http: HttpContext,
  accountId: string,
  { field, bytes }: { readonly field: string; readonly bytes: Buffer },
): Promise<Upload> {
  if (bytes.length === 0) throw emptyFile(field);
  await requireUploadRoom(http.database, accountId, bytes.length, http.now());
  return storing(http, async (begin) => {
    const stored = await begin(bytes, { maxBytes: bytes.length });
    return record(http, accountId, await inspectImage(http, accountId, begin, { field, stored }));
  });
}

/** @throws {RequestError} 400, with the field: it is no image. */
async function inspectImage(
  http: HttpContext,
  accountId: string,
  begin: Begin,
  { field, stored }: { readonly field: string; readonly stored: StoredFile },
): Promise<InspectedFile> {
  const file = await servableForm(http, accountId, begin, stored).catch((error: unknown) =>
    Promise.reject(error instanceof UnsupportedMediaError ? noImage(field, error.mimeType, error) : error),
  );
  if (file.metadata.kind !== 'image') throw noImage(field, file.metadata.mimeType);
  return file;
}

function noImage(field: string, mimeType: string | undefined, cause?: unknown): RequestError {
  const got = mimeType === undefined ? '' : ` (it is ${mimeType})`;
  const message = `invalid request: ${field}: the file is no image of a type that is taken${got}`;
  return new RequestError('invalid_request', message, {
    param: field,
    keyword: 'contentMediaType',
    code: 'unsupported_file_mimetype',
    cause,
  });
}

/** Records all of them, or none. */
async function recordAll(
  http: HttpContext,
  accountId: string,
  images: readonly { readonly field: string; readonly file: InspectedFile }[],
): Promise<readonly FormImage[]> {
  const recorded: FormImage[] = [];
  try {
    for (const { field, file } of images) {
      recorded.push({ field, upload: await record(http, accountId, file) });
    }
    return recorded;
  } catch (error) {
    for (const { upload } of recorded) await discardUpload(http, accountId, upload.id);
    throw error;
  }
}

function tooLarge(field: string, maxBytes: number): RequestError {
  const message = `invalid request: ${field}: the file is larger than ${maxBytes} bytes`;
  return new RequestError('payload_too_large', message, { param: field });
}
