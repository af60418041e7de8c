/** `POST /v1/images/generations` and `/v1/images/edits` (contract §10): a task whose images are the response. */
import {
  ImageEditFormSchema,
  ImageEditRequestSchema,
  ImageGenerationRequestSchema,
  ImagesResponseSchema,
} from '@darkroom/api/openai/images';
import type { ImageGenerationRequest } from '@darkroom/api/openai/images';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { inputOf } from '../../catalogue/openai-input.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { metadataOf } from '../media-calls/create.ts';
import type { MediaCall } from '../media-calls/create.ts';
import {
  MEDIA_ERRORS,
  MEDIA_FORM_ERRORS,
  MEDIA_REQUEST_HEADERS,
  mediaResponseHeaders,
  withMediaHeaders,
} from '../media-calls/headers.ts';
import { imageValueOf, readEditRequest, requireReturnable, respondWithImages } from '../media-calls/images.ts';
import { withUploads } from '../media-calls/request-files.ts';

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
      errors: MEDIA_ERRORS,
      handle: (request) => withMediaHeaders(http, request, (setHeaders) => generate(http, request, setHeaders)),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/images/edits',
      operationId: 'createImageEdit',
      tag: 'Images and audio',
      summary: 'Edit images',
      description:
        "Compatible with OpenAI's edits, as a form and as JSON. Stores the images of a form as uploads, creates a task and waits for its result. If the client disconnects after the images were sent, the task continues. A field that the model does not have is rejected, and the error names it.",
      access: 'tasks:write',
      budget: 'create',
      headers: MEDIA_REQUEST_HEADERS,
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data'],
        form: ImageEditFormSchema,
        json: {
          schema: ImageEditRequestSchema,
          example: {
            model: 'darkroom/edit',
            prompt: 'Golden hour, and blur the background',
            images: [{ image_url: 'https://example.com/street.jpg' }],
          },
        },
        description: 'A form with the images and the fields, or JSON that refers to images.',
      },
      response: { kind: 'json', schema: ImagesResponseSchema },
      otherResponses: {
        200: { description: 'With `stream`: an event for each image.', mimeTypes: ['text/event-stream'] },
        202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema },
      },
      responseHeaders: mediaResponseHeaders(http),
      errors: MEDIA_FORM_ERRORS,
      handle: (request) => withMediaHeaders(http, request, (setHeaders) => edit(http, request, setHeaders)),
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
  const task = { model: body.model, input, ...metadataOf(body) };
  const call: MediaCall = { endpoint: 'images/generations', model, task, sent: body };
  return respondWithImages(http, {
    request,
    call,
    fields: body,
    completedEvent: 'image_generation.completed',
    setHeaders,
  });
}

async function edit(
  http: HttpContext,
  request: RouteRequest<unknown, unknown>,
  setHeaders: () => void,
): Promise<unknown> {
  return withUploads(http, request.caller.accountId, async (uploads) => {
    const read = await readEditRequest(http, request, uploads);
    const { fields, images, mask, imagesField } = read;
    requireReturnable(fields);
    const model = http.catalogue.resolve(fields.model, undefined);
    const image = imageValueOf(model, read);
    const input = inputOf(model.definition, 'images/edits', { ...fields, image, mask: mask?.url });
    const own = model.definition.dialects?.openai?.['images/edits']?.['image']?.field;
    const call: MediaCall = {
      endpoint: 'images/edits',
      model,
      task: { model: fields.model, input, ...metadataOf(fields) },
      sent: { ...fields, image: images.map(({ print }) => print), mask: mask?.print ?? null },
      fieldOf: own === undefined ? {} : { [own]: imagesField },
      isBudgeted: true,
      onCreated: () => uploads.keep(),
    };
    return respondWithImages(http, { request, call, fields, completedEvent: 'image_edit.completed', setHeaders });
  });
}
