/**
 * `/v1/videos` (contract §10): tasks of video models as OpenAI's clients create, poll, list, download and delete them.
 */
import {
  DeletedVideoSchema,
  VideoContentQuerySchema,
  VideoFormSchema,
  VideoListQuerySchema,
  VideoListSchema,
  VideoRemixSchema,
  VideoRequestSchema,
  VideoSchema,
} from '@darkroom/api/openai/videos';
import type { Video, VideoList, VideoRemix } from '@darkroom/api/openai/videos';
import type { Static } from 'typebox';
import { inputOf } from '../../catalogue/openai-input.ts';
import { secondsUntilNextPoll } from '../../domain/waits.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { outputFileName, presentInput, presentTask } from '../../presenters/task.ts';
import { REMIXED_FROM } from '../../presenters/video.ts';
import { cancelTask } from '../../tasks/lifecycle/cancel.ts';
import { eraseTask } from '../../tasks/lifecycle/erase.ts';
import { listVideos } from '../../tasks/listing/list-videos.ts';
import { readTaskInput } from '../../tasks/record/input-objects.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { metadataOf, startMediaCall } from '../media-calls/create.ts';
import { MEDIA_ERRORS, MEDIA_REQUEST_HEADERS, mediaResponseHeaders, withMediaHeaders } from '../media-calls/headers.ts';
import { servable } from '../media-calls/outputs.ts';
import { withUploads } from '../media-calls/request-files.ts';
import {
  findVideo,
  presentOneVideo,
  presentVideos,
  readVideoRequest,
  requireVideoFile,
} from '../media-calls/videos.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/response-headers.ts';
import { waitForStatusChange } from '../streams/long-poll.ts';
import { FILE_RESPONSES, sendStoredFile } from '../streams/stored-file.ts';

/** How long deleting waits for a task in progress to end, in seconds; then the client is to try again. */
const DELETE_WAIT_SECONDS = 20;
const DEFAULT_LIMIT = 20;

const { Prefer: _, ...REQUEST_HEADERS } = MEDIA_REQUEST_HEADERS;
const PARAMS = { videoId: 'The id of the video, which is that of its task.' };
const POLL_HEADERS = {
  ...DEPRECATION_HEADERS,
  'openai-poll-after-ms': "When the next poll is worthwhile, in milliseconds. OpenAI's clients obey it.",
};

const CONTENT_TYPES = ['video/*', 'image/*'];
/** How long a redirect to the store itself is valid, in seconds. */
const DIRECT_SECONDS = 60;

export function videoRoutes(http: HttpContext): readonly Route[] {
  const video = { kind: 'json', schema: VideoSchema } as const;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/videos',
      operationId: 'createVideo',
      tag: 'Videos',
      summary: 'Create a video',
      description:
        "Compatible with OpenAI's videos. Creates a task and returns immediately; poll the video until it is `completed` or `failed`. A field that the model does not have is rejected, and the error names it.",
      access: 'tasks:write',
      budget: 'create',
      headers: REQUEST_HEADERS,
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data'],
        form: VideoFormSchema,
        json: {
          schema: VideoRequestSchema,
          example: { model: 'darkroom/motion', prompt: 'A lighthouse in the rain', seconds: '4' },
        },
        description: 'The fields, as a form or as JSON. A form may have an image as a file.',
      },
      response: video,
      responseHeaders: mediaResponseHeaders(http),
      errors: MEDIA_ERRORS,
      handle: (request) => withMediaHeaders(http, request, () => create(http, request)),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/videos/{videoId}/remix',
      operationId: 'remixVideo',
      tag: 'Videos',
      summary: 'Remix a video',
      description:
        "Creates a video from a completed one and a new prompt. The model must take a video: its `endpoints` list this path. If it is the model of the video, the other fields of that video's input stay as they were.",
      access: 'tasks:write',
      budget: 'create',
      params: PARAMS,
      headers: REQUEST_HEADERS,
      body: { kind: 'json', schema: VideoRemixSchema },
      response: video,
      responseHeaders: mediaResponseHeaders(http),
      errors: MEDIA_ERRORS,
      handle: (request) => withMediaHeaders(http, request, () => remix(http, request)),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/videos',
      operationId: 'listVideos',
      tag: 'Videos',
      summary: 'List videos',
      description: 'All tasks of video models, however they were created, except erased ones.',
      access: 'tasks:read',
      query: VideoListQuerySchema,
      isExpensive: true,
      response: { kind: 'json', schema: VideoListSchema },
      handle: (request) => list(http, request),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/videos/{videoId}',
      operationId: 'getVideo',
      tag: 'Videos',
      summary: 'Get a video',
      access: 'tasks:read',
      params: PARAMS,
      response: video,
      responseHeaders: POLL_HEADERS,
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      handle: (request) => get(http, request),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/videos/{videoId}',
      operationId: 'deleteVideo',
      tag: 'Videos',
      summary: 'Delete a video',
      description: `Permanently deletes the files and the input, as erasing a task does. A video in progress is cancelled first; if it has not ended after ${DELETE_WAIT_SECONDS} s, the response is 409: repeat the request.`,
      access: 'tasks:write',
      params: PARAMS,
      response: { kind: 'json', schema: DeletedVideoSchema },
      errors: ['NOT_FOUND', 'RESPONSE_IN_PROGRESS', 'TASK_PRUNED'],
      handle: (request) => remove(http, request),
    }),
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

