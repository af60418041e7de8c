/**
 * Prepares the images of a text request before any upstream is called: their URLs are checked, and where the operator
 * configured it (`TEXT_IMAGES=inline`) they are fetched here, so that the upstream fetches nothing. Files of the
 * account always become part of what the upstream gets.
 */
import { buffer } from 'node:stream/consumers';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { isPhonePhotograph } from '@darkroom/media/media-types';
import { requireScope } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { UploadNotFoundError, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import {
  IMAGE_TYPES,
  IMAGE_WAIT_MS,
  MAX_INLINED,
  asBase64,
  checkImageAddresses,
  fileIdOf,
  inlineImages,
} from '../../text/images.ts';
import type { ImageAddress, InlinedImages } from '../../text/images.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { photographAsJpeg } from '../bodies/store-upload.ts';

const NONE: InlinedImages = new Map();
const TOO_MUCH = 'the images take more memory than an account may have here';

interface Reading {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Called with bytes before they are buffered. @throws {ShareExhaustedError} */
  readonly hold: (bytes: number) => void;
}

/**
 * @param until aborted when the images are no longer needed: what is under way ends, and their memory is released.
 * @returns the images that were fetched or read, by URL.
 * @throws {InvalidTextRequest} a URL is not permitted, or leads to no image, or the account has no such file. @throws
 *   {ShareExhaustedError}
 * @throws {ForbiddenError} the key may not read files.
 */
export async function prepareImages(
  http: HttpContext,
  { caller, until }: { readonly caller: Caller; readonly until: () => AbortSignal },
  images: readonly ImageAddress[],
): Promise<InlinedImages> {
  if (images.length === 0) return NONE;
  const { accountId } = caller;
  const over = until();
  const signal = AbortSignal.any([over, http.stopSignal]);
  await checkImageAddresses(images, http, { accountId, signal });
  const fetches = http.config.textImages === 'inline';
  if (!fetches && !images.some(({ url }) => fileIdOf(url) !== undefined)) return NONE;
  const allowance = http.bodies.ofAccount(caller);
  over.addEventListener('abort', () => allowance.release());
  const hold = (bytes: number): void => {
    if (!allowance.canHold(bytes)) throw new RequestError('payload_too_large', TOO_MUCH);
    allowance.hold(bytes);
  };
  const files = await readFiles(http, { caller, signal, hold }, images);
  if (!fetches) return files;
  return new Map([...files, ...(await inlineImages(images, http, { accountId, signal, hold }))]);
}

/** Reads the images that are files, one after the other: of each only the text is left in memory. */
async function readFiles(http: HttpContext, reading: Reading, images: readonly ImageAddress[]): Promise<InlinedImages> {
  const read = new Map<string, string>();
  let bytes = 0;
  for (const { field, url } of images) {
    const id = fileIdOf(url);
    if (id === undefined || read.has(url)) continue;
    const param = field.replace(/image_url(\.url)?$/, (_, isMember) =>
      isMember === undefined ? 'file_id' : 'image_url.file_id',
    );
    if (read.size === MAX_INLINED.images) throw invalid(param, `at most ${MAX_INLINED.images} files`);
    requireScope(reading.caller, 'storage:read');
    const file = await fileOf(http, reading.caller, param, id);
    const { mimeType } = file;
    if (!IMAGE_TYPES.has(mimeType) && !isPhonePhotograph(mimeType)) {
      throw invalid(param, `it is ${mimeType}, and models take ${[...IMAGE_TYPES].join(', ')}`);
    }
    const count = (more: number): void => {
      bytes += more;
      if (bytes <= MAX_INLINED.bytes) return;
      throw invalid(param, `the files have more than ${MAX_INLINED.bytes} bytes together`);
    };
    if (isPhonePhotograph(mimeType)) {
      const jpeg = await readPhotograph(http, reading, param, file);
      count(jpeg.length);
      reading.hold(asBase64(jpeg.length));
      read.set(url, `data:image/jpeg;base64,${jpeg.toString('base64')}`);
    } else {
      count(file.sizeBytes);
      read.set(url, `data:${mimeType};base64,${await readBase64(http, reading, file.objectKey, file.sizeBytes)}`);
    }
  }
  return read;
}

/** Files with a purpose keep their bytes: a photograph of a phone, which models do not read, is converted here. */
async function readPhotograph(
  http: HttpContext,
  { caller, signal }: Reading,
  param: string,
  file: Upload,
): Promise<Buffer> {
  try {
    return await photographAsJpeg(http, caller.accountId, file, signal);
  } catch (error) {
    throw error instanceof UnsupportedMediaError ? invalid(param, 'it cannot be decoded') : error;
  }
}

async function fileOf(http: HttpContext, { accountId }: Caller, param: string, id: string): Promise<Upload> {
  return readUpload(http.database, accountId, id, http.now()).catch((error: unknown) => {
    throw error instanceof UploadNotFoundError ? invalid(param, 'the account has no such file') : error;
  });
}

function readBase64(
  { imageFetches, store }: HttpContext,
  { caller: { accountId }, signal, hold }: Reading,
  objectKey: string,
  sizeBytes: number,
): Promise<string> {
  const read = async (): Promise<string> => {
    hold(asBase64(sizeBytes));
    return (await buffer(await store.read(objectKey))).toString('base64');
  };
  return imageFetches.run(accountId, read, { signal, waitMs: IMAGE_WAIT_MS });
}

function invalid(field: string, problem: string): InvalidTextRequest {
  return new InvalidTextRequest(field, `${field}: ${problem}`);
}
