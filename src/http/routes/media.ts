/**
 * `GET|HEAD /media/{token}/{name}`: the bytes of an output or an upload, for any holder of its signed URL (contract
 * §3, §7 "Uploads"). No key.
 */
import { contentTypeOf } from '@darkroom/media/media-types';
import { disposition, mediaResponse } from '../../objects/urls/media-response.ts';
import type { MediaRequest } from '../../objects/urls/media-response.ts';
import { ObjectNotFoundError } from '../../objects/stores/object-store.ts';
import { inputObjectId } from '../../objects/urls/own-url.ts';
import { UploadNotFoundError, isFileId, readServableUpload } from '../../objects/uploads.ts';
import { readServableOutput } from '../../objects/outputs/outputs.ts';
import { findInputObjects, isPinned } from '../../tasks/record/input-objects.ts';
import { uploadFileName } from '../../presenters/file.ts';
import { outputFileName } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

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
        307: { description: 'The file is served by the store itself (`DOWNLOADS=direct`): follow `Location`.' },
        304: { description: 'Not modified: your copy (`If-None-Match`) is current.' },
        412: { description: '`If-Match` does not match the file.' },
        416: { description: 'The range is outside the file. `Content-Range` contains the size of the file.' },
      },
      errors: ['URL_EXPIRED', 'FORBIDDEN', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      async handle({ ctx, params }) {
        const { outputId, expireAt } = http.urlSigner.verify(params['token'] ?? '');
        const found = await findServed(http, outputId);
        const served = { ...found, isDownload: ctx.URL.searchParams.has('download') };
        const method = ctx.method === 'HEAD' ? 'HEAD' : 'GET';
        if (http.config.urls.downloads === 'direct' && http.store.presign !== undefined) {
          const seconds = Math.max(1, Math.floor(expireAt - http.now() / 1000));
          const read = {
            method,
            seconds,
            mimeType: contentTypeOf(served.mimeType),
            disposition: disposition(served),
          } as const;
          ctx.status = 307;
          ctx.set({
            Location: await http.store.presign(served.key, read),
            'Cache-Control': 'private, no-store',
            'Access-Control-Allow-Origin': '*',
            'Cross-Origin-Resource-Policy': 'cross-origin',
          });
          ctx.body = '';
          return undefined;
        }
        const { status, headers, body } = await mediaResponse({
          ...served,
          store: http.store,
          method,
          headers: ctx.req.headers,
          expireAt,
        }).catch((error: unknown) => {
          if (error instanceof ObjectNotFoundError)
            http.logger.error({ objectId: outputId }, 'the object behind a URL is missing');
          throw error;
        });
        ctx.status = status;
        ctx.set(headers);
        if (body !== undefined) ctx.body = body;
        // Koa writes the status as text into an error response that has no body.
        else if (status >= 400) ctx.body = '';
        // Koa must not guess a type or a length of its own.
        ctx.set(headers);
        return undefined;
      },
    }),
  ];
}

type Served = Pick<MediaRequest, 'key' | 'sizeBytes' | 'mimeType' | 'sha256' | 'fileName'>;

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
