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
import type { ImageEditFields } from '@darkroom/api/openai/images';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { takesSeveral } from '../../catalogue/openai-input.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, violated } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';
import { FormDecoder } from '../bodies/form-fields.ts';
import { storeImages } from '../bodies/store-images.ts';
import { unknownField } from '../bodies/upload-body.ts';
import type { MediaRequest } from './call.ts';
import { isJson, withJson } from './json-request.ts';
import { imageOfForm, imageOfReference } from './request-image.ts';
import type { RequestImage } from './request-image.ts';
import type { RequestUploads } from './request-uploads.ts';

const parseFields = compileOpenAiParse(ImageEditFieldsSchema);
const parseJson = compileOpenAiParse(ImageEditRequestSchema);

const NUMBERS = ['n', 'output_compression', 'partial_images'];
const BOOLEANS = ['stream'];
/** The images, a mask, and the fields. */
const MAX_FORM_BYTES = (MAX_EDIT_IMAGES + 1) * MAX_EDIT_IMAGE_BYTES;

export interface EditRequest {
  readonly fields: ImageEditFields;
  readonly images: readonly RequestImage[];
  readonly mask: RequestImage | undefined;
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
  if (isJson(request)) return withJson(http, request, (value) => readEditJson(http, request, uploads, value));
  return withMatchingMask(await readAsForm(http, request, uploads));
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
  const imagesOf = (field: string) =>
    stored.filter((each) => each.field === field).map(({ upload }) => imageOfForm(http, upload));
  const images = imagesOf('image');
  if (images.length === 0) {
    const options = { param: 'image', keyword: 'required', code: 'missing_required_parameter' };
    throw invalidRequest('invalid request: missing property: image', options);
  }
  return { fields: parsed.value, images, mask: imagesOf('mask')[0], imagesField: 'image' };
}

/** @param uploads undefined: the images may not be in the request itself. */
export async function readEditJson(
  http: HttpContext,
  request: Pick<MediaRequest, 'caller'>,
  uploads: RequestUploads | undefined,
  value: unknown,
): Promise<EditRequest> {
  const parsed = parseJson(value);
  if (parsed.violation !== undefined) throw violated(parsed.violation, openAiCodeOf(parsed.violation));
  const { images: references, mask, ...fields } = parsed.value;
  // Their sizes are needed only for the comparison.
  const needsSize = mask != null;
  const images: RequestImage[] = [];
  for (const [index, reference] of references.entries()) {
    const image = { field: `images.${index}`, reference, needsSize };
    images.push(await imageOfReference(http, request, uploads, image));
  }
  return withMatchingMask({
    fields,
    images,
    mask:
      mask == null
        ? undefined
        : await imageOfReference(http, request, uploads, { field: 'mask', reference: mask, needsSize }),
    imagesField: 'images',
  });
}

/** The images as the value of a field: a list for a model that takes one, or the only image. */
export function imageValueOf(
  { definition }: { readonly definition: ModelDefinition },
  { images, imagesField: field }: EditRequest,
): unknown {
  const urls = images.map(({ url }) => url);
  // Of a model without rules for the endpoint, that is the error.
  const hasRules = definition.dialects?.openai?.['images/edits'] !== undefined;
  if (takesSeveral(definition, 'images/edits', 'image')) return urls;
  if (urls.length <= 1 || !hasRules) return urls[0];
  const message = `invalid request: ${field}: the model ${definition.name} takes one image`;
  throw invalidRequest(message, { param: field, keyword: 'maxItems', code: 'invalid_value' });
}

function tooMany(field: string, most: number): RequestError {
  const message = `invalid request: ${field}: there are more than ${most}`;
  return invalidRequest(message, { param: field, keyword: 'maxItems', code: 'invalid_value' });
}

/** Checked as far as both are stored here; of other URLs, the provider finds out. */
function withMatchingMask(read: EditRequest): EditRequest {
  const {
    images: [image],
    mask,
  } = read;
  if (mask?.width === undefined) return read;
  const options = { param: 'mask', keyword: 'mask', code: 'invalid_value' };
  if (mask.mimeType !== 'image/png') {
    throw invalidRequest(`invalid request: mask: got ${mask.mimeType}, want image/png`, options);
  }
  if (image?.width === undefined || (image.width === mask.width && image.height === mask.height)) return read;
  const sizes = `it has ${mask.width}x${mask.height} pixels, and the first image ${image.width}x${image.height}`;
  throw invalidRequest(`invalid request: mask: ${sizes}`, options);
}
