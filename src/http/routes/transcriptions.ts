/** `POST /v1/audio/transcriptions` (contract §10): a form with a recording; the transcript of a task is the response. */
import { buffer } from 'node:stream/consumers';
import { TaskSchema } from '@darkroom/api/tasks/task';
import {
  TranscriptionFormSchema,
  TranscriptionRequestSchema,
  TranscriptionSchema,
} from '@darkroom/api/openai/transcription';
import { contentTypeOf } from '@darkroom/media/media-types';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { UnsupportedFieldError, inputOf, transcriptFormatOf } from '../../catalogue/openai-input.ts';
import { presentFile } from '../../presenters/file.ts';
import { compileParse } from '../../schema/schema-validation.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { mimeTypeOfFormat } from '../../transcripts/formats.ts';
import { MAX_TRANSCRIPT_BYTES } from '../../transcripts/transcript-file.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, openAiCodeOf, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { FormDecoder } from '../bodies/form-fields.ts';
import { storeUpload } from '../bodies/store-upload.ts';
import { MEDIA_REQUEST_HEADERS, mediaResponseHeaders, runMediaCall, withMediaHeaders } from '../media-calls/call.ts';
import { requireOutputs, sendStream, servable } from '../media-calls/outputs.ts';
import { withUploads } from '../media-calls/request-uploads.ts';
import { transcriptionOf } from '../media-calls/transcript-body.ts';

const TEXT_TYPES = ['text/plain', 'application/x-subrip', 'text/vtt'];
const parseFields = compileParse(TranscriptionRequestSchema, 'invalid request');

export function transcriptionRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/audio/transcriptions',
      operationId: 'createTranscription',
      tag: 'Images and audio',
      summary: 'Transcribe a recording',
      description:
        "Compatible with OpenAI's transcriptions. Stores the recording as an upload, creates a task, waits for its result and returns the transcript. If the client disconnects after the recording was sent, the task continues. A field that the model does not have is rejected, and the error names it.",
      access: 'tasks:write',
      budget: 'create',
      headers: MEDIA_REQUEST_HEADERS,
      body: {
        kind: 'raw',
        mimeTypes: ['multipart/form-data'],
        form: TranscriptionFormSchema,
        description: 'A form with the recording and the fields.',
      },
      response: { kind: 'json', schema: TranscriptionSchema },
      otherResponses: {
        200: { description: 'For `text`, `srt` and `vtt`: the file.', mimeTypes: TEXT_TYPES },
        202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema },
      },
      responseHeaders: mediaResponseHeaders(http),
      errors: [
        'MODEL_UNAVAILABLE',
        'INSUFFICIENT_BALANCE',
        'IDEMPOTENCY_KEY_MISMATCH',
        'NOT_FOUND',
        'PAYLOAD_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      handle: (request) => withMediaHeaders(http, request, () => transcribe(http, request)),
    }),
  ];
}

async function transcribe(http: HttpContext, request: RouteRequest<unknown, unknown>): Promise<unknown> {
  const { ctx, caller } = request;
  const { accountId } = caller;
  const decoder = new FormDecoder({ numbers: ['temperature'], booleans: ['stream'] });
  const form = { file: 'file', take: (name: string, value: string) => decoder.take(name, value) };
  return withUploads(http, accountId, async (uploads) => {
    const upload = await http.uploadSlots.run(accountId, () => storeUpload(http, ctx.req, accountId, form));
    uploads.add(upload.id);
    const parsed = parseFields(decoder.fields());
    if (parsed.violation !== undefined) throw violated(parsed.violation, openAiCodeOf(parsed.violation));
    const fields = parsed.value;
    const model = http.catalogue.resolve(fields.model, undefined);
    const { url } = presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
    const seconds = heldSeconds(model.definition, upload.durationSeconds);
    const input = { ...inputOf(model.definition, 'audio/transcriptions', { ...fields, file: url }), ...seconds };
    const ended = await runMediaCall(http, request, {
      endpoint: 'audio/transcriptions',
      model,
      task: { model: fields.model, input },
      sent: { ...fields, file: upload.sha256 },
      fieldOf: Object.fromEntries(Object.keys(seconds).map((own) => [own, 'file'])),
      isBudgeted: true,
      onCreated: () => uploads.keep(),
    });
    return ended === undefined ? undefined : respond(http, request, ended, fields.response_format ?? 'json');
  });
}

/** The length of the recording, if the model holds for as many seconds as its input says: exactly that is held. */
function heldSeconds({ pricing }: ModelDefinition, durationSeconds: number | undefined): Record<string, number> {
  const field = pricing.unit === 'input_second' ? pricing.hold?.field : undefined;
  if (field === undefined || durationSeconds === undefined) return {};
  return { [field]: Math.max(1, Math.ceil(durationSeconds)) };
}

/** @returns the JSON; undefined: the file is sent as it is. */
async function respond(
  http: HttpContext,
  { ctx }: RouteRequest<unknown, unknown>,
  task: TaskDetail,
  responseFormat: string,
): Promise<unknown> {
  const format = transcriptFormatOf(responseFormat);
  if (format === undefined) throw new UnsupportedFieldError(task.model, 'response_format', responseFormat);
  const wanted = mimeTypeOfFormat(format);
  const output = requireOutputs(http, task).find(({ mimeType }) => mimeType === wanted);
  if (output === undefined || output.sizeBytes > MAX_TRANSCRIPT_BYTES) throw noTranscript();
  const { objectKey, sizeBytes, mimeType } = await servable(http, output);
  const file = await http.store.read(objectKey);
  if (format !== 'json') {
    ctx.type = contentTypeOf(mimeType);
    sendStream(http, ctx, file, sizeBytes);
    return undefined;
  }
  const transcription = transcriptionOf((await buffer(file)).toString(), responseFormat === 'verbose_json');
  if (transcription === undefined) throw noTranscript();
  return transcription;
}

function noTranscript(): RequestError {
  return new RequestError('unavailable', 'the task has no such transcript', {
    code: 'no_output',
    headers: { 'x-should-retry': 'false' },
  });
}
