/** `/v1/uploads`: files that are sent in parts (contract §7.5). The finished file is one of `/v1/files`. */
import {
  CompleteUploadSchema,
  CreateUploadSchema,
  MAX_PART_BYTES,
  PartFormSchema,
  UploadPartSchema,
  UploadSchema,
} from '@darkroom/api/openai/uploads';
import type { CreateUploadBody } from '@darkroom/api/openai/uploads';
import { FILE_EXPIRY_SECONDS } from '@darkroom/api/openai/files';
import { newId } from '../../domain/ids.ts';
import {
  cancelMultipartUpload,
  createMultipartUpload,
  readMultipartUpload,
  recordPart,
  requirePending,
} from '../../objects/multipart-uploads.ts';
import type { MultipartUpload } from '../../objects/multipart-uploads.ts';
import { MAX_BATCH_FILE_BYTES, isPurposed } from '../../objects/openai-files.ts';
import { MAX_UPLOAD_BYTES, findUploads } from '../../objects/uploads.ts';
import { presentUpload } from '../../presenters/file.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { completeUpload } from '../bodies/complete-upload.ts';
import { plainFileName, requireNameFor } from '../bodies/store-file.ts';
import { receiveObject } from '../bodies/store-upload.ts';
import { unknownField } from '../bodies/upload-body.ts';
import type { FormFields } from '../bodies/upload-body.ts';

const UPLOAD_PARAM = { uploadId: 'The upload id, as returned by `POST /v1/uploads`.' };
/** The maximum size of a file, by its purpose. */
const MAX_BYTES = { batch: MAX_BATCH_FILE_BYTES, vision: MAX_UPLOAD_BYTES, user_data: Infinity } as const;
/** The form of a part has nothing beside its bytes. */
const PART_FIELDS: FormFields = {
  file: 'data',
  take(name) {
    throw unknownField(name);
  },
};

type Request = RouteRequest<unknown, unknown>;

export function uploadRoutes(http: HttpContext): readonly Route[] {
  const read = ({ caller, params }: Pick<Request, 'caller' | 'params'>): Promise<MultipartUpload> =>
    readMultipartUpload(http.database, caller.accountId, params['uploadId'] ?? '', http.now());
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/uploads',
      operationId: 'createUpload',
      tag: 'Files',
      summary: 'Start an upload in parts',
      description:
        'Compatible with OpenAI’s uploads: for files of at most 2 GB. Send the parts, then complete the upload within an hour.',
      access: 'storage:write',
      budget: 'create',
      body: {
        kind: 'json',
        schema: CreateUploadSchema,
        examples: {
          lines: {
            summary: 'A file for a batch',
            value: { filename: 'lines.jsonl', purpose: 'batch', bytes: 150_000_000, mime_type: 'application/jsonl' },
          },
        },
      },
      response: { kind: 'json', schema: UploadSchema },
      async handle({ caller, body }) {
        requireFits(body);
        const { purpose, bytes: sizeBytes, expires_after: expiry } = body;
        const upload = {
          accountId: caller.accountId,
          fileName: plainFileName(body.filename),
          purpose,
          sizeBytes,
          keptSeconds: expiry?.seconds ?? FILE_EXPIRY_SECONDS.default,
        };
        return presentUpload(await createMultipartUpload(http.database, upload, http.now()));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/uploads/{uploadId}/parts',
      operationId: 'addUploadPart',
      tag: 'Files',
      summary: 'Add a part to an upload',
      description: 'Parts may be sent at the same time, and in any order.',
      access: 'storage:write',
      budget: 'create',
      params: UPLOAD_PARAM,
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data'],
        form: PartFormSchema,
        description: 'A form with the bytes of the part.',
      },
      response: { kind: 'json', schema: UploadPartSchema },
      errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
      async handle(request) {
        const upload = await read(request);
        requirePending(upload);
        return http.uploadSlots.run(upload.accountId, () => addPart(http, request, upload));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/uploads/{uploadId}/complete',
      operationId: 'completeUpload',
      tag: 'Files',
      summary: 'Complete an upload',
      description:
        'Joins the parts in the given order. Completing it again returns the same file. If a check fails, nothing is written, and the upload stays open.',
      access: 'storage:write',
      budget: 'create',
      params: UPLOAD_PARAM,
      body: { kind: 'json', schema: CompleteUploadSchema },
      response: { kind: 'json', schema: UploadSchema },
      errors: ['NOT_FOUND', 'UNSUPPORTED_MEDIA_TYPE'],
      async handle(request) {
        const upload = await read(request);
        if (upload.status !== 'completed') {
          requirePending(upload);
          await http.uploadSlots.run(upload.accountId, () => completeUpload(http, upload, request.body));
        }
        return presentEnded(http, await read(request));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/uploads/{uploadId}/cancel',
      operationId: 'cancelUpload',
      tag: 'Files',
      summary: 'Cancel an upload',
      description: 'Deletes its parts. An upload that is completed cannot be cancelled.',
      access: 'storage:write',
      budget: 'create',
      params: UPLOAD_PARAM,
      response: { kind: 'json', schema: UploadSchema },
      errors: ['NOT_FOUND'],
      async handle(request) {
        const upload = await read(request);
        if (upload.status !== 'cancelled') {
          requirePending(upload);
          await cancelMultipartUpload(http.accountDatabase(upload.accountId), upload.id, http.now());
        }
        return presentEnded(http, await read(request));
      },
    }),
  ];
}

/** @throws {RequestError} 400: a file with this purpose cannot be as large, or cannot have this name. */
function requireFits({ purpose, bytes, filename }: CreateUploadBody): void {
  const most = MAX_BYTES[purpose];
  if (bytes > most) throw invalidValue('bytes', `a file with the purpose ${purpose} has at most ${most} bytes`);
  requireNameFor(purpose, filename, 'filename');
}

async function addPart(http: HttpContext, { ctx }: Request, upload: MultipartUpload): Promise<unknown> {
  const { accountId } = upload;
  const receiving = { accountId, fields: PART_FIELDS, maxBytes: MAX_PART_BYTES };
  return receiveObject(http, ctx.req, receiving, async ({ objectKey, sizeBytes, sha256 }) => {
    const id = newId('part');
    const now = http.now();
    await recordPart(http.accountDatabase(accountId), upload, { id, objectKey, sizeBytes, sha256 }, now);
    return { id, object: 'upload.part', created_at: Math.floor(now / 1000), upload_id: upload.id };
  });
}

/** The upload with its file, as long as that is not deleted. */
async function presentEnded(http: HttpContext, upload: MultipartUpload): Promise<unknown> {
  const { fileId } = upload;
  const [file] = fileId === null ? [] : await findUploads(http.database, [fileId]);
  return presentUpload(upload, file !== undefined && isPurposed(file) && !file.isGone ? file : undefined);
}
