/** `POST /v1/audio/speech` (contract §10): a task whose file is the response, from its first bytes on. */
import { Type } from 'typebox';
import { contentTypeOf } from '@darkroom/media/media-types';
import { SpeechRequestSchema } from '@darkroom/api/openai/speech';
import type { SpeechRequest } from '@darkroom/api/openai/speech';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { inputOf } from '../../catalogue/openai-input.ts';
import { formatEvent } from '../../domain/server-sent-event.ts';
import { disposition } from '../../objects/urls/media-response.ts';
import { outputFileName } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import {
  MEDIA_ERRORS,
  MEDIA_REQUEST_HEADERS,
  mediaResponseHeaders,
  runMediaCall,
  withMediaHeaders,
} from '../media-calls/call.ts';
import { openLiveFile } from '../media-calls/live-file.ts';
import type { FileForm, LiveFile } from '../media-calls/live-file.ts';
import { requireOutputs, sendStream, servable } from '../media-calls/outputs.ts';

const NO_QUERY = Type.Object({}, { additionalProperties: false });

export function speechRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/audio/speech',
      operationId: 'createSpeech',
      tag: 'Images and audio',
      summary: 'Generate speech',
      description:
        "Compatible with OpenAI's speech. Creates a task and returns its file. Where the provider sends the file while it generates it, the response begins with the first bytes; otherwise it waits for the result. If the client disconnects, the task continues. A field that the model does not have is rejected, and the error names it.",
      access: 'tasks:write',
      budget: 'deferred',
      query: NO_QUERY,
      headers: MEDIA_REQUEST_HEADERS,
      body: {
        kind: 'json',
        schema: SpeechRequestSchema,
        examples: {
          speech: {
            summary: 'A sentence',
            value: { model: 'darkroom/speech', input: 'High water is at six in the morning.', voice: 'alloy' },
          },
        },
      },
      response: {
        kind: 'other',
        mimeTypes: ['audio/*', 'text/event-stream'],
        description: 'The bytes of the file; with `stream_format` `sse`, events with its bytes in base64.',
      },
      otherResponses: { 202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema } },
      responseHeaders: mediaResponseHeaders(http),
      errors: MEDIA_ERRORS,
      handle: (request) => withMediaHeaders(http, request, (setHeaders) => speak(http, request, setHeaders)),
    }),
  ];
}

async function speak(
  http: HttpContext,
  request: RouteRequest<unknown, SpeechRequest>,
  setHeaders: () => void,
): Promise<undefined> {
  const { ctx, body } = request;
  const model = http.catalogue.resolve(body.model, undefined);
  const input = inputOf(model.definition, 'audio/speech', body);
  const task = { model: body.model, input };
  const form = body.stream_format === 'sse' ? AS_EVENTS : AS_FILE;
  let live: LiveFile | undefined;
  const ended = await runMediaCall(http, request, {
    endpoint: 'audio/speech',
    model,
    task,
    sent: body,
    listen: async (taskId) => (live = await openLiveFile(http, request, taskId, { form, setHeaders })),
  });
  if (ended === undefined) return;
  const [output] = requireOutputs(http, ended);
  if (output === undefined) throw new RequestError('unavailable', 'the task has no file', { code: 'no_output' });
  const file = await servable(http, output);
  if (live !== undefined && (live.isSending() || form === AS_EVENTS)) {
    await live.finish(file);
    return;
  }
  const { objectKey, sizeBytes, mimeType } = file;
  ctx.type = contentTypeOf(mimeType);
  ctx.set('Content-Disposition', disposition({ mimeType, fileName: outputFileName(ended.id, output) }));
  sendStream(http, ctx, await http.store.read(objectKey), sizeBytes);
}

/** The bytes of the file. */
const AS_FILE: FileForm = {
  head: (mimeType) => ({ 'Content-Type': contentTypeOf(mimeType) }),
  piece: (bytes) => bytes,
  end: () => '',
};

/** The events of OpenAI's `stream_format: sse`. */
const AS_EVENTS: FileForm = {
  head: () => ({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' }),
  piece: (bytes) => formatEvent({ data: { type: 'speech.audio.delta', audio: bytes.toString('base64') } }),
  // Speech is not priced by tokens here; the clients' types require the counts.
  end: () =>
    formatEvent({
      data: { type: 'speech.audio.done', usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } },
    }),
};
