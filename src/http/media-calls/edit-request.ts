/**
 * A request to edit images, as a form or as JSON: its fields, and its images as URLs that an input takes. Images that
 * are in the request itself become uploads; those of a form are streamed into the store.
 */
import {
  ImageEditFieldsSchema,
  ImageEditRequestSchema,
  MAX_EDIT_IMAGES,
  MAX_EDIT_IMAGE_BYTES,
} from '@darkroom/api/openai/images';
import type { ImageEditFields, ImageReference } from '@darkroom/api/openai/images';
import { requireScope } from '../../accounts/authenticate.ts';
import { UploadNotFoundError, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import { compileParse } from '../../schema/schema-validation.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest, openAiCodeOf, violated } from '../app/errors.ts';
import { FormDecoder } from '../bodies/form-fields.ts';
import { CREATE_BODY_BYTES, readJson } from '../bodies/json-body.ts';
import { storeImageBytes, storeImages } from '../bodies/store-images.ts';
import type { FormImage } from '../bodies/store-images.ts';
import { inspect } from '../bodies/store-upload.ts';
import type { StoredUpload } from '../bodies/store-upload.ts';
import { unknownField } from '../bodies/upload-body.ts';
import type { MediaRequest } from './call.ts';
import type { RequestUploads } from './request-uploads.ts';

const parseFields = compileParse(ImageEditFieldsSchema, 'invalid request');
const parseJson = compileParse(ImageEditRequestSchema, 'invalid request');

const NUMBERS = ['n', 'output_compression', 'partial_images'];
const BOOLEANS = ['stream'];
/** The images, a mask, and the fields. */
const MAX_FORM_BYTES = (MAX_EDIT_IMAGES + 1) * MAX_EDIT_IMAGE_BYTES;

/** One image of a request. */
interface EditImage {
  readonly url: string;
  /** What makes two requests with it equal. */
  readonly print: string;
  readonly mimeType?: string;
  /** In pixels; absent: it is not stored here. */
  readonly width?: number;
  readonly height?: number;
}

export interface EditRequest {
  readonly fields: ImageEditFields;
  readonly images: readonly EditImage[];
  readonly mask: EditImage | undefined;
  /** The name of the field with the images, for errors. */
  readonly imagesField: 'image' | 'images';
}

/**
 * Reads the request.
 *
 * @param uploads receives the images that are stored for it.
 * @throws {RequestError} and what reading bodies and storing uploads throw.
 */
export async function readEditRequest(
  http: HttpContext,
  request: MediaRequest,
  uploads: RequestUploads,
): Promise<EditRequest> {
  const isJson = /^\s*application\/json\s*(;|$)/i.test(request.ctx.get('Content-Type'));
  const read = await (isJson ? readAsJson(http, request, uploads) : readAsForm(http, request, uploads));
  requireMatchingMask(read);
  return read;
}

async function readAsForm(
  http: HttpContext,
  { ctx, caller: { accountId } }: MediaRequest,
  uploads: RequestUploads,
): Promise<EditRequest> {
  const decoder = new FormDecoder({ numbers: NUMBERS, booleans: BOOLEANS });
  const counts = { image: 0, mask: 0 };
  const form = {
    maxBytes: MAX_FORM_BYTES,
    maxFileBytes: MAX_EDIT_IMAGE_BYTES,
    admit(name: string) {
      const field = name === 'image[]' ? 'image' : name;
      if (field !== 'image' && field !== 'mask') throw unknownField(name);
      counts[field] += 1;
      if (counts.image > MAX_EDIT_IMAGES) throw tooMany('image', MAX_EDIT_IMAGES);
      if (counts.mask > 1) throw tooMany('mask', 1);
    },
    take: (name: string, value: string) => decoder.take(name, value),
  };
  const stored = await http.uploadSlots.run(accountId, () => storeImages(http, ctx.req, accountId, form));
  for (const { upload } of stored) uploads.add(upload.id);
  const parsed = parseFields(decoder.fields());
  if (parsed.violation !== undefined) throw violated(parsed.violation, openAiCodeOf(parsed.violation));
  const imagesOf = (field: string) => stored.filter((each) => each.field === field).map((each) => ofForm(http, each));
  const images = imagesOf('image');
  if (images.length === 0) {
    const options = { param: 'image', keyword: 'required', code: 'missing_required_parameter' };
    throw invalidRequest('invalid request: missing property: image', options);
  }
  return { fields: parsed.value, images, mask: imagesOf('mask')[0], imagesField: 'image' };
}

function ofForm(http: HttpContext, { upload }: FormImage): EditImage {
  return ofUpload(http, upload, upload.sha256);
}

function ofUpload(http: HttpContext, upload: Upload & Partial<StoredUpload>, print: string): EditImage {
  const { url } = presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
  const { mimeType, width, height } = upload;
  return {
    url,
    print,
    mimeType,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
  };
}

async function readAsJson(http: HttpContext, request: MediaRequest, uploads: RequestUploads): Promise<EditRequest> {
  const allowance = http.bodies.ofAccount(request.caller);
  try {
    const { bodyThreads: threads, turns } = http;
    const body = await readJson(request.ctx.req, {
      maxBytes: CREATE_BODY_BYTES,
      allowance,
      threads,
      turns,
      needsFacts: false,
    });
    if (body.isLarge) await turns.next();
    const parsed = parseJson(body.value);
    if (parsed.violation !== undefined) throw violated(parsed.violation, openAiCodeOf(parsed.violation));
    const { images: references, mask, ...fields } = parsed.value;
    const images: EditImage[] = [];
    for (const [index, reference] of references.entries()) {
      images.push(
        await resolved(http, request, uploads, { field: `images.${index}`, reference, hasMask: mask != null }),
      );
    }
    const masked = mask == null ? undefined : { field: 'mask', reference: mask, hasMask: true };
    return {
      fields,
      images,
      mask: masked === undefined ? undefined : await resolved(http, request, uploads, masked),
      imagesField: 'images',
    };
  } finally {
    // What was in it is in the store; the response may wait for minutes.
    allowance.release();
  }
}

async function resolved(
  http: HttpContext,
  { caller }: MediaRequest,
  uploads: RequestUploads,
  { field, reference, hasMask }: { field: string; reference: ImageReference; hasMask: boolean },
): Promise<EditImage> {
  const { accountId } = caller;
  const { file_id: fileId, image_url: url = '' } = reference;
  if (fileId !== undefined) {
    requireScope(caller, 'storage:read');
    const upload = await fileOf(http, accountId, `${field}.file_id`, fileId);
    // Its size is needed only for the comparison.
    const metadata = hasMask ? await inspect(http, accountId, upload) : {};
    return ofUpload(http, { ...metadata, ...upload }, fileId);
  }
  if (!/^data:/i.test(url)) return { url, print: url };
  const bytes = bytesOfDataUrl(`${field}.image_url`, url);
  const image = { field: `${field}.image_url`, bytes };
  const upload = await http.uploadSlots.run(accountId, () => storeImageBytes(http, accountId, image));
  uploads.add(upload.id);
  return ofUpload(http, upload, upload.sha256);
}

async function fileOf(http: HttpContext, accountId: string, field: string, id: string): Promise<Upload> {
  return readUpload(http.database, accountId, id, http.now()).catch((error: unknown) => {
    if (!(error instanceof UploadNotFoundError)) throw error;
    throw new RequestError('not_found', `invalid request: ${field}: not found`, { param: field, cause: error });
  });
}

/** `data:image/png;base64,…` */
function bytesOfDataUrl(field: string, url: string): Buffer {
  const comma = url.indexOf(',');
  if (comma === -1 || !/^data:[^,]{0,200};base64$/i.test(url.slice(0, Math.min(comma, 300)))) {
    throw invalidRequest(`invalid request: ${field}: a data URL needs base64`, { param: field, code: 'invalid_value' });
  }
  return Buffer.from(url.slice(comma + 1), 'base64');
}

function tooMany(field: string, most: number): RequestError {
  const message = `invalid request: ${field}: there are more than ${most}`;
  return invalidRequest(message, { param: field, keyword: 'maxItems', code: 'invalid_value' });
}

/** As far as both are stored here; of other URLs, the provider finds out. */
function requireMatchingMask({ images: [image], mask }: EditRequest): void {
  if (mask?.width === undefined) return;
  const options = { param: 'mask', keyword: 'mask', code: 'invalid_value' };
  if (mask.mimeType !== 'image/png') {
    throw invalidRequest(`invalid request: mask: got ${mask.mimeType}, want image/png`, options);
  }
  if (image?.width === undefined || (image.width === mask.width && image.height === mask.height)) return;
  const sizes = `it has ${mask.width}x${mask.height} pixels, and the first image ${image.width}x${image.height}`;
  throw invalidRequest(`invalid request: mask: ${sizes}`, options);
}
