/**
 * Calls of the images endpoints (contract §10): how a request to edit images is read, and how the images of a task are
 * the response, as JSON with base64 or URLs, or as a stream with an event for each image.
 */
import {
  ImageEditFieldsSchema,
  ImageEditRequestSchema,
  MAX_EDIT_IMAGES,
  MAX_EDIT_IMAGE_BYTES,
} from '@darkroom/api/openai/images';
import type { ImageEditFields, ImagesResponse } from '@darkroom/api/openai/images';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { takesSeveral } from '../../catalogue/openai-input.ts';
import { presentTask } from '../../presenters/task.ts';
import { compileOpenAiParse } from '../../schema/openai-parse.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';
import { storeImages } from '../bodies/store-images.ts';
import { FormDecoder, unknownField } from '../bodies/upload-body.ts';
import { runMediaCall, streamMediaCall } from './call.ts';
import type { MediaCall } from './create.ts';
import type { MediaRequest } from './headers.ts';
import { chunksOf, requireOutputs, sendParts, servable } from './outputs.ts';
import type { BodyPart } from './outputs.ts';
import { imageOfForm, imageOfReference, isJson, requireParsed, withJson } from './request-files.ts';
import type { RequestImage, RequestUploads } from './request-files.ts';

const parseFields = compileOpenAiParse(ImageEditFieldsSchema);
const parseJson = compileOpenAiParse(ImageEditRequestSchema);

const NUMBERS = ['n', 'output_compression', 'partial_images'];
const BOOLEANS = ['stream'];
/** The images, a mask, and the fields. */
const MAX_FORM_BYTES = (MAX_EDIT_IMAGES + 1) * MAX_EDIT_IMAGE_BYTES;

/** What clients expect in every event. */
const ALL_FACTS = { size: 'auto', quality: 'auto', background: 'auto', output_format: 'png' };
/** Tokens are not counted: a task has a price of its own. */
const NO_USAGE = {
  total_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};

/** A request to edit images: its fields, and its images as URLs that an input takes. */
export interface EditRequest {
  readonly fields: ImageEditFields;
  readonly images: readonly RequestImage[];
  readonly mask: RequestImage | undefined;
  /** The name of the field with the images, for errors. */
  readonly imagesField: 'image' | 'images';
}

