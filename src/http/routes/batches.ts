/** `/v1/batches` (contract §10): many requests in a file, as OpenAI's clients create, poll, list and cancel them. */
import {
  BatchListQuerySchema,
  BatchListSchema,
  BatchSchema,
  COMPLETION_WINDOW,
  CreateBatchSchema,
  isTextBatchEndpoint,
} from '@darkroom/api/openai/batches';
import type { CreateBatchBody } from '@darkroom/api/openai/batches';
import { FILE_EXPIRY_SECONDS } from '@darkroom/api/openai/files';
import { ForbiddenError, requireScope } from '../../accounts/authenticate.ts';
import { BatchNotFoundError, cancelBatch, listBatches, readBatch } from '../../batches/batch-record.ts';
import type { Batch } from '../../batches/batch-record.ts';
import { createBatch, findKeyedBatch } from '../../batches/create-batch.ts';
import type { BatchRequest } from '../../batches/create-batch.ts';
import { batchIdForKey } from '../../domain/ids.ts';
import { MAX_BATCH_FILE_BYTES } from '../../objects/openai-files.ts';
import { UploadNotFoundError, isFileId, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { presentBatch } from '../../presenters/batch.ts';
import { findUnstorableText } from '../../tasks/record/storable-text.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { isAutomaticRetry, parseIdempotencyKey } from '../middleware/repeated-requests.ts';

const BATCH_PARAM = { batchId: 'The batch id, as returned by `POST /v1/batches`.' };
const DEFAULT_LIMIT = 20;

export function batchRoutes(http: HttpContext): readonly Route[] {
  const batch = { kind: 'json', schema: BatchSchema } as const;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/batches',
      operationId: 'createBatch',
      tag: 'Batches',
      summary: 'Create a batch',
      description:
        'Compatible with OpenAI’s batches. Each line of the input file is a request of the `endpoint`, which becomes a task or a text call when it has its turn: batches take at most half of what the account may have at once. The results are files in the form of OpenAI’s API. A line that is wrong, or finds no balance, is an error of that line alone.',
      access: 'tasks:write',
      budget: 'create',
      headers: {
        'Idempotency-Key':
          '1-255 visible ASCII characters. Repeating a request with the same key and the same body returns the batch of the first one, whatever became of it. Keys do not expire.',
        'X-Stainless-Retry-Count':
          "Sent by OpenAI's clients: above 0, the request is an automatic retry, which, without a key, gets the batch of the attempt before.",
      },
      body: {
        kind: 'json',
        schema: CreateBatchSchema,
        examples: {
          tasks: {
            summary: 'Tasks',
            value: {
              input_file_id: 'file-01JZ3V5W8Q4Y7N2K9M6B1C0D3F',
              endpoint: '/v1/tasks',
              completion_window: COMPLETION_WINDOW,
            },
          },
        },
      },
      response: batch,
      errors: ['IDEMPOTENCY_KEY_MISMATCH'],
      async handle(request) {
        return presentBatch(await create(http, request));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/batches',
      operationId: 'listBatches',
      tag: 'Batches',
      summary: 'List batches',
      description: 'The newest first.',
      access: 'tasks:read',
      query: BatchListQuerySchema,
      isExpensive: true,
      response: { kind: 'json', schema: BatchListSchema },
      async handle({ caller, query: { limit = DEFAULT_LIMIT, after } }) {
        const page = await listBatches(http.database, caller.accountId, { after, limit }).catch((error: unknown) => {
          if (error instanceof BatchNotFoundError) throw invalidValue('after', 'there is no such batch');
          throw error;
        });
        const data = page.batches.map(presentBatch);
        const [first, last] = [data[0], data.at(-1)];
        // OpenAI's document has no null here.
        const ends = first === undefined || last === undefined ? {} : { first_id: first.id, last_id: last.id };
        return { object: 'list', data, ...ends, has_more: page.hasMore };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/batches/{batchId}',
      operationId: 'getBatch',
      tag: 'Batches',
      summary: 'Get a batch',
      access: 'tasks:read',
      params: BATCH_PARAM,
      response: batch,
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        return presentBatch(await readBatch(http.database, params['batchId'] ?? '', caller.accountId));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/batches/{batchId}/cancel',
      operationId: 'cancelBatch',
      tag: 'Batches',
      summary: 'Cancel a batch',
      description:
        'No further line is started. The batch is `cancelling` until the lines in progress have ended, then `cancelled`, with the results so far.',
      access: 'tasks:write',
      budget: 'create',
      params: BATCH_PARAM,
      response: batch,
      errors: ['NOT_FOUND'],
      async handle({ caller, params }) {
        return presentBatch(await cancelBatch(http.database, params['batchId'] ?? '', caller.accountId));
      },
    }),
  ];
}

async function create(
  http: HttpContext,
  { ctx, caller, body }: Pick<RouteRequest<unknown, CreateBatchBody>, 'ctx' | 'caller' | 'body'>,
): Promise<Batch> {
  // Its lines would outlive the token, and its limits.
  if (caller.tokenId !== undefined) throw new ForbiddenError('a short-lived token may not create batches');
  const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
  const problem = findUnstorableText(body);
  if (problem !== undefined) throw violated(problem);
  if (isTextBatchEndpoint(body.endpoint)) requireScope(caller, 'text:write');
  const { accountId, keyId } = caller;
  const wanted: BatchRequest = {
    accountId,
    keyId,
    endpoint: body.endpoint,
    completionWindow: body.completion_window,
    metadata: body.metadata ?? null,
    inputFileId: body.input_file_id,
    outputKeptSeconds: body.output_expires_after?.seconds ?? FILE_EXPIRY_SECONDS.default,
  };
  const keyedId = key === undefined ? undefined : batchIdForKey(http.installationId, accountId, key);
  // Before the input is looked for: its file may be gone when the request is repeated.
  const earlier = keyedId === undefined ? undefined : await findKeyedBatch(http.database, keyedId, wanted);
  if (earlier !== undefined) return earlier;
  const { objectKey: inputObjectKey, sizeBytes: inputBytes } = await requireInput(http, accountId, wanted.inputFileId);
  const batch = await createBatch(
    http.accountDatabase(accountId),
    { ...wanted, inputObjectKey, inputBytes },
    http.now(),
    { keyedId, isRetry: isAutomaticRetry(ctx) },
  );
  http.wakeDueWork();
  return batch;
}

/** @throws {RequestError} 400: the account has no such file, or it is not for batches. */
async function requireInput(http: HttpContext, accountId: string, id: string): Promise<Upload> {
  const missing = () => invalidValue('input_file_id', 'there is no such file');
  if (!isFileId(id)) throw missing();
  const file = await readUpload(http.database, accountId, id, http.now()).catch((error: unknown) => {
    throw error instanceof UploadNotFoundError ? missing() : error;
  });
  if (file.purpose !== 'batch') {
    throw invalidValue('input_file_id', `the file has the purpose ${file.purpose ?? 'of an upload'}, and not batch`);
  }
  if (file.sizeBytes > MAX_BATCH_FILE_BYTES) {
    throw invalidValue('input_file_id', `the file has more than ${MAX_BATCH_FILE_BYTES} bytes`);
  }
  return file;
}
