/**
 * `GET /v1/tasks/{taskId}/outputs/{outputId}/preview`: a small copy of an image that a task made, generated on
 * request and not stored. The tools for language models show images by it: the size of their responses is bounded.
 */
import { Type } from 'typebox';
import { UndecodableMediaError } from '@darkroom/media/undecodable-media-error';
import { OutputNotFoundError, readServableOutput } from '../../objects/outputs/outputs.ts';
import { readTask } from '../../tasks/record/read.ts';
import { presentTask } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { taskIdOf } from './task-response.ts';

const PreviewQuery = Type.Object(
  {
    maxEdge: Type.Optional(
      Type.Integer({
        minimum: 16,
        maximum: 1024,
        default: 768,
        description: 'The maximum length of the longer edge, in pixels.',
      }),
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 5_000,
        maximum: 1_000_000,
        default: 200_000,
        description: 'The maximum size of the JPEG, in bytes.',
      }),
    ),
  },
  { additionalProperties: false },
);

export function outputPreviewRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tasks/{taskId}/outputs/{outputId}/preview',
      operationId: 'previewOutput',
      tag: 'Tasks',
      summary: 'Get a preview of an image',
      description:
        'Returns a JPEG of an output of type `image`, `first_frame`, `last_frame` or `thumbnail`. Transparent areas become white, and an animated image is represented by its first frame. The preview is scaled down until it fits `maxBytes`. For a video, request its `thumbnail`.',
      access: 'tasks:read',
      params: {
        taskId: 'The task id, as returned by `POST /v1/tasks`.',
        outputId: 'The `id` of an output of the task.',
      },
      query: PreviewQuery,
      response: { kind: 'other', mimeTypes: ['image/jpeg'], description: 'The preview.' },
      errors: ['NOT_FOUND', 'TASK_PRUNED', 'UNSUPPORTED_MEDIA_TYPE'],
      async handle({ ctx, caller, params, query }) {
        const { accountId } = caller;
        const { maxEdge = 768, maxBytes = 200_000 } = query;
        const output = await findOutput(http, accountId, params);
        if (!output.mimeType.startsWith('image/')) throw noPreview(`it is ${output.mimeType}`);
        const gone = new AbortController();
        ctx.res.once('close', () => gone.abort());
        const source = { sizeBytes: output.sizeBytes, read: () => http.store.read(output.objectKey) };
        const made = await http.previews
          .make(accountId, source, { maxEdge, maxBytes }, gone.signal)
          .catch((error: unknown) => {
            if (gone.signal.aborted) return undefined;
            if (error instanceof UndecodableMediaError) throw noPreview(`the image is ${error.message}`, error);
            throw error;
          });
        if (made === undefined) return undefined;
        ctx.status = 200;
        ctx.set('Cache-Control', 'private, no-store');
        ctx.body = made.jpeg;
        ctx.type = 'image/jpeg';
        return undefined;
      },
    }),
  ];
}

/** @throws {TaskNotFoundError} @throws {TaskPrunedError} @throws {OutputNotFoundError} it is gone, or belongs to another task. */
async function findOutput(http: HttpContext, accountId: string, params: Readonly<Record<string, string>>) {
  const task = await readTask(http.database, taskIdOf(params), accountId);
  const { output = [] } = presentTask(task, http.urlSigner, http.now());
  const found = output.find(({ id }) => id === params['outputId']);
  if (found === undefined) throw new OutputNotFoundError();
  return readServableOutput(http.database, found.id);
}

function noPreview(why: string, cause?: Error): RequestError {
  const message = `there is no preview of this output: ${why}`;
  return new RequestError('unsupported_media_type', message, { cause });
}
