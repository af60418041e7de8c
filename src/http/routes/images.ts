/** `POST /v1/images/generations` (contract §10): a task whose images are the response. */
import { inputOf } from '../../catalogue/openai-input.ts';
import { presentTask } from '../../presenters/task.ts';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { ImageGenerationRequestSchema, ImagesResponseSchema } from '@darkroom/api/openai/images';
import type { ImageGenerationRequest, ImagesResponse } from '@darkroom/api/openai/images';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import type { BodyPart } from '../media-calls/base64-body.ts';
import { MEDIA_REQUEST_HEADERS, mediaResponseHeaders, runMediaCall, withMediaHeaders } from '../media-calls/call.ts';
import { requireOutputs, sendParts, servable } from '../media-calls/outputs.ts';

export function imageRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/images/generations',
      operationId: 'createImage',
      tag: 'Images and audio',
      summary: 'Generate images',
      description:
        "Compatible with OpenAI's images. Creates a task and waits for its result. If the client disconnects, the task continues. A field that the model does not have is rejected, and the error names it.",
      access: 'tasks:write',
      budget: 'deferred',
      headers: MEDIA_REQUEST_HEADERS,
      body: {
        kind: 'json',
        schema: ImageGenerationRequestSchema,
        examples: {
          image: {
            summary: 'One image',
            value: { model: 'darkroom/scene', prompt: 'A lighthouse at dusk', size: '1024x1024' },
          },
        },
      },
      response: { kind: 'json', schema: ImagesResponseSchema },
      otherResponses: { 202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema } },
      responseHeaders: mediaResponseHeaders(http),
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE', 'IDEMPOTENCY_KEY_MISMATCH', 'NOT_FOUND'],
      handle: (request) => withMediaHeaders(http, request, () => generate(http, request)),
    }),
  ];
}

async function generate(http: HttpContext, request: RouteRequest<unknown, ImageGenerationRequest>): Promise<unknown> {
  const { ctx, body } = request;
  if (body.stream === true) throw notStreamed('stream', 'false');
  if ((body.partial_images ?? 0) > 0) throw notStreamed('partial_images', '0');
  const model = http.catalogue.resolve(body.model, undefined);
  const input = inputOf(model.definition, 'images/generations', body);
  const metadata = body.user ? { metadata: { user: body.user } } : {};
  const task = { model: body.model, input, ...metadata };
  const ended = await runMediaCall(http, request, { endpoint: 'images/generations', model, task, sent: body });
  if (ended === undefined) return undefined;
  const outputs = requireOutputs(http, ended);
  const facts = factsOf(outputs, body);
  if (body.response_format === 'url') {
    const urls = presentTask(ended, http.urlSigner, http.now()).output ?? [];
    return {
      created: ended.completedAt ?? 0,
      data: urls.map(({ url }) => ({ url })),
      ...facts,
    } satisfies ImagesResponse;
  }
  sendParts(http, ctx, await partsOf(http, ended, outputs, facts));
  return undefined;
}

function notStreamed(field: string, wanted: string) {
  const message = `invalid request: ${field}: images are not streamed; leave it out, or send ${wanted}`;
  return invalidRequest(message, { param: field, keyword: 'const', code: 'unsupported_value' });
}

type ImageFacts = Omit<ImagesResponse, 'created' | 'data'>;

/** What the response says about all of its images. */
function factsOf(outputs: readonly TaskOutput[], body: ImageGenerationRequest): ImageFacts {
  const sizes = new Set(outputs.map(({ width, height }) => (width === null ? '' : `${width}x${height}`)));
  const types = new Set(outputs.map(({ mimeType }) => mimeType.replace(/^image\//, '')));
  const [size = ''] = sizes;
  const [format] = types;
  return {
    ...(isChosen(body.background) ? { background: body.background } : {}),
    ...(types.size === 1 && format !== undefined ? { output_format: format } : {}),
    ...(isChosen(body.quality) ? { quality: body.quality } : {}),
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
  const files = await Promise.all(outputs.map((output) => servable(http, output)));
  const images = files.flatMap(({ objectKey, sizeBytes }, index): BodyPart[] => [
    `${index === 0 ? '' : ','}{"b64_json":"`,
    { sizeBytes, open: () => http.store.read(objectKey) },
    '"}',
  ]);
  const rest = Object.entries(facts).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return [`{"created":${task.completedAt ?? 0},"data":[`, ...images, `]${rest.join('')}}`];
}
