/** `/v1/uploads`: files that are sent in parts (contract §7.5). The finished file is one of `/v1/files`. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CompleteUploadSchema,
  CreateUploadSchema,
  MAX_PART_BYTES,
  PartFormSchema,
  UploadPartSchema,
  UploadSchema,
} from '@darkroom/api/openai/uploads';
import type { CompleteUploadBody, CreateUploadBody } from '@darkroom/api/openai/uploads';
import { FILE_EXPIRY_SECONDS } from '@darkroom/api/openai/files';
import { newId } from '../../domain/ids.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import {
  cancelMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  leaseCompletion,
  readMultipartUpload,
  readParts,
  recordPart,
  recordPartsHash,
  releaseCompletion,
  renewCompletion,
  requirePending,
} from '../../objects/multipart-uploads.ts';
import type { MultipartUpload, Part, PartsHash } from '../../objects/multipart-uploads.ts';
import { MAX_BATCH_FILE_BYTES, isPurposed, purposedId } from '../../objects/openai-files.ts';
import { MAX_UPLOAD_BYTES, findUploads } from '../../objects/uploads.ts';
import { presentUpload } from '../../presenters/upload.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { factsForPurpose, plainFileName, requireNameFor } from '../bodies/file-kind.ts';
import { joinParts, md5OfParts, partsPrint, partsSource, sizeOfParts } from '../bodies/join-parts.ts';
import { receiveObject } from '../bodies/receive-object.ts';
import { discardObject, storing } from '../bodies/store-upload.ts';
import { unknownField } from '../bodies/upload-body.ts';
import type { FormFields } from '../bodies/upload-body.ts';

const UPLOAD_PARAM = { uploadId: 'The upload id, as returned by `POST /v1/uploads`.' };
/** The maximum size of a file, by its purpose. */
const MAX_BYTES = { batch: MAX_BATCH_FILE_BYTES, vision: MAX_UPLOAD_BYTES, user_data: Infinity } as const;
/** How often a completion renews its lease, which is a third of what it lasts. */
const RENEW_MS = 20_000;
/** How often, and how long, a request waits for another one that completes the same upload. */
const [LOOK_MS, WAIT_MS] = [250, 60_000];
const RETRY_SECONDS = 5;
/** In how many orders the parts of one upload are hashed: each reads all of them. */
const MAX_HASHINGS = 10;
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
          await http.uploadSlots.run(upload.accountId, () => completeOnce(http, upload, request.body));
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

/**
 * Completes an upload, or waits while another request does: together they join its parts once.
 *
 * @throws {RateLimitedError} the other one takes longer than a request may wait.
 */
async function completeOnce(http: HttpContext, upload: MultipartUpload, body: CompleteUploadBody): Promise<void> {
  const { id, accountId } = upload;
  const isPending = async (): Promise<boolean> =>
    (await readMultipartUpload(http.database, accountId, id, http.now())).status === 'pending';
  const parts = await requireParts(http, upload, body.part_ids).catch(async (error: unknown) => {
    // The request that has completed it has deleted its parts.
    if (await isPending()) throw error;
    return undefined;
  });
  if (parts === undefined) return;
  const database = http.accountDatabase(accountId);
  const waitsUntil = performance.now() + WAIT_MS;
  for (;;) {
    const hash = await leaseCompletion(database, upload, http.now());
    if (hash !== undefined) {
      const renewing = setInterval(() => {
        renewCompletion(database, id, http.now()).catch((error: unknown) => {
          http.logger.warn(
            { err: error },
            'renewing the completion of an upload failed; another request may take over',
          );
        });
      }, RENEW_MS);
      try {
        await complete(http, upload, { parts, hash, md5: body.md5?.toLowerCase() });
        return;
      } finally {
        clearInterval(renewing);
        // At the latest the lease ends.
        await releaseCompletion(database, id).catch(() => undefined);
      }
    }
    if (!(await isPending())) return;
    if (performance.now() > waitsUntil) throw new RateLimitedError(RETRY_SECONDS);
    await sleep(LOOK_MS);
  }
}

/** Everything is checked before the first byte is written. */
async function complete(
  http: HttpContext,
  upload: MultipartUpload,
  { parts, hash, md5 }: { readonly parts: readonly Part[]; readonly hash: PartsHash; readonly md5: string | undefined },
): Promise<void> {
  const { accountId, purpose, fileName } = upload;
  if (md5 !== undefined) await requireHash(http, upload, { parts, hash, md5 });
  const facts = await factsForPurpose(http, accountId, purpose, partsSource(http.store, parts));
  const dropped = await storing(http, async (begin) => {
    const joined = await begin(joinParts(http.store, parts), { maxBytes: sizeOfParts(parts) });
    const file = { ...joined, ...facts, id: purposedId(joined.id), accountId, purpose, fileName };
    const isRecorded = await completeMultipartUpload(http.accountDatabase(accountId), upload, file, http.now());
    return isRecorded ? undefined : joined;
  });
  // Another request has ended the upload meanwhile.
  if (dropped !== undefined) await discardObject(http, dropped.objectKey);
}

/** @throws {RequestError} 400: the parts have another hash, or were hashed in too many orders already. */
async function requireHash(
  http: HttpContext,
  { id, accountId }: MultipartUpload,
  { parts, hash, md5 }: { readonly parts: readonly Part[]; readonly hash: PartsHash; readonly md5: string },
): Promise<void> {
  const print = partsPrint(parts);
  let joined = hash.partsPrint === print ? hash.md5 : null;
  if (joined === null) {
    if (hash.hashings >= MAX_HASHINGS) {
      throw invalidValue('part_ids', `the parts were checked in ${MAX_HASHINGS} orders; create another upload`);
    }
    joined = await md5OfParts(http.store, parts);
    await recordPartsHash(http.accountDatabase(accountId), id, { partsPrint: print, md5: joined });
  }
  if (md5 !== joined) throw invalidValue('md5', `the parts have ${joined}`);
}

/** @throws {RequestError} 400: one is not a part of the upload, or together they have another size. */
async function requireParts(
  http: HttpContext,
  upload: MultipartUpload,
  partIds: readonly string[],
): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for (const [index, part] of (await readParts(http.database, upload, partIds)).entries()) {
    if (part === undefined) throw invalidValue(`part_ids.${index}`, 'the upload has no such part');
    parts.push(part);
  }
  const sum = sizeOfParts(parts);
  if (sum !== upload.sizeBytes) {
    throw invalidValue('part_ids', `the parts have ${sum} bytes, and the upload has ${upload.sizeBytes}`);
  }
  return parts;
}

/** The upload with its file, as long as that is not deleted. */
async function presentEnded(http: HttpContext, upload: MultipartUpload): Promise<unknown> {
  const { fileId } = upload;
  const [file] = fileId === null ? [] : await findUploads(http.database, [fileId]);
  return presentUpload(upload, file !== undefined && isPurposed(file) && !file.isGone ? file : undefined);
}
