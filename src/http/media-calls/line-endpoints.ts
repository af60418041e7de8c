/** The endpoints whose requests may be lines of a batch: what a line creates, and the response it gets. */
import { failure, success } from '@darkroom/api/tasks/envelope';
import type { BatchEndpoint } from '@darkroom/api/openai/batches';
import { ImageGenerationRequestSchema } from '@darkroom/api/openai/images';
import type { LineEndpoint, LineResponse, TaskEndpoint } from '../../batches/context.ts';
import { inputOf } from '../../catalogue/openai-input.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { factsOf } from '../../domain/darkroom-error.ts';
import type { DarkroomError } from '../../domain/darkroom-error.ts';
import { isRecord } from '../../domain/json-members.ts';
import { presentTask } from '../../presenters/task.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, problemOf, violated } from '../app/errors.ts';
import { textLines } from '../text/text-lines.ts';
import { inFieldsOf, metadataOf } from './call.ts';
import { imageValueOf, readEditJson } from './edit-request.ts';
import { failureKind, failureOf } from './failure.ts';
import type { FieldNames } from './failure.ts';
import { imagesOf } from './images.ts';
import type { ImageResponseFields } from './images.ts';
import { rejected } from './line-rejection.ts';
import { readVideoJson } from './video-request.ts';
import { presentOneVideo } from './videos.ts';

const parseImage = compileOpenAiParse(ImageGenerationRequestSchema);

export function createLineEndpoints(http: HttpContext): Readonly<Record<BatchEndpoint, LineEndpoint>> {
  return {
    '/v1/tasks': taskLines(http),
    '/v1/images/generations': imageLines(http),
    '/v1/images/edits': editLines(http),
    '/v1/videos': videoLines(http),
    '/v1/chat/completions': textLines(http, 'chat'),
    '/v1/responses': textLines(http, 'responses'),
  };
}

function taskLines(http: HttpContext): TaskEndpoint {
  return {
    kind: 'task',
    taskOf: (_, body) => Promise.resolve({ body: isRecord(body) ? body : {}, translate: (error) => error }),
    respond(task) {
      const wire = presentTask(task, http.urlSigner, http.now());
      if (task.status === 'success') return Promise.resolve({ status: 200, body: success(wire) });
      const kind = failureKind(task);
      const body = { ...failure(kind, wire.error?.message ?? factsOf(kind).message), data: wire };
      return Promise.resolve({ status: factsOf(kind).status, body });
    },
    reject(error) {
      const { kind, message } = problemOf(error);
      return { status: factsOf(kind).status, body: failure(kind, message) };
    },
  };
}

function imageLines(http: HttpContext): TaskEndpoint {
  return {
    kind: 'task',
    async taskOf(_, body) {
      const fields = parsed(parseImage, body);
      requireUrls(fields);
      return mediaTask(http, 'images/generations', fields, metadataOf(fields));
    },
    respond: (task) => respondWithImages(http, task, 'images/generations'),
    reject: rejected,
  };
}

function editLines(http: HttpContext): TaskEndpoint {
  return {
    kind: 'task',
    async taskOf(caller, body) {
      const read = await readEditJson(http, { caller }, undefined, body);
      requireUrls(read.fields);
      const { fields, mask, imagesField } = read;
      const { definition } = http.catalogue.resolve(fields.model, undefined);
      const own = definition.dialects?.openai?.['images/edits']?.['image']?.field;
      const image = imageValueOf({ definition }, read);
      return mediaTask(
        http,
        'images/edits',
        { ...fields, image, mask: mask?.url },
        metadataOf(fields),
        own === undefined ? {} : { [own]: imagesField },
      );
    },
    respond: (task) => respondWithImages(http, task, 'images/edits'),
    reject: rejected,
  };
}

async function respondWithImages(
  http: HttpContext,
  task: TaskDetail,
  endpoint: MediaEndpointName,
): Promise<LineResponse> {
  if (task.status !== 'success') return rejected(await failed(http, task, endpoint));
  return { status: 200, body: imagesOf(http, task, task.outputs, {}) };
}

function videoLines(http: HttpContext): TaskEndpoint {
  return {
    kind: 'task',
    async taskOf(caller, body) {
      const { fields, image } = await readVideoJson(http, { caller }, undefined, body);
      return mediaTask(http, 'videos', { ...fields, input_reference: image?.url }, metadataOf(fields));
    },
    async respond(task) {
      if (task.status !== 'success') return rejected(await failed(http, task, 'videos'));
      return { status: 200, body: await presentOneVideo(http, task) };
    },
    reject: rejected,
  };
}

function mediaTask(
  http: HttpContext,
  endpoint: MediaEndpointName,
  fields: Readonly<Record<string, unknown>> & { readonly model: string },
  rest: Readonly<Record<string, unknown>>,
  fieldOf: Readonly<Record<string, string>> = {},
) {
  const { model: name } = fields;
  const model = http.catalogue.resolve(name, undefined);
  const body = { model: name, input: inputOf(model.definition, endpoint, fields), ...rest };
  const names: FieldNames = { endpoint, model, fieldOf };
  return { body, translate: (error: DarkroomError) => inFieldsOf(names, error) };
}

function parsed<Value>(parse: Parse<Value>, body: unknown): Value {
  const result = parse(body);
  if (result.violation !== undefined) throw violated(result.violation, openAiCodeOf(result.violation));
  return result.value;
}

/** Results refer to images: a file of them would have the size of all images. */
function requireUrls({ response_format: format, stream }: ImageResponseFields): void {
  if (format === 'b64_json') throw unsupported('response_format', 'the results of a batch have urls; leave it out');
  if (stream === true) throw unsupported('stream', 'there are no streams in a batch; leave it out');
}

function unsupported(field: string, problem: string) {
  return invalidRequest(`invalid request: ${field}: ${problem}`, { param: field, code: 'unsupported_value' });
}

async function failed(http: HttpContext, task: TaskDetail, endpoint: MediaEndpointName) {
  return failureOf(task, { endpoint, model: { definition: await http.definitions.read(task.definitionHash) } });
}
