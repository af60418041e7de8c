/**
 * `POST /v1/audio/transcriptions` and `/v1/audio/translations` (contract §10): a form with a recording; the transcript
 * of a task is the response.
 */
import { buffer } from 'node:stream/consumers';
import {
  TranscriptionFormSchema,
  TranscriptionRequestSchema,
  TranscriptionSchema,
  TranslationFormSchema,
  TranslationRequestSchema,
} from '@darkroom/api/openai/transcription';
import type { Transcription, TranscriptionRequest } from '@darkroom/api/openai/transcription';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { contentTypeOf } from '@darkroom/media/media-types';
import type { TSchema } from 'typebox';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { UnsupportedFieldError, inputOf, transcriptFormatOf } from '../../catalogue/openai-input.ts';
import type { FileFacts } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import { compileOpenAiParse } from '../../schema/openai-parse.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import { frameOf } from '../../text/encoder.ts';
import { MAX_TRANSCRIPT_BYTES, mimeTypeOfFormat } from '../../transcripts/formats.ts';
import type { TranscriptFormat } from '../../transcripts/formats.ts';
import { transcriptOf } from '../../transcripts/transcript.ts';
import type { Transcript, TranscriptSegment } from '../../transcripts/transcript.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest, invalidValue } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { storeUpload } from '../bodies/store-upload.ts';
import { FormDecoder } from '../bodies/upload-body.ts';
import { runMediaCall, streamMediaCall } from '../media-calls/call.ts';
import { metadataOf } from '../media-calls/create.ts';
import type { MediaCall } from '../media-calls/create.ts';
import {
  MEDIA_FORM_ERRORS,
  MEDIA_REQUEST_HEADERS,
  mediaResponseHeaders,
  warnOfIgnored,
  warningHeaderOf,
  withMediaHeaders,
} from '../media-calls/headers.ts';
import { requireOutputs, sendStream, servable } from '../media-calls/outputs.ts';
import { requireParsed, withUploads } from '../media-calls/request-files.ts';

const TEXT_TYPES = ['text/plain', 'application/x-subrip', 'text/vtt'];
/** Fields that are lists; `include[]` alone is one at OpenAI, too. */
const LISTS = ['timestamp_granularities', 'include'];
/** Fields that no model has, and without which every request is served. */
const IGNORED = ['include', 'chunking_strategy'];
/** The formats of a stream, whose events have the text alone. */
const STREAMED_FORMATS = ['json', 'text'];

/** Of one of the two endpoints. */
interface Kind {
  readonly endpoint: Extract<MediaEndpointName, 'audio/transcriptions' | 'audio/translations'>;
  /** Its name in `verbose_json`. */
  readonly task: NonNullable<Transcription['task']>;
  readonly parse: Parse<TranscriptionRequest>;
}

const TRANSCRIPTION: Kind = {
  endpoint: 'audio/transcriptions',
  task: 'transcribe',
  parse: compileOpenAiParse(TranscriptionRequestSchema),
};
const TRANSLATION: Kind = {
  endpoint: 'audio/translations',
  task: 'translate',
  parse: compileOpenAiParse(TranslationRequestSchema),
};

export function transcriptionRoutes(http: HttpContext): readonly Route[] {
  return [
    routeOf(http, TRANSCRIPTION, {
      operationId: 'createTranscription',
      summary: 'Transcribe a recording',
      description:
        "Compatible with OpenAI's transcriptions. Stores the recording as an upload, creates a task, waits for its result and returns the transcript. If the client disconnects after the recording was sent, the task continues. A field that the model does not have is rejected, and the error names it.",
      form: TranscriptionFormSchema,
      ok: {
        description: 'For `text`, `srt` and `vtt`: the file. With `stream`: events.',
        mimeTypes: [...TEXT_TYPES, 'text/event-stream'],
      },
    }),
    routeOf(http, TRANSLATION, {
      operationId: 'createTranslation',
      summary: 'Translate a recording into English',
      description:
        "Compatible with OpenAI's translations. Like `POST /v1/audio/transcriptions`, with a transcript in English.",
      form: TranslationFormSchema,
      ok: { description: 'For `text`, `srt` and `vtt`: the file.', mimeTypes: TEXT_TYPES },
    }),
  ];
}

