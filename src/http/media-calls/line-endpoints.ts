/** The endpoints whose requests may be lines of a batch: what a line creates, and the response it gets. */
import type { BatchEndpoint } from '@darkroom/api/openai/batches';
import { ImageGenerationRequestSchema } from '@darkroom/api/openai/images';
import { failure, success } from '@darkroom/api/tasks/envelope';
import { requireModel, requireScope } from '../../accounts/authenticate.ts';
import type { LineEndpoint, LineResponse, TaskEndpoint, TextEndpoint } from '../../batches/context.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { inputOf } from '../../catalogue/openai-input.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import type { DarkroomError } from '../../domain/darkroom-error.ts';
import { isRecord } from '../../domain/json.ts';
import { presentTask } from '../../presenters/task.ts';
import { compileOpenAiParse } from '../../schema/openai-parse.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { checkChatBody } from '../../text/chat/decode-request.ts';
import { errorBody } from '../../text/encoder.ts';
import { checkResponsesBody } from '../../text/responses/decode-request.ts';
import type { TextSurface } from '../../text/source.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, problemOf, textProblemOf } from '../app/errors.ts';
import { metadataOf } from './create.ts';
import { failureKind, failureOf, inFieldsOf } from './failure.ts';
import { imageValueOf, imagesOf, readEditJson } from './images.ts';
import type { FieldNames } from './failure.ts';
import type { ImageResponseFields } from './images.ts';
import { requireParsed } from './request-files.ts';
import { presentOneVideo, readVideoJson } from './videos.ts';

const parseImage = compileOpenAiParse(ImageGenerationRequestSchema);

/** Fields of text requests about the connection, which a line does not have. */
const MEMBERS_OF_A_CONNECTION = ['stream', 'background'] as const;

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
      const fields = requireParsed(parseImage, body);
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

function textLines(http: HttpContext, surface: TextSurface): TextEndpoint {
  return {
    kind: 'text',
    surface,
    check(caller, body) {
      requireScope(caller, 'text:write');
      const fields = isRecord(body) ? body : {};
      for (const name of MEMBERS_OF_A_CONNECTION) {
        if (fields[name] !== true) continue;
        throw new InvalidTextRequest(name, `${name}: a line of a batch has none; leave it out`, 'unsupported_value');
      }
      const { model } = surface === 'chat' ? checkChatBody(fields) : checkResponsesBody(fields);
      requireModel(caller, http.catalogue.resolveText(model).name);
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

/** The response for a line of a batch that is rejected, in OpenAI's form. */
function rejected(error: DarkroomError): LineResponse {
  const problem = problemOf(error);
  return { status: factsOf(problem.kind).status, body: errorBody(textProblemOf(problem)) };
}
