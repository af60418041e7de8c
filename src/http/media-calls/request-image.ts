/**
 * Images of requests in OpenAI's form as URLs that an input takes: those that a form or a request contains become
 * uploads, and others are referred to by a URL or by the id of a file.
 */
import type { ImageReference } from '@darkroom/api/openai/images';
import { requireScope } from '../../accounts/authenticate.ts';
import { isDataUrl, parseDataUrl } from '../../domain/data-url.ts';
import { UploadNotFoundError, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest, invalidValue } from '../app/errors.ts';
import { storeImageBytes } from '../bodies/store-images.ts';
import { inspect } from '../bodies/store-upload.ts';
import type { MediaRequest } from './headers.ts';
import type { RequestUploads } from './request-uploads.ts';

/** One image of a request. */
export interface RequestImage {
  readonly url: string;
  /** What makes two requests with it equal. */
  readonly print: string;
  readonly mimeType?: string;
  /** In pixels; absent: it is not stored here, or was not asked for. */
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
 * @param needsSize whether its width and height are needed.
 * @throws {RequestError} 404: the account has no such file. And what storing uploads throws.
 */
export async function imageOfReference(
  http: HttpContext,
  { caller }: Pick<MediaRequest, 'caller'>,
  uploads: RequestUploads | undefined,
  {
    field,
    reference,
    needsSize,
  }: { readonly field: string; readonly reference: ImageReference; readonly needsSize: boolean },
): Promise<RequestImage> {
  const { accountId } = caller;
  const { file_id: fileId, image_url: url = '' } = reference;
  if (fileId !== undefined) {
    requireScope(caller, 'storage:read');
    const upload = await fileOf(http, accountId, `${field}.file_id`, fileId);
    // One that was uploaded to an earlier release has no recorded size.
    const isUnknown = needsSize && upload.width === null;
    return imageOf(http, isUnknown ? { ...upload, ...(await inspect(http, accountId, upload)) } : upload, fileId);
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
