/** A request for a video, as a form or as JSON: its fields, and the image that it begins with. */
import { VideoRequestSchema } from '@darkroom/api/openai/videos';
import type { VideoRequest } from '@darkroom/api/openai/videos';
import { MAX_UPLOAD_BYTES } from '../../objects/uploads.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, violated } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';
import { FormDecoder, isEmptyText } from '../bodies/form-fields.ts';
import { storeImages } from '../bodies/store-images.ts';
import type { ImageForm } from '../bodies/store-images.ts';
import { unknownField } from '../bodies/upload-body.ts';
import type { MediaRequest } from './call.ts';
import { isJson, withJson } from './json-request.ts';
import { imageOfForm, imageOfReference } from './request-image.ts';
import type { RequestImage } from './request-image.ts';
import type { RequestUploads } from './request-uploads.ts';

const IMAGE_FIELD = 'input_reference';
/** A member of the reference in a form: `input_reference[image_url]`. */
const REFERENCE_MEMBER = /^input_reference\[(image_url|file_id)\]$/;

const parseRequest = compileOpenAiParse(VideoRequestSchema);

export interface ReadVideoRequest {
  readonly fields: VideoRequest;
  readonly image: RequestImage | undefined;
}

/**
 * Reads the request.
 *
 * @param uploads receives the image if it is stored for the request.
 * @throws {RequestError} and what reading bodies and storing uploads throw.
 */
export async function readVideoRequest(
  http: HttpContext,
  request: MediaRequest,
  uploads: RequestUploads,
): Promise<ReadVideoRequest> {
  if (!isJson(request)) return readForm(http, request, uploads);
  return withJson(http, request, (value) => readVideoJson(http, request, uploads, value));
}

async function readForm(http: HttpContext, request: MediaRequest, uploads: RequestUploads): Promise<ReadVideoRequest> {
  const { accountId } = request.caller;
  const form = new VideoForm();
  const [stored] = await http.uploadSlots.run(accountId, () => storeImages(http, request.ctx.req, accountId, form));
  if (stored === undefined) return readVideoJson(http, request, uploads, form.fields());
  uploads.add(stored.upload.id);
  const fields = form.fields();
  if (IMAGE_FIELD in fields) throw givenTwice();
  return { fields: parsed(fields), image: imageOfForm(http, stored.upload) };
}

/** @param uploads undefined: the image may not be in the request itself. */
export async function readVideoJson(
  http: HttpContext,
  request: Pick<MediaRequest, 'caller'>,
  uploads: RequestUploads | undefined,
  value: unknown,
): Promise<ReadVideoRequest> {
  const fields = parsed(value);
  const { input_reference: reference } = fields;
  if (reference == null) return { fields, image: undefined };
  const image = await imageOfReference(http, request, uploads, { field: IMAGE_FIELD, reference, needsSize: false });
  return { fields, image };
}

function parsed(value: unknown): VideoRequest {
  const result = parseRequest(value);
  if (result.violation !== undefined) throw violated(result.violation, openAiCodeOf(result.violation));
  const { seconds } = result.value;
  // Some languages write every number with its fraction.
  return typeof seconds === 'string' ? { ...result.value, seconds: seconds.replace(/\.0+$/, '') } : result.value;
}

/** A form with the image as a file, as a reference, or without one. */
class VideoForm implements ImageForm {
  readonly maxBytes = MAX_UPLOAD_BYTES;
  readonly maxFileBytes = MAX_UPLOAD_BYTES;
  // `seconds` is a text in JSON, too.
  readonly #decoder = new FormDecoder({ numbers: [], booleans: [] });
  #reference: Readonly<Record<string, string>> | undefined;

  admit(name: string, count: number): void {
    if (name !== IMAGE_FIELD) throw unknownField(name);
    if (count > 0) throw givenTwice();
  }

  take(name: string, value: string): void {
    const member = REFERENCE_MEMBER.exec(name)?.[1];
    if (member === undefined) {
      this.#decoder.take(name, value);
      return;
    }
    if (isEmptyText(value)) return;
    if (this.#reference !== undefined) throw givenTwice();
    this.#reference = { [member]: value };
  }

  fields(): Readonly<Record<string, unknown>> {
    const reference = this.#reference === undefined ? {} : { [IMAGE_FIELD]: this.#reference };
    return { ...reference, ...this.#decoder.fields() };
  }
}

function givenTwice(): RequestError {
  return invalidRequest(`invalid request: ${IMAGE_FIELD}: it is given twice`, { param: IMAGE_FIELD });
}
