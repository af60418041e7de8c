/**
 * `GET|HEAD /media/{token}/{name}`: the bytes of an output or an upload, for any holder of its signed URL (contract
 * §3, §7 "Uploads"). No key.
 */
import { inputObjectId } from '../../objects/urls/signed-url.ts';
import { UploadNotFoundError, isFileId, readServableUpload } from '../../objects/uploads.ts';
import { readServableOutput } from '../../objects/outputs/outputs.ts';
import { findInputObjects, isPinned } from '../../tasks/record/input-objects.ts';
import { uploadFileName } from '../../presenters/file.ts';
import { outputFileName } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { FILE_RESPONSES, sendStoredFile } from '../streams/stored-file.ts';
import type { StoredFile } from '../streams/stored-file.ts';

const MEDIA_TYPES = ['image/*', 'video/*', 'audio/*', 'text/*', 'application/json', 'application/x-subrip'];

export function mediaRoutes(http: HttpContext): readonly Route[] {
  return [
    // A GET route answers HEAD as well.
    defineRoute({
      method: 'GET',
      path: '/media/{token}/{name}',
      operationId: 'downloadMedia',
      tag: 'Media',
      summary: 'Download a file by its signed URL',
      description:
        'Supports conditional and range requests (RFC 9110). A request for several ranges returns the whole file. With `?download`, browsers save the file instead of showing it.',
      access: 'none',
      params: {
        token: 'The token of the signed URL.',
        name: 'A readable file name. It has no effect on the response.',
      },
      headers: { Range: 'A single range of bytes.' },
      response: {
        kind: 'other',
        mimeTypes: MEDIA_TYPES,
        description: 'The bytes.',
      },
      otherResponses: {
        206: { description: 'The requested range.', mimeTypes: MEDIA_TYPES },
        ...FILE_RESPONSES,
      },
      errors: ['URL_EXPIRED', 'FORBIDDEN', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      async handle({ ctx, params }) {
        const { outputId, expireAt } = http.urlSigner.verify(params['token'] ?? '');
        const found = await findServed(http, outputId);
        const file = { ...found, id: outputId, isDownload: ctx.URL.searchParams.has('download') };
        return sendStoredFile(http, ctx, file, { expireAt, isForAnyPage: true });
      },
    }),
  ];
}

type Served = Omit<StoredFile, 'id' | 'isDownload'>;

/** @throws {OutputNotFoundError} @throws {UploadNotFoundError} it is gone, or never existed. */
async function findServed(http: HttpContext, signedId: string): Promise<Served> {
  const inputId = inputObjectId(signedId);
  if (inputId !== undefined) return findServedInput(http, inputId);
  if (isFileId(signedId)) {
    const upload = await readServableUpload(http.database, signedId);
    return { ...upload, key: upload.objectKey, fileName: uploadFileName(upload) };
  }
  const output = await readServableOutput(http.database, signedId);
  return { ...output, key: output.objectKey, fileName: outputFileName(output.taskId, output) };
}

/** What a provider fetches for a task: its owner may have deleted it meanwhile, the task still has it. */
async function findServedInput(http: HttpContext, objectId: string): Promise<Served> {
  const object = (await findInputObjects(http.database, [objectId])).get(objectId);
  if (object === undefined || (object.isGone && !(await isPinned(http.database, object.objectKey)))) {
    throw new UploadNotFoundError();
  }
  return { ...object, key: object.objectKey, fileName: uploadFileName(object) };
}
