/**
 * Calls of the videos endpoints (contract §10): how a request for a video is read, and tasks of video models, found by
 * their ids, presented as OpenAI's videos, with the files that clients can download.
 */
import { VideoRequestSchema } from '@darkroom/api/openai/videos';
import type { Video, VideoRequest, VideoVariant } from '@darkroom/api/openai/videos';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { fieldsSetFor } from '../../catalogue/openai-input.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { MAX_UPLOAD_BYTES } from '../../objects/uploads.ts';
import { presentVideo } from '../../presenters/video.ts';
import { compileOpenAiParse } from '../../schema/openai-parse.ts';
import { readVideoRecords } from '../../tasks/listing/list-videos.ts';
import { TaskNotFoundError, TaskPrunedError, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import { storeImages } from '../bodies/store-images.ts';
import type { ImageForm } from '../bodies/store-images.ts';
import { FormDecoder, isEmptyText, unknownField } from '../bodies/upload-body.ts';
import { describeFailure } from './failure.ts';
import type { MediaRequest } from './headers.ts';
import { requireOutputs } from './outputs.ts';
import { imageOfForm, imageOfReference, isJson, requireParsed, withJson } from './request-files.ts';
import type { RequestImage, RequestUploads } from './request-files.ts';

const IMAGE_FIELD = 'input_reference';
/** A member of the reference in a form: `input_reference[image_url]`. */
const REFERENCE_MEMBER = /^input_reference\[(image_url|file_id)\]$/;

const parseRequest = compileOpenAiParse(VideoRequestSchema);

/** A request for a video: its fields, and the image that it begins with. */
interface ReadVideoRequest {
  readonly fields: VideoRequest;
  readonly image: RequestImage | undefined;
}

/**
 * Reads a request for a video, as a form or as JSON.
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
  const image = await imageOfReference(http, request, uploads, { field: IMAGE_FIELD, reference });
  return { fields, image };
}

function parsed(value: unknown): VideoRequest {
  const fields = requireParsed(parseRequest, value);
  const { seconds } = fields;
  // Some languages write every number with its fraction.
  return typeof seconds === 'string' ? { ...fields, seconds: seconds.replace(/\.0+$/, '') } : fields;
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

interface FoundVideo {
  readonly task: TaskDetail;
  readonly definition: ModelDefinition;
}

/** @throws {RequestError} 404: the account has no such video. @throws {TaskPrunedError} */
export async function findVideo(http: HttpContext, accountId: string, id: string | undefined): Promise<FoundVideo> {
  const task = await readOwnTask(http, accountId, id ?? '');
  const definition = task === undefined ? undefined : await http.definitions.read(task.definitionHash);
  if (task === undefined || definition?.modality !== 'video') throw noVideo();
  const record = (await readVideoRecords(http.database, accountId, [task.id], [])).get(task.id);
  if (record?.isErased !== false) throw noVideo();
  return { task, definition };
}

async function readOwnTask(http: HttpContext, accountId: string, id: string): Promise<TaskDetail | undefined> {
  if (!isTaskId(id)) return undefined;
  try {
    return await readTask(http.database, id, accountId);
  } catch (error) {
    if (error instanceof TaskNotFoundError && !(error instanceof TaskPrunedError)) return undefined;
    throw error;
  }
}

function noVideo(): RequestError {
  return new RequestError('not_found', 'there is no such video', { param: 'video_id', code: 'not_found' });
}

/** @param tasks those of video models. @returns them in their order. */
export async function presentVideos(
  http: HttpContext,
  accountId: string,
  tasks: readonly TaskDetail[],
): Promise<readonly Video[]> {
  const definitions = new Map<string, ModelDefinition>();
  for (const { definitionHash: hash } of tasks) definitions.set(hash, await http.definitions.read(hash));
  const members = [...definitions.values()].flatMap((definition) => fieldsSetFor(definition, 'videos'));
  const ids = tasks.map(({ id }) => id);
  const records = await readVideoRecords(http.database, accountId, ids, [...new Set(['prompt', ...members])]);
  return tasks.flatMap((task) => {
    const definition = definitions.get(task.definitionHash);
    if (definition === undefined) return [];
    return [
      presentVideo(task, { definition, input: records.get(task.id)?.input ?? null, error: errorOf(task, definition) }),
    ];
  });
}

export async function presentOneVideo(http: HttpContext, task: TaskDetail): Promise<Video> {
  const [video] = await presentVideos(http, task.accountId, [task]);
  if (video === undefined) throw new Error('a video was not presented');
  return video;
}

function errorOf(task: TaskDetail, definition: ModelDefinition): Video['error'] {
  if (task.status !== 'fail') return null;
  const { code, message } = describeFailure(task, { endpoint: 'videos', model: { definition } });
  return { code, message };
}

/**
 * A file of a video that clients can download.
 *
 * @throws {RequestError} 404: the task has not made it, or it is gone; 400: no task makes it.
 */
export function requireVideoFile(http: HttpContext, task: TaskDetail, variant: VideoVariant): TaskOutput {
  if (variant === 'spritesheet') {
    const message = 'invalid request: variant: there are no sprite sheets; use video or thumbnail';
    throw invalidRequest(message, { param: 'variant', keyword: 'enum', code: 'unsupported_value' });
  }
  if (task.status === 'fail') {
    const message = 'the video has failed, so it has no content; its error says why';
    throw new RequestError('not_found', message, { code: 'video_failed' });
  }
  if (task.status !== 'success') {
    const message = `Video is not ready yet, use GET /v1/videos/${task.id} to check its status.`;
    throw new RequestError('not_found', message, { code: 'video_not_ready' });
  }
  const file = task.outputs.find(({ type }) => type === variant);
  if (file === undefined) {
    throw new RequestError('not_found', `the video has no ${variant}`, { param: 'variant', code: 'no_output' });
  }
  requireOutputs(http, { ...task, outputs: [file] });
  return file;
}
