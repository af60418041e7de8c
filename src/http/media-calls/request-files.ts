/**
 * What requests in OpenAI's form bring along: a body that may be JSON instead of a form, images as URLs that an input
 * takes, and the uploads that these become if a form or the request itself contains them.
 */
import type { ImageReference } from '@darkroom/api/openai/images';
import { requireScope } from '../../accounts/authenticate.ts';
import { isDataUrl, parseDataUrl } from '../../domain/data-url.ts';
import { UploadNotFoundError, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest, invalidValue, violated } from '../app/errors.ts';
import { CREATE_BODY_BYTES, readJson } from '../bodies/json-body.ts';
import { storeImageBytes } from '../bodies/store-images.ts';
import { discardUpload } from '../bodies/store-upload.ts';
import type { MediaRequest } from './headers.ts';

export function isJson({ ctx }: MediaRequest): boolean {
  return /^\s*application\/json\s*(;|$)/i.test(ctx.get('Content-Type'));
}

/**
 * Reads a request as JSON where the handler reads the body.
 *
 * @param read stores the files that the body contains: the response may wait for minutes, and not with the body.
 */
export async function withJson<Result>(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  read: (value: unknown) => Promise<Result>,
): Promise<Result> {
  const { bodyThreads: threads, turns } = http;
  const allowance = http.bodies.ofAccount(caller);
  try {
    const limits = { maxBytes: CREATE_BODY_BYTES, allowance, threads, turns, needsFacts: false };
    const body = await readJson(ctx.req, limits);
    if (body.isLarge) await turns.next();
    return await read(body.value);
  } finally {
    allowance.release();
  }
}

/** A body, or the fields of a form. @throws {RequestError} 400 naming the field at fault. */
export function requireParsed<Value>(parse: Parse<Value>, value: unknown): Value {
  const parsed = parse(value);
  if (parsed.violation !== undefined) throw violated(parsed.violation, openAiCodeOf(parsed.violation));
  return parsed.value;
}

/** One image of a request. */
export interface RequestImage {
  readonly url: string;
  /** What makes two requests with it equal. */
  readonly print: string;
  readonly mimeType?: string;
  /** In pixels; absent: it is not stored here. */
  readonly width?: number;
  readonly height?: number;
}

/** An image that came in a form. */
export function imageOfForm(http: HttpContext, upload: Upload): RequestImage {
  return imageOf(http, upload, upload.sha256);
}

function imageOf(http: HttpContext, upload: Upload, print: string): RequestImage {
  const { url } = presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
  const { mimeType, width, height } = upload;
  return {
    url,
    print,
    mimeType,
    ...(width === null ? {} : { width }),
    ...(height === null ? {} : { height }),
  };
}

/**
 * The image that a request refers to.
 *
 * @param uploads receives the image if the request contains it; undefined: it may not.
 * @param field of the request, for errors.
 * @throws {RequestError} 404: the account has no such file. And what storing uploads throws.
 */
export async function imageOfReference(
  http: HttpContext,
  { caller }: Pick<MediaRequest, 'caller'>,
  uploads: RequestUploads | undefined,
  { field, reference }: { readonly field: string; readonly reference: ImageReference },
): Promise<RequestImage> {
  const { accountId } = caller;
  const { file_id: fileId, image_url: url = '' } = reference;
  if (fileId !== undefined) {
    requireScope(caller, 'storage:read');
    const upload = await fileOf(http, accountId, `${field}.file_id`, fileId);
    return imageOf(http, upload, fileId);
  }
  if (!isDataUrl(url)) return { url, print: url };
  if (uploads === undefined) throw notReferred(`${field}.image_url`);
  const bytes = bytesOfDataUrl(`${field}.image_url`, url);
  const image = { field: `${field}.image_url`, bytes };
  const upload = await http.uploadSlots.run(accountId, () => storeImageBytes(http, accountId, image));
  uploads.add(upload.id);
  return imageOf(http, upload, upload.sha256);
}

function notReferred(field: string): RequestError {
  const message = `invalid request: ${field}: an image is referred to here by a URL or by file_id`;
  return invalidRequest(message, { param: field, code: 'unsupported_value' });
}

async function fileOf(http: HttpContext, accountId: string, field: string, id: string): Promise<Upload> {
  return readUpload(http.database, accountId, id, http.now()).catch((error: unknown) => {
    if (!(error instanceof UploadNotFoundError)) throw error;
    throw new RequestError('not_found', `invalid request: ${field}: not found`, { param: field, cause: error });
  });
}

function bytesOfDataUrl(field: string, url: string): Buffer {
  const file = parseDataUrl(url);
  if (file !== undefined) return file.bytes;
  throw invalidValue(field, 'not a data URL in base64');
}

/** The uploads that a request brings along: without a task that uses them, they are deleted at its end. */
export interface RequestUploads {
  add(id: string): void;
  /** A task uses them. */
  keep(): void;
}

/** A retry, or a request that is rejected, has no use for its uploads. */
export async function withUploads<Result>(
  http: HttpContext,
  accountId: string,
  work: (uploads: RequestUploads) => Promise<Result>,
): Promise<Result> {
  const ids: string[] = [];
  let isUsed = false;
  const uploads: RequestUploads = {
    add(id) {
      ids.push(id);
    },
    keep() {
      isUsed = true;
    },
  };
  try {
    return await work(uploads);
  } finally {
    if (!isUsed) for (const id of ids) await discardUpload(http, accountId, id);
  }
}
