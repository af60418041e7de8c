/**
 * The body of a request for a video: JSON, or a form as OpenAI's clients send it. The image that it begins with becomes
 * an upload, unless it has a URL already.
 */
import type { ParameterizedContext } from 'koa';
import { VideoRequestSchema } from '@darkroom/api/openai/videos';
import type { ImageReference, VideoRequest } from '@darkroom/api/openai/videos';
import type { Caller } from '../../accounts/authenticate.ts';
import { UploadNotFoundError, markUploadDeleted, readUpload } from '../../objects/uploads.ts';
import type { Upload } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import { compileParse } from '../../schema/schema-validation.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, openAiCodeOf, violated } from '../app/errors.ts';
import type { RequestState } from '../app/request-state.ts';
import { CREATE_BODY_BYTES, readJson } from '../bodies/json-body.ts';
import { storeBytes, storeForm } from '../bodies/store-upload.ts';

const FILE_FIELD = 'input_reference';
/** A member of the reference in a form: `input_reference[image_url]`. */
const REFERENCE_MEMBER = /^input_reference\[(image_url|file_id)\]$/;
const FILE_ID = /^file_[0-9A-HJKMNP-TV-Z]{26}$/;
const DATA_URL = /^data:[^,]{0,200};base64,/i;

const parseRequest = compileParse(VideoRequestSchema, 'invalid request');

type Request = { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller };

export interface VideoBody {
  readonly fields: VideoRequest;
  /** The URL of the image; undefined: there is none. */
  readonly imageUrl: string | undefined;
  /** The request as it was sent, with the hash of a file in its place. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/**
 * Reads the body, and calls `use` with it. An upload of the image is deleted again, unless `keep` is called: a task was
 * created with it.
 */
export async function withVideoBody<Result>(
  http: HttpContext,
  request: Request,
  use: (body: VideoBody, keep: () => void) => Promise<Result>,
): Promise<Result> {
  const { accountId } = request.caller;
  const { fields, upload } = isForm(request) ? await readForm(http, request) : await readFields(http, request);
  let isKept = false;
  try {
    const body =
      upload === undefined
        ? { fields, imageUrl: await urlOf(http, accountId, fields.input_reference), sent: fields }
        : { fields, imageUrl: urlOfUpload(http, upload), sent: { ...fields, [FILE_FIELD]: upload.sha256 } };
    return await use(body, () => {
      isKept = true;
    });
  } finally {
    if (upload !== undefined && !isKept) await discard(http, upload);
  }
}

interface Received {
  readonly fields: VideoRequest;
  readonly upload?: Upload | undefined;
}

function isForm({ ctx }: Request): boolean {
  return typeof ctx.is('multipart/form-data') === 'string';
}

async function readForm(http: HttpContext, { ctx, caller: { accountId } }: Request): Promise<Received> {
  const form = new VideoForm();
  const upload = await http.uploadSlots.run(accountId, () => storeForm(http, ctx.req, accountId, form));
  try {
    if (upload !== undefined && form.hasReference) throw givenTwice(FILE_FIELD);
    return { fields: parsed(form.fields()), upload };
  } catch (error) {
    if (upload !== undefined) await discard(http, upload);
    throw error;
  }
}

async function readFields(http: HttpContext, { ctx, caller }: Request): Promise<Received> {
  const allowance = http.bodies.ofAccount(caller);
  const { bodyThreads: threads, turns } = http;
  try {
    const reading = { maxBytes: CREATE_BODY_BYTES, allowance, threads, turns, needsFacts: false };
    const fields = parsed((await readJson(ctx.req, reading)).value);
    const dataUrl = fields.input_reference?.image_url;
    if (dataUrl === undefined || !DATA_URL.test(dataUrl)) return { fields };
    const bytes = Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64');
    return { fields, upload: await storeBytes(http, caller.accountId, FILE_FIELD, bytes) };
  } finally {
    allowance.release();
  }
}

function parsed(value: unknown): VideoRequest {
  const result = parseRequest(value);
  if (result.violation !== undefined) throw violated(result.violation, openAiCodeOf(result.violation));
  return result.value;
}

/** @returns undefined: the request has no image. @throws {RequestError} the account has no such file. */
async function urlOf(
  http: HttpContext,
  accountId: string,
  reference: ImageReference | null | undefined,
): Promise<string | undefined> {
  if (reference == null) return undefined;
  const { image_url: url, file_id: fileId } = reference;
  if (fileId === undefined) return url;
  const param = `${FILE_FIELD}.file_id`;
  const upload = FILE_ID.test(fileId)
    ? await readUpload(http.database, accountId, fileId, http.now()).catch((cause: unknown) => {
        if (cause instanceof UploadNotFoundError) return undefined;
        throw cause;
      })
    : undefined;
  if (upload === undefined) {
    throw invalidRequest(`invalid request: ${param}: there is no such file`, { param, code: 'invalid_value' });
  }
  return urlOfUpload(http, upload);
}

function urlOfUpload(http: HttpContext, upload: Upload): string {
  return presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds).url;
}

/** A retry, or a request that is rejected, has no use for its image; at the latest it expires. */
async function discard(http: HttpContext, { accountId, id }: Upload): Promise<void> {
  await markUploadDeleted(http.database, accountId, id, http.now()).catch((error: unknown) => {
    http.logger.warn({ err: error }, 'deleting an upload without a task failed; it will expire');
  });
}

function givenTwice(param: string): Error {
  return invalidRequest(`invalid request: ${param}: it is given twice`, { param });
}

/** Collects the fields of the form, which are all texts. */
class VideoForm {
  readonly file = FILE_FIELD;
  readonly isFileOptional = true;
  readonly #fields = new Map<string, unknown>();

  get hasReference(): boolean {
    return this.#fields.has(FILE_FIELD);
  }

  take(name: string, value: string): void {
    const member = REFERENCE_MEMBER.exec(name)?.[1];
    const field = member === undefined ? name : FILE_FIELD;
    if (this.#fields.has(field)) throw givenTwice(field);
    this.#fields.set(field, member === undefined ? value : { [member]: value });
  }

  fields(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#fields);
  }
}
