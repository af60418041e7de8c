/**
 * `/v1/files`: uploading a file, listing, reading back for a fresh URL or its bytes, deleting (contract §7.5). A file
 * has one of two forms, fixed when it is created: OpenAI's if the client sent a `purpose`, otherwise ours.
 */
import { MAX_LISTED_FILES } from '@darkroom/api/openai/files';
import {
  DeletedOpenAiFileSchema,
  FileFormSchema,
  FileListQuerySchema,
  OpenAiFileListSchema,
  OpenAiFileSchema,
} from '@darkroom/api/openai/files';
import { DeletedFileSchema, FileSchema } from '@darkroom/api/tasks/file';
import { isPurposed, listFiles } from '../../objects/openai-files.ts';
import { UploadNotFoundError, isFileId, markUploadDeleted, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { mediaResponse } from '../../objects/urls/media-response.ts';
import { presentFile, uploadFileName, presentOpenAiFile } from '../../presenters/file.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue } from '../app/errors.ts';
import { WithoutEnvelope, defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { storeFile } from '../bodies/store-file.ts';
import { sendMedia, withoutCrossOrigin } from '../streams/stored-file.ts';

const FILE_PARAM = { fileId: 'The file id, as returned by `POST /v1/files`.' };
const IN_OPENAI_FORM = 'For files with a `purpose`: the form of OpenAI’s API, without the envelope.';
const CONTENT_TYPES = ['image/*', 'video/*', 'audio/*', 'application/jsonl', 'application/octet-stream'];

export function fileRoutes(http: HttpContext): readonly Route[] {
  const present = (upload: Upload) =>
    isPurposed(upload)
      ? new WithoutEnvelope(presentOpenAiFile(upload))
      : presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/files',
      operationId: 'uploadFile',
      tag: 'Files',
      summary: 'Upload a file',
      description:
        'Uploads an image, video or audio file of at most 100 MB, which is kept for 24 h. The type is detected from the bytes. Pass the returned `url` in any input field that accepts a media URL. With `purpose`, the file has the form of OpenAI’s API and is kept for 30 days, unless `expires_after` is set. Returns 408 if the client sends nothing for 30 s, sends less than 4 kB/s for a minute, or takes more than an hour.',
      access: 'storage:write',
      budget: 'create',
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data', 'image/*', 'video/*', 'audio/*', 'application/octet-stream'],
        form: FileFormSchema,
        description: 'A form with exactly one file, or the bytes themselves with any other content type.',
      },
      response: { kind: 'data', schema: FileSchema },
      otherResponses: { 200: { description: IN_OPENAI_FORM, schema: OpenAiFileSchema } },
      errors: ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'RATE_LIMITED'],
      async handle({ ctx, caller }) {
        const { accountId } = caller;
        return present(await http.uploadSlots.run(accountId, () => storeFile(http, ctx.req, accountId)));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files',
      operationId: 'listFiles',
      tag: 'Files',
      summary: 'List files',
      description: 'Compatible with OpenAI’s files. Lists the files that were uploaded with a `purpose`.',
      access: 'storage:read',
      query: FileListQuerySchema,
      isExpensive: true,
      response: { kind: 'json', schema: OpenAiFileListSchema },
      async handle({ caller, query }) {
        const { purpose, order = 'desc', after } = query;
        const limit = Math.min(query.limit ?? MAX_LISTED_FILES, MAX_LISTED_FILES);
        const now = http.now();
        const page = await listFiles(http.database, caller.accountId, { purpose, order, limit, after, now });
        if (page === undefined) throw invalidValue('after', 'there is no such file');
        const data = page.files.map(presentOpenAiFile);
        return {
          object: 'list',
          data,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
          has_more: page.hasMore,
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files/{fileId}',
      operationId: 'getFile',
      tag: 'Files',
      summary: 'Get an uploaded file',
      access: 'storage:read',
      params: FILE_PARAM,
      response: { kind: 'data', schema: FileSchema },
      otherResponses: { 200: { description: IN_OPENAI_FORM, schema: OpenAiFileSchema } },
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        return present(await readUpload(http.database, caller.accountId, fileIdOf(params), http.now()));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files/{fileId}/content',
      operationId: 'getFileContent',
      tag: 'Files',
      summary: 'Download an uploaded file',
      description: 'Supports conditional and range requests (RFC 9110).',
      access: 'storage:read',
      params: FILE_PARAM,
      headers: { Range: 'A single range of bytes.' },
      response: { kind: 'other', mimeTypes: CONTENT_TYPES, description: 'The bytes.' },
      otherResponses: {
        206: { description: 'The requested range.', mimeTypes: CONTENT_TYPES },
        304: { description: 'Not modified: your copy (`If-None-Match`) is current.' },
        412: { description: '`If-Match` does not match the file.' },
        416: { description: 'The range is outside the file. `Content-Range` contains the size of the file.' },
      },
      errors: ['NOT_FOUND'],
      handle: (request) => sendContent(http, request),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/files/{fileId}',
      operationId: 'deleteFile',
      tag: 'Files',
      summary: 'Delete an uploaded file',
      description: 'The URLs of the file stop working immediately. Tasks that were created with it are not affected.',
      access: 'storage:write',
      params: FILE_PARAM,
      response: { kind: 'data', schema: DeletedFileSchema },
      otherResponses: { 200: { description: IN_OPENAI_FORM, schema: DeletedOpenAiFileSchema } },
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        const id = fileIdOf(params);
        const { purpose } = await markUploadDeleted(http.database, caller.accountId, id, http.now());
        return purpose === null ? { id } : new WithoutEnvelope({ id, object: 'file', deleted: true });
      },
    }),
  ];
}

async function sendContent(
  http: HttpContext,
  { ctx, caller, params }: RouteRequest<unknown, unknown>,
): Promise<undefined> {
  const upload = await readUpload(http.database, caller.accountId, fileIdOf(params), http.now());
  const response = await mediaResponse({
    ...upload,
    key: upload.objectKey,
    fileName: upload.fileName ?? uploadFileName(upload),
    store: http.store,
    method: ctx.method === 'HEAD' ? 'HEAD' : 'GET',
    headers: ctx.req.headers,
    expireAt: upload.expiresAt,
  });
  const headers = { ...withoutCrossOrigin(response.headers), 'Cache-Control': 'private, no-cache' };
  return sendMedia(ctx, { ...response, headers });
}

/** @throws {UploadNotFoundError} the string cannot be an upload's id. */
function fileIdOf({ fileId = '' }: Readonly<Record<string, string>>): string {
  if (!isFileId(fileId)) throw new UploadNotFoundError();
  return fileId;
}
