/** `GET /v1/videos/{videoId}/content` (contract §10): the file of a video, for the holder of a key. */
import { VideoContentQuerySchema } from '@darkroom/api/openai/videos';
import { outputFileName } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { servable } from '../media-calls/outputs.ts';
import { findVideo, requireVideoFile } from '../media-calls/videos.ts';
import { FILE_RESPONSES, sendStoredFile } from '../streams/stored-file.ts';

const CONTENT_TYPES = ['video/*', 'image/*'];

/** How long a redirect to the store itself is valid, in seconds. */
const DIRECT_SECONDS = 60;

export function videoContentRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/videos/{videoId}/content',
      operationId: 'downloadVideo',
      tag: 'Videos',
      summary: 'Download a video',
      description:
        'Supports conditional and range requests, as signed URLs do. Returns 404 until the video is `completed`.',
      access: 'tasks:read',
      params: { videoId: 'The id of the video, which is that of its task.' },
      query: VideoContentQuerySchema,
      headers: { Range: 'A single range of bytes.' },
      response: { kind: 'other', mimeTypes: CONTENT_TYPES, description: 'The bytes.' },
      otherResponses: { 206: { description: 'The requested range.', mimeTypes: CONTENT_TYPES }, ...FILE_RESPONSES },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params, query: { variant = 'video' } }) {
        const { task } = await findVideo(http, caller.accountId, params['videoId']);
        const output = requireVideoFile(http, task, variant);
        const { objectKey: key, ...record } = await servable(http, output);
        const file = { ...record, key, id: output.id, fileName: outputFileName(task.id, output) };
        const expireAt = Math.floor(http.now() / 1000) + DIRECT_SECONDS;
        return sendStoredFile(http, ctx, file, { expireAt, isForAnyPage: false });
      },
    }),
  ];
}
