/** `POST /v1/audio/speech` (contract §10): a task whose file is the response, from its first bytes on. */
import { buffer } from 'node:stream/consumers';
import { SpeechModelsSchema, SpeechRequestSchema, VoicesQuerySchema, VoicesSchema } from '@darkroom/api/openai/speech';
import type { SpeechRequest } from '@darkroom/api/openai/speech';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { contentTypeOf } from '@darkroom/media/media-types';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { ignoredFields, inputOf, valuesOf } from '../../catalogue/openai-input.ts';
import { isTextModel } from '../../catalogue/text-definition.ts';
import { formatEvent } from '../../domain/server-sent-event.ts';
import { MAX_WAV_HEAD_BYTES, findWavSamples } from '../../domain/wav.ts';
import type { SampleFormat, WavSamples } from '../../domain/wav.ts';
import type { ServableOutput } from '../../objects/outputs/outputs.ts';
import { disposition } from '../../objects/urls/media-response.ts';
import { outputFileName } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { runMediaCall } from '../media-calls/call.ts';
import { metadataOf } from '../media-calls/create.ts';
import {
  MEDIA_ERRORS,
  MEDIA_REQUEST_HEADERS,
  mediaResponseHeaders,
  warnOfIgnored,
  warningHeaderOf,
  withMediaHeaders,
} from '../media-calls/headers.ts';
import { openLiveFile } from '../media-calls/live-file.ts';
import type { FileForm, LiveFile } from '../media-calls/live-file.ts';
import { requireOutputs, sendStream, servable } from '../media-calls/outputs.ts';

const NOTHING = Buffer.alloc(0);

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
      responseHeaders: {
        ...mediaResponseHeaders(http),
        ...warningHeaderOf(http),
      },
      errors: MEDIA_ERRORS,
      handle: (request) => withMediaHeaders(http, request, (setHeaders) => speak(http, request, setHeaders)),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/audio/models',
      operationId: 'listSpeechModels',
      tag: 'Images and audio',
      summary: 'List speech models',
      description: "Not part of OpenAI's API: Open WebUI requests it, without a key. `/openapi.json` has them too.",
      access: 'none',
      response: { kind: 'json', schema: SpeechModelsSchema },
      handle: () => Promise.resolve({ models: speechModels(http).map(({ name }) => ({ id: name, name })) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/audio/voices',
      operationId: 'listVoices',
      tag: 'Images and audio',
      summary: 'List voices',
      description: "Not part of OpenAI's API: Open WebUI requests it, without a key. `/openapi.json` has them too.",
      access: 'none',
      query: VoicesQuerySchema,
      response: { kind: 'json', schema: VoicesSchema },
      handle({ query: { model } }) {
        const models = speechModels(http).filter(({ name }) => model === undefined || name === model);
        const voices = new Set(models.flatMap((definition) => valuesOf(definition, 'audio/speech', 'voice')));
        return Promise.resolve({ voices: [...voices].map((name) => ({ id: name, name })) });
      },
    }),
  ];
}

function speechModels({ catalogue }: HttpContext): readonly ModelDefinition[] {
  return catalogue
    .available()
    .filter((model) => !isTextModel(model))
    .filter(({ dialects }) => dialects?.openai?.['audio/speech'] !== undefined);
}