interface RouteWords extends Pick<Route, 'operationId' | 'summary' | 'description'> {
  readonly form: TSchema;
  readonly ok: { readonly description: string; readonly mimeTypes: readonly string[] };
}

function routeOf(http: HttpContext, kind: Kind, { form, ok, ...words }: RouteWords): Route {
  return defineRoute({
    ...words,
    method: 'POST',
    path: `/v1/${kind.endpoint}`,
    tag: 'Images and audio',
    access: 'tasks:write',
    budget: 'create',
    headers: MEDIA_REQUEST_HEADERS,
    body: {
      kind: 'raw',
      mimeTypes: ['multipart/form-data'],
      form,
      description: 'A form with the recording and the fields.',
    },
    response: { kind: 'json', schema: TranscriptionSchema },
    otherResponses: {
      200: ok,
      202: { description: 'With `Prefer`: the task, which has not ended.', schema: TaskSchema },
    },
    responseHeaders: { ...mediaResponseHeaders(http), ...(kind === TRANSCRIPTION && warningHeaderOf(http)) },
    errors: MEDIA_FORM_ERRORS,
    handle: (request) => withMediaHeaders(http, request, (setHeaders) => transcribe(http, request, kind, setHeaders)),
  });
}

async function transcribe(
  http: HttpContext,
  request: RouteRequest<unknown, unknown>,
  { endpoint, task, parse }: Kind,
  setHeaders: () => void,
): Promise<unknown> {
  const { ctx, caller } = request;
  const { accountId } = caller;
  const decoder = new FormDecoder({ numbers: ['temperature'], booleans: ['stream'], lists: LISTS });
  const form = { file: 'file', take: (name: string, value: string) => decoder.take(name, value) };
  return withUploads(http, accountId, async (uploads) => {
    const upload = await http.uploadSlots.run(accountId, () =>
      storeUpload(http, ctx.req, accountId, form, { isHeard: true }),
    );
    uploads.add(upload.id);
    const fields = requireParsed(parse, decoder.fields());
    const { stream = false, response_format: format = 'json' } = fields;
    if (stream) requireStreamed(format);
    const model = http.catalogue.resolve(fields.model, undefined);
    warnOfIgnored(
      http,
      request,
      model,
      Object.keys(fields).filter((field) => IGNORED.includes(field)),
    );
    const { url } = presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds);
    const seconds = heldSeconds(model.definition, upload);
    // The events of a stream are made of the JSON, which has the segments.
    const response = { response_format: stream ? 'json' : format };
    const given = { ...fields, language: languageOf(fields), file: url, ...response };
    const call: MediaCall = {
      endpoint,
      model,
      task: {
        model: fields.model,
        input: { ...inputOf(model.definition, endpoint, given), ...seconds },
        ...metadataOf(fields),
      },
      sent: { ...fields, file: upload.sha256 },
      fieldOf: Object.fromEntries(Object.keys(seconds).map((own) => [own, 'file'])),
      isBudgeted: true,
      onCreated: () => uploads.keep(),
    };
    if (stream) return streamMediaCall(http, { request, call, setHeaders, framesOf: (ended) => framesOf(http, ended) });
    const ended = await runMediaCall(http, request, call);
    return ended === undefined ? undefined : respond(http, request, ended, { format, task });
  });
}

/** The codes of languages are compared without regard to case (ISO 639), and models have them in lower case. */
function languageOf({ language }: TranscriptionRequest): string | undefined {
  return language !== undefined && /^[A-Za-z]{2,3}$/.test(language) ? language.toLowerCase() : language;
}

function requireStreamed(format: string): void {
  if (STREAMED_FORMATS.includes(format)) return;
  const message = `invalid request: response_format: a stream has json or text, got ${JSON.stringify(format.slice(0, 64))}`;
  throw invalidRequest(message, { param: 'response_format', keyword: 'enum', code: 'unsupported_value' });
}

/**
 * The length of the recording, if the model holds for as many seconds as its input says: exactly that is held.
 *
 * @throws {RequestError} the price is by time, and the recording has no length that can be measured.
 */