/**
 * Reads a request to edit images, as a form or as JSON. Images that are in the request itself become uploads; those of
 * a form are streamed into the store.
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
  const fields = requireParsed(parseFields, decoder.fields());
  const imagesIn = (field: string) =>
    stored.filter((each) => each.field === field).map(({ upload }) => imageOfForm(http, upload));
  const images = imagesIn('image');
  if (images.length === 0) {
    const options = { param: 'image', keyword: 'required', code: 'missing_required_parameter' };
    throw invalidRequest('invalid request: missing property: image', options);
  }
  return { fields, images, mask: imagesIn('mask')[0], imagesField: 'image' };
}

/** @param uploads undefined: the images may not be in the request itself. */
export async function readEditJson(
  http: HttpContext,
  request: Pick<MediaRequest, 'caller'>,
  uploads: RequestUploads | undefined,
  value: unknown,
): Promise<EditRequest> {
  const { images: references, mask, ...fields } = requireParsed(parseJson, value);
  const images: RequestImage[] = [];
  for (const [index, reference] of references.entries()) {
    images.push(await imageOfReference(http, request, uploads, { field: `images.${index}`, reference }));
  }
  return withMatchingMask({
    fields,
    images,
    mask: mask == null ? undefined : await imageOfReference(http, request, uploads, { field: 'mask', reference: mask }),
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

/** The fields of a request that decide how its images are returned. */
export interface ImageResponseFields {
  readonly stream?: boolean | null;
  readonly partial_images?: number | null;
  readonly response_format?: string | null;
  readonly background?: string | null;
  readonly quality?: string | null;
}

interface ImageCall {
  readonly request: MediaRequest;
  readonly call: MediaCall;
  readonly fields: ImageResponseFields;
  /** The event of an image that is complete. */
  readonly completedEvent: 'image_generation.completed' | 'image_edit.completed';
  /** Called before the head of a stream is sent. */
  readonly setHeaders: () => void;
}

/** @throws {RequestError} fields that contradict each other. */
export function requireReturnable({
  stream,
  partial_images: partial,
  response_format: format,
}: ImageResponseFields): void {
  if (stream !== true && (partial ?? 0) > 0) {
    throw unsupported('partial_images', 'there are partial images only in a stream; send stream: true');
  }
  if (stream === true && format === 'url') {
    throw unsupported('response_format', 'images in a stream are base64; leave it out');
  }
}

function unsupported(field: string, problem: string) {
  const options = { param: field, keyword: 'const', code: 'unsupported_value' };
  return invalidRequest(`invalid request: ${field}: ${problem}`, options);
}

/** Runs the task, and returns the images. @returns the JSON; undefined: the response was sent. */
export async function respondWithImages(http: HttpContext, imageCall: ImageCall): Promise<ImagesResponse | undefined> {
  const { request, call, fields } = imageCall;
  if (fields.stream === true) {
    const { setHeaders } = imageCall;
    return streamMediaCall(http, { request, call, setHeaders, framesOf: (task) => framesOf(http, imageCall, task) });
  }
  const ended = await runMediaCall(http, request, call);
  if (ended === undefined) return undefined;
  const outputs = requireOutputs(http, ended);
  if (fields.response_format === 'url') {
    return imagesOf(http, ended, outputs, fields);
  }
  sendParts(http, request.ctx, await partsOf(http, ended, outputs, factsOf(outputs, fields)));
  return undefined;
}

/** The images as URLs. */
export function imagesOf(
  http: HttpContext,
  task: TaskDetail,
  outputs: readonly TaskOutput[],
  fields: ImageResponseFields,
): ImagesResponse {
  const urls = presentTask(task, http.urlSigner, http.now()).output ?? [];
  return { created: task.completedAt ?? 0, data: urls.map(({ url }) => ({ url })), ...factsOf(outputs, fields) };
}

/** An event for each image, whose file is read while it is sent. */
async function framesOf(
  http: HttpContext,
  { fields, completedEvent }: ImageCall,
  task: TaskDetail,
): Promise<AsyncIterable<string>> {
  const outputs = requireOutputs(http, task);
  const files = await Promise.all(outputs.map((output) => fileOf(http, output)));
  const parts = outputs.flatMap((output, index): BodyPart[] => {
    const file = files[index];
    if (file === undefined) return [];
    const facts = { created_at: task.completedAt ?? 0, ...ALL_FACTS, ...factsOf([output], fields), usage: NO_USAGE };
    return [
      `event: ${completedEvent}\ndata: {"type":"${completedEvent}","b64_json":"`,
      file,
      `",${JSON.stringify(facts).slice(1)}\n\n`,
    ];
  });
  return chunksOf(parts);
}

async function fileOf(http: HttpContext, output: TaskOutput): Promise<Exclude<BodyPart, string>> {
  const { objectKey, sizeBytes } = await servable(http, output);
  return { sizeBytes, open: () => http.store.read(objectKey) };
}

type ImageFacts = Omit<ImagesResponse, 'created' | 'data'>;

/** What the response says about all of its images. */
function factsOf(outputs: readonly TaskOutput[], { background, quality }: ImageResponseFields): ImageFacts {
  const sizes = new Set(outputs.map(({ width, height }) => (width === null ? '' : `${width}x${height}`)));
  const types = new Set(outputs.map(({ mimeType }) => mimeType.replace(/^image\//, '')));
  const [size = ''] = sizes;
  const [format] = types;
  return {
    ...(isChosen(background) ? { background } : {}),
    ...(types.size === 1 && format !== undefined ? { output_format: format } : {}),
    ...(isChosen(quality) ? { quality } : {}),
    ...(sizes.size === 1 && size !== '' ? { size } : {}),
  };
}

/** Whether the client chose a value, and did not leave the choice to the model. */
function isChosen(value: string | null | undefined): value is string {
  return value != null && value !== 'auto';
}

/** The JSON of the response around the files. */
async function partsOf(
  http: HttpContext,
  task: TaskDetail,
  outputs: readonly TaskOutput[],
  facts: ImageFacts,
): Promise<readonly BodyPart[]> {
  const files = await Promise.all(outputs.map((output) => fileOf(http, output)));
  const images = files.flatMap((file, index): BodyPart[] => [`${index === 0 ? '' : ','}{"b64_json":"`, file, '"}']);
  const rest = Object.entries(facts).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return [`{"created":${task.completedAt ?? 0},"data":[`, ...images, `]${rest.join('')}}`];
}
