/** The endpoints whose requests may be lines of a batch: what a line creates, and the response it gets. */
import { failure, success } from '@darkroom/api/tasks/envelope';
import type { BatchEndpoint } from '@darkroom/api/openai/batches';
import { ImageGenerationRequestSchema } from '@darkroom/api/openai/images';
import { VideoRequestSchema } from '@darkroom/api/openai/videos';
import type { LineEndpoint, LineResponse } from '../../batches/context.ts';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { inputOf } from '../../catalogue/openai-input.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { factsOf } from '../../domain/darkroom-error.ts';
import type { DarkroomError } from '../../domain/darkroom-error.ts';
import { isRecord } from '../../domain/json-members.ts';
import { presentTask } from '../../presenters/task.ts';
import { compileParse } from '../../schema/schema-validation.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { errorBody } from '../../text/error-body.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, openAiCodeOf, problemOf, violated } from '../app/errors.ts';
import { textProblemOf } from '../text/problem.ts';
import { inFieldsOf } from './call.ts';
import { failureKind, failureOf } from './failure.ts';
import { imagesOf } from './images.ts';
import type { ImageResponseFields } from './images.ts';
import { presentOneVideo } from './videos.ts';

const parseImage = compileParse(ImageGenerationRequestSchema, 'invalid request');
const parseVideo = compileParse(VideoRequestSchema, 'invalid request');

export function createLineEndpoints(http: HttpContext): Readonly<Record<BatchEndpoint, LineEndpoint>> {
  return { '/v1/tasks': taskLines(http), '/v1/images/generations': imageLines(http), '/v1/videos': videoLines(http) };
}

function taskLines(http: HttpContext): LineEndpoint {
  return {
    taskOf: (_, body) => ({ body: isRecord(body) ? body : {}, translate: (error) => error }),
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

function imageLines(http: HttpContext): LineEndpoint {
  return {
    taskOf(_, body) {
      const fields = parsed(parseImage, body);
      requireUrls(fields);
      const { model, user } = fields;
      return mediaTask(http, 'images/generations', model, fields, user ? { metadata: { user } } : {});
    },
    async respond(task) {
      if (task.status !== 'success') return rejected(await failed(http, task, 'images/generations'));
      return { status: 200, body: imagesOf(http, task, task.outputs, {}) };
    },
    reject: rejected,
  };
}

function videoLines(http: HttpContext): LineEndpoint {
  return {
    taskOf(_, body) {
      const fields = parsed(parseVideo, body);
      const { model, input_reference: reference } = fields;
      if (reference?.file_id != null) {
        const problem = 'a line refers to an image by image_url';
        throw invalidRequest(`invalid request: input_reference: ${problem}`, {
          param: 'input_reference',
          code: 'unsupported_value',
        });
      }
      return mediaTask(http, 'videos', model, { ...fields, input_reference: reference?.image_url }, {});
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
  name: string,
  fields: Readonly<Record<string, unknown>>,
  rest: Readonly<Record<string, unknown>>,
) {
  const model = http.catalogue.resolve(name, undefined);
  const body = { model: name, input: inputOf(model.definition, endpoint, fields), ...rest };
  const names: { readonly endpoint: MediaEndpointName; readonly model: { readonly definition: ModelDefinition } } = {
    endpoint,
    model,
  };
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

function rejected(error: DarkroomError): LineResponse {
  const problem = problemOf(error);
  return { status: factsOf(problem.kind).status, body: errorBody(textProblemOf(problem)) };
}
