/** The images of a task as the response: JSON with base64 or URLs, or a stream with an event for each image. */
import type { ImagesResponse } from '@darkroom/api/openai/images';
import { presentTask } from '../../presenters/task.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import type { BodyPart } from './base64-body.ts';
import { chunksOf } from './base64-body.ts';
import { runMediaCall } from './call.ts';
import type { MediaCall } from './create.ts';
import type { MediaRequest } from './headers.ts';
import { requireOutputs, sendParts, servable } from './outputs.ts';
import { streamMediaCall } from './stream.ts';

/** The fields of a request that decide how its images are returned. */
export interface ImageResponseFields {
  readonly stream?: boolean | null;
  readonly partial_images?: number | null;
  readonly response_format?: string | null;
  readonly background?: string | null;
  readonly quality?: string | null;
}

export interface ImageCall {
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

/** What clients expect in every event. */
const ALL_FACTS = { size: 'auto', quality: 'auto', background: 'auto', output_format: 'png' };
/** Tokens are not counted: a task has a price of its own. */
const NO_USAGE = {
  total_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};

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