type Request<Body = unknown> = RouteRequest<unknown, Body>;

async function create(http: HttpContext, request: Request): Promise<Video> {
  return withUploads(http, request.caller.accountId, async (uploads) => {
    const { fields, image } = await readVideoRequest(http, request, uploads);
    const model = http.catalogue.resolve(fields.model, undefined);
    const started = await startMediaCall(http, request, {
      endpoint: 'videos',
      model,
      task: {
        model: fields.model,
        input: inputOf(model.definition, 'videos', { ...fields, input_reference: image?.url }),
        ...metadataOf(fields),
      },
      sent: { ...fields, input_reference: image?.print ?? null },
      isBudgeted: true,
      onCreated: () => uploads.keep(),
    });
    return presentOneVideo(http, started);
  });
}

async function remix(http: HttpContext, request: Request<VideoRemix>): Promise<Video> {
  const { caller, body, params } = request;
  const { task: source } = await findVideo(http, caller.accountId, params['videoId']);
  const name = body.model ?? source.model;
  const model = http.catalogue.resolve(name, undefined);
  const file = requireVideoFile(http, source, 'video');
  const [url] = (presentTask(source, http.urlSigner, http.now()).output ?? []).flatMap(({ id, url: each }) =>
    id === file.id ? [each] : [],
  );
  const fields = inputOf(model.definition, 'videos/remix', { prompt: body.prompt, video: url });
  const earlier = model.fullName === source.model ? await inputOfTask(http, source) : {};
  const started = await startMediaCall(http, request, {
    endpoint: 'videos/remix',
    model,
    task: {
      model: name,
      input: { ...earlier, ...fields },
      metadata: { ...metadataOf(body).metadata, [REMIXED_FROM]: source.id },
    },
    sent: { ...body, video: source.id },
    isBudgeted: true,
  });
  return presentOneVideo(http, started);
}

/** What the video was made from; nothing once that was erased. */
async function inputOfTask(
  http: HttpContext,
  { id, accountId }: TaskDetail,
): Promise<Readonly<Record<string, unknown>>> {
  const input = await readTaskInput(http.database, id, accountId);
  return input === null ? {} : presentInput(input, http.urlSigner);
}

async function list(
  http: HttpContext,
  { caller: { accountId }, query }: RouteRequest<Static<typeof VideoListQuerySchema>, unknown>,
): Promise<VideoList> {
  const { after, limit = DEFAULT_LIMIT, order = 'desc' } = query;
  if (after !== undefined && !isTaskId(after)) throw unknownVideo();
  const { hashes, models } = await http.definitions.ofModality('video');
  const request = { accountId, models, definitionHashes: hashes, after, order, limit };
  const found = await listVideos(http.database, request);
  if (found === undefined) throw unknownVideo();
  const data = [...(await presentVideos(http, accountId, found.tasks))];
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.hasMore,
  };
}

function unknownVideo(): RequestError {
  const message = 'invalid request: after: there is no such video; send the last_id of a page';
  return invalidRequest(message, { param: 'after', keyword: 'unknown', code: 'invalid_value' });
}

async function get(http: HttpContext, { ctx, caller, params }: Request): Promise<Video> {
  const { task, definition } = await findVideo(http, caller.accountId, params['videoId']);
  setDeprecationHeaders(ctx, http.catalogue.find(task.model));
  if (!isTerminal(task.status)) {
    const seconds = secondsUntilNextPoll(definition.typicalSeconds, task.ageSeconds);
    ctx.set('openai-poll-after-ms', String(seconds * 1000));
    http.considerRepair(task);
  }
  return presentOneVideo(http, task);
}

async function remove(http: HttpContext, request: Request): Promise<Static<typeof DeletedVideoSchema>> {
  const { accountId } = request.caller;
  const { task } = await findVideo(http, accountId, request.params['videoId']);
  const database = http.accountDatabase(accountId);
  if (!isTerminal(task.status)) await end(http, request, task);
  await eraseTask(database, accountId, task.id, http.now());
  return { id: task.id, object: 'video.deleted', deleted: true };
}

/** @throws {RequestError} 409: it has not ended in time. */
async function end(http: HttpContext, { ctx, caller }: Request, { id }: TaskDetail): Promise<void> {
  const { accountId } = caller;
  const { outputRetentionDays } = http.config;
  const settled = http.metrics.tasks.settled;
  await holdShareUntilClosed(http.waitingResponses, accountId, ctx.res);
  if (await cancelTask(http.accountDatabase(accountId), accountId, id, outputRetentionDays, settled)) {
    http.wakeLauncher();
  }
  // Of the later statuses there is only the last.
  await waitForStatusChange(http, caller, id, 'archiving', DELETE_WAIT_SECONDS, ctx.res);
  const { status } = await readTask(http.database, id, accountId);
  if (isTerminal(status)) return;
  const message = 'the video is in progress and is being cancelled; repeat the request to delete it';
  throw new RequestError('response_in_progress', message, { code: 'video_in_progress' });
}
