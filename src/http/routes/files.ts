/**
 * `/v1/files`: uploading a file, reading it back for a fresh URL, deleting it (contract §7 "Uploads"). Its URL is
 * accepted wherever an input takes media.
 */
import { UploadNotFoundError, markUploadDeleted, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { DeletedFileSchema, FileSchema } from '@darkroom/api/tasks/file';
import { presentFile } from '../../presenters/file.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { storeUpload } from '../bodies/store-upload.ts';

const FILE_ID = /^file_[0-9A-HJKMNP-TV-Z]{26}$/;

export function fileRoutes(http: HttpContext): readonly Route[] {
  const present = (upload: Upload) => presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/files',
      operationId: 'uploadFile',
      tag: 'Files',
      summary: 'Upload a file',
      description:
        'Uploads an image, video or audio file of at most 100 MB, which is kept for 24 h. The type is detected from the bytes. Pass the returned `url` in any input field that accepts a media URL. Returns 408 if the client sends nothing for 30 s, sends less than 4 kB/s for a minute, or takes more than an hour.',
      access: 'storage:write',
      budget: 'create',
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data', 'image/*', 'video/*', 'audio/*', 'application/octet-stream'],
        description:
          'A form with exactly one file and no other fields, or the bytes themselves with any other content type.',
      },
      response: { kind: 'data', schema: FileSchema },
      errors: ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'RATE_LIMITED'],
      async handle({ ctx, caller }) {
        const { accountId } = caller;
        return present(await http.uploadSlots.run(accountId, () => storeUpload(http, ctx.req, accountId)));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files/{fileId}',
      operationId: 'getFile',
      tag: 'Files',
      summary: 'Get an uploaded file',
      access: 'storage:read',
      params: { fileId: 'The file id, as returned by `POST /v1/files`.' },
      response: { kind: 'data', schema: FileSchema },
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        return present(await readUpload(http.database, caller.accountId, fileIdOf(params), http.now()));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/files/{fileId}',
      operationId: 'deleteFile',
      tag: 'Files',
      summary: 'Delete an uploaded file',
      description: 'The URLs of the file stop working immediately. Tasks that were created with it are not affected.',
      access: 'storage:write',
      params: { fileId: 'The file id, as returned by `POST /v1/files`.' },
      response: { kind: 'data', schema: DeletedFileSchema },
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        const id = fileIdOf(params);
        await markUploadDeleted(http.database, caller.accountId, id, http.now());
        return { id };
      },
    }),
  ];
}

/** @throws {UploadNotFoundError} the string cannot be an upload's id. */
function fileIdOf({ fileId = '' }: Readonly<Record<string, string>>): string {
  if (!FILE_ID.test(fileId)) throw new UploadNotFoundError();
  return fileId;
}