function heldSeconds({ pricing }: ModelDefinition, { mimeType, durationSeconds }: FileFacts): Record<string, number> {
  // Another type is rejected by the model's schema, which names what it takes.
  if (pricing.unit !== 'input_second' || !/^(audio|video)\//.test(mimeType)) return {};
  if (durationSeconds === null) {
    throw invalidValue('file', 'its length cannot be measured; the recording may be damaged');
  }
  const field = pricing.hold?.field;
  return field === undefined ? {} : { [field]: Math.max(1, Math.ceil(durationSeconds)) };
}

/** @returns the JSON; undefined: the file is sent as it is. */
async function respond(
  http: HttpContext,
  { ctx }: RouteRequest<unknown, unknown>,
  ended: TaskDetail,
  { format: responseFormat, task }: { readonly format: string; readonly task: Kind['task'] },
): Promise<unknown> {
  const format = transcriptFormatOf(responseFormat);
  if (format === undefined) throw new UnsupportedFieldError(ended.model, 'response_format', responseFormat);
  if (format === 'json') {
    return transcriptionOf(await readTranscript(http, ended), responseFormat === 'verbose_json' ? task : undefined);
  }
  const { objectKey, sizeBytes, mimeType } = await servable(http, fileOf(http, ended, format));
  const file = await http.store.read(objectKey);
  ctx.type = contentTypeOf(mimeType);
  sendStream(http, ctx, file, sizeBytes);
  return undefined;
}

async function framesOf(http: HttpContext, ended: TaskDetail): Promise<AsyncIterable<string>> {
  return transcriptFrames(await readTranscript(http, ended));
}

async function readTranscript(http: HttpContext, ended: TaskDetail): Promise<Transcript> {
  const { objectKey } = await servable(http, fileOf(http, ended, 'json'));
  const transcript = parseTranscript((await buffer(await http.store.read(objectKey))).toString());
  if (transcript === undefined) throw noTranscript();
  return transcript;
}

function fileOf(http: HttpContext, ended: TaskDetail, format: TranscriptFormat): TaskOutput {
  const wanted = mimeTypeOfFormat(format);
  const output = requireOutputs(http, ended).find(({ mimeType }) => mimeType === wanted);
  if (output === undefined || output.sizeBytes > MAX_TRANSCRIPT_BYTES) throw noTranscript();
  return output;
}

function noTranscript(): RequestError {
  return new RequestError('unavailable', 'the task has no such transcript', {
    code: 'no_output',
    headers: { 'x-should-retry': 'false' },
  });
}

/** @param text of a file in our JSON (transcripts/formats.ts). @returns undefined: it is no transcript. */
function parseTranscript(text: string): Transcript | undefined {
  try {
    return transcriptOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** OpenAI's `json` and `verbose_json`. @param task of `verbose_json`; undefined: the response is `json`. */
function transcriptionOf(
  { text, durationSeconds, language = '', segments = [] }: Transcript,
  task: Transcription['task'],
): Transcription {
  const usage =
    durationSeconds === undefined ? {} : { usage: { type: 'duration', seconds: Math.ceil(durationSeconds) } as const };
  if (task === undefined) return { text, ...usage };
  return {
    task,
    // Of what was written: "always english".
    language: task === 'translate' ? 'english' : language,
    duration: durationSeconds ?? segments.at(-1)?.end ?? 0,
    text,
    segments: segments.map(segmentOf),
    ...usage,
  };
}

/** Clients expect every member; what providers do not report is 0. */
function segmentOf({ start, end, text }: TranscriptSegment, id: number) {
  const unknown = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
  return { id, start, end, text, ...unknown };
}

/** The events of a stream: the text in pieces, one for each segment, and then as a whole. */
async function* transcriptFrames(transcript: Transcript): AsyncGenerator<string> {
  for (const delta of deltasOf(transcript)) yield frameOf({ type: 'transcript.text.delta', delta });
  yield frameOf({ type: 'transcript.text.done', text: transcript.text });
}

/** Together they are the text. From a segment on that does not continue it, the rest is one piece. */
function* deltasOf({ text, segments = [] }: Transcript): Generator<string> {
  let sent = 0;
  for (const segment of segments) {
    if (segment.text === '') continue;
    let begin = sent;
    while (begin < text.length && /\s/.test(text.charAt(begin))) begin += 1;
    if (!text.startsWith(segment.text, begin)) break;
    const end = begin + segment.text.length;
    yield text.slice(sent, end);
    sent = end;
  }
  if (sent < text.length) yield text.slice(sent);
}
