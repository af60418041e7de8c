/** `POST /v1/images/generations` (contract §10): a task whose images are the response. */
import { inputOf } from '../../catalogue/openai-input.ts';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { ImageGenerationRequestSchema, ImagesResponseSchema } from '@darkroom/api/openai/images';
import type { ImageGenerationRequest } from '@darkroom/api/openai/images';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { MEDIA_REQUEST_HEADERS, mediaResponseHeaders, withMediaHeaders } from '../media-calls/call.ts';
import type { MediaCall } from '../media-calls/call.ts';
import { requireReturnable, respondWithImages } from '../media-calls/images.ts';

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
      otherResponses: {
        200: { description: 'With `stream`: an event for each image.', mimeTypes: ['text/event-stream'] },
        202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema },
      },
      responseHeaders: mediaResponseHeaders(http),
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE', 'IDEMPOTENCY_KEY_MISMATCH', 'NOT_FOUND'],
      handle: (request) => withMediaHeaders(http, request, (setHeaders) => generate(http, request, setHeaders)),
    }),
  ];
}

async function generate(
  http: HttpContext,
  request: RouteRequest<unknown, ImageGenerationRequest>,
  setHeaders: () => void,
): Promise<unknown> {
  const { body } = request;
  requireReturnable(body);
  const model = http.catalogue.resolve(body.model, undefined);
  const input = inputOf(model.definition, 'images/generations', body);
  const metadata = body.user ? { metadata: { user: body.user } } : {};
  const task = { model: body.model, input, ...metadata };
  const call: MediaCall = { endpoint: 'images/generations', model, task, sent: body };
  return respondWithImages(http, {
    request,
    call,
    fields: body,
    completedEvent: 'image_generation.completed',
    setHeaders,
  });
}