async function speak(
  http: HttpContext,
  request: RouteRequest<unknown, SpeechRequest>,
  setHeaders: () => void,
): Promise<undefined> {
  const { ctx, body } = request;
  const model = http.catalogue.resolve(body.model, undefined);
  const { voice } = body;
  const fields = { ...body, voice: typeof voice === 'string' ? voice : (voice.id ?? voice.name) };
  const input = inputOf(model.definition, 'audio/speech', fields);
  warnOfIgnored(http, request, model, ignoredFields(model.definition, 'audio/speech', fields));
  const task = { model: body.model, input, ...metadataOf(body) };
  const isRaw = body.response_format === 'pcm';
  const isEvents = body.stream_format === 'sse';
  const form = { ...(isEvents ? AS_EVENTS : isRaw ? AS_SAMPLES : AS_FILE), ...(isRaw && { content: SAMPLES }) };
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
  const samples = isRaw && live?.isSending() !== true ? await readSamples(http, file) : undefined;
  if (live !== undefined && (live.isSending() || isEvents)) {
    await live.finish(file);
    return;
  }
  const { objectKey, sizeBytes, mimeType } = file;
  const fileName = outputFileName(ended.id, output);
  if (samples !== undefined) {
    const { start, byteLength } = samples;
    ctx.set('Content-Type', contentTypeOfSamples(samples));
    ctx.set('Content-Disposition', disposition({ mimeType, fileName: fileName.replace(/\.wav$/, '.pcm') }));
    sendStream(http, ctx, await http.store.read(objectKey, { start, end: start + byteLength - 1 }), byteLength);
    return;
  }
  ctx.type = contentTypeOf(mimeType);
  ctx.set('Content-Disposition', disposition({ mimeType, fileName }));
  sendStream(http, ctx, await http.store.read(objectKey), sizeBytes);
}

/** `response_format: pcm`: the samples of a WAV file without its head. */
const SAMPLES: NonNullable<FileForm['content']> = {
  isIn: (beginning) => findWavSamples(beginning) !== undefined,
  open() {
    const samples = new RawSamples();
    return (bytes) => samples.take(bytes);
  },
};

/** The bytes of the file. */
const AS_FILE: FileForm = {
  head: (mimeType) => ({ 'Content-Type': contentTypeOf(mimeType) }),
  piece: (bytes) => bytes,
  end: () => '',
};

/** The same of raw samples. */
const AS_SAMPLES: FileForm = {
  ...AS_FILE,
  head(_, beginning) {
    const samples = findWavSamples(beginning);
    return { 'Content-Type': samples === undefined ? 'audio/pcm' : contentTypeOfSamples(samples) };
  },
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

/**
 * The type of raw samples, with their rate and channels, which no other part of the response says. RFC 4856 has these
 * parameters for L16, whose bytes are in the other order.
 */
function contentTypeOfSamples({ rate, channels }: SampleFormat): string {
  return `audio/pcm;rate=${rate};channels=${channels}`;
}

/** Takes the samples out of a WAV file that arrives in pieces. */
class RawSamples {
  #head: Buffer | undefined = NOTHING;
  #bytesLeft = 0;

  /** @throws {RequestError} the file has none. */
  take(bytes: Buffer): Buffer {
    if (this.#head === undefined) return this.#cut(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const samples = findWavSamples(this.#head);
    if (samples === undefined) {
      if (this.#head.length >= MAX_WAV_HEAD_BYTES) throw noSamples();
      return NOTHING;
    }
    const first = this.#head.subarray(samples.start);
    this.#head = undefined;
    this.#bytesLeft = samples.byteLength;
    return this.#cut(first);
  }

  /** What follows the samples is none. */
  #cut(bytes: Buffer): Buffer {
    const taken = bytes.length > this.#bytesLeft ? bytes.subarray(0, this.#bytesLeft) : bytes;
    this.#bytesLeft -= taken.length;
    return taken;
  }
}

/** The samples of a stored file. @throws {RequestError} it has none. */
async function readSamples(
  { store }: HttpContext,
  { objectKey, sizeBytes }: Pick<ServableOutput, 'objectKey' | 'sizeBytes'>,
): Promise<WavSamples> {
  const end = Math.min(sizeBytes, MAX_WAV_HEAD_BYTES) - 1;
  const samples = findWavSamples(await buffer(await store.read(objectKey, { start: 0, end })));
  const byteLength = Math.min(samples?.byteLength ?? 0, sizeBytes - (samples?.start ?? 0));
  if (samples === undefined || byteLength <= 0) throw noSamples();
  return { ...samples, byteLength };
}

function noSamples(): RequestError {
  return new RequestError('unavailable', 'the file of the task has no raw samples of 16 bits', {
    code: 'no_output',
    headers: { 'x-should-retry': 'false' },
  });
}
