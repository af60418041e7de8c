/** Calls every method of OpenAI's official client for JavaScript, unmodified, in every form that it has. */
import assert from 'node:assert/strict';
import { APIError, toFile } from 'openai';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Form, Results } from './table.ts';

const RESOURCES = ['images', 'audio', 'videos', 'files', 'uploads', 'batches', 'responses'] as const;

const TEXT = 'darkroom/conformance-text';
const ASK = { model: TEXT, input: 'What is 17 * 3? Reply with only the number.' };
const SIZE = '1024x1024';
const VIDEO = { model: 'darkroom/motion', prompt: 'a lighthouse', seconds: '4', size: '1280x720' } as const;
const LINES = Buffer.from(
  JSON.stringify({
    custom_id: 'a',
    method: 'POST',
    url: '/v1/images/generations',
    body: { model: 'darkroom/scene', prompt: 'a lake', size: SIZE },
  }),
);

/** What a method returns: a promise, with two ways to get the response itself where it is one request. */
type Called<Value> = PromiseLike<Value> & {
  withResponse?(): Promise<{ readonly data: Value; readonly response: Response }>;
  asResponse?(): Promise<Response>;
};
/** Calls the method once in a form. @returns false: the method has no such form. */
type Call = (form: Form) => Promise<boolean>;

/** What some calls need. */
class World {
  readonly client: OpenAI;
  readonly #photo: Buffer;
  readonly #sound: Buffer;
  #video: Promise<string> | undefined;

  constructor(client: OpenAI, photo: Buffer, sound: Buffer) {
    this.client = client;
    this.#photo = photo;
    this.#sound = sound;
  }

  photo() {
    return toFile(this.#photo, 'photo.png');
  }

  sound() {
    return toFile(this.#sound, 'station.wav');
  }

  recording(): File {
    return new File([this.#sound], 'sample.wav');
  }

  async file(): Promise<string> {
    const file = await toFile(LINES, 'lines.jsonl');
    return (await this.client.files.create({ file, purpose: 'batch' })).id;
  }

  async upload(): Promise<string> {
    const described = { filename: 'a.bin', purpose: 'user_data', mime_type: 'application/octet-stream' } as const;
    return (await this.client.uploads.create({ ...described, bytes: LINES.length })).id;
  }

  async batch(): Promise<string> {
    return (await this.client.batches.create(batchOf(await this.file()))).id;
  }

  async video(): Promise<string> {
    return (await this.client.videos.create(VIDEO)).id;
  }

  /** The same one for all: making it takes a while. */
  completedVideo(): Promise<string> {
    return (this.#video ??= this.#completed());
  }

  async #completed(): Promise<string> {
    const id = await this.video();
    await waitFor('the video is completed', async () => {
      const { status } = await this.client.videos.retrieve(id);
      assert.notEqual(status, 'failed');
      return status === 'completed';
    });
    return id;
  }

  async response(more: object = {}): Promise<string> {
    return (await this.client.responses.create({ ...ASK, ...more, stream: false })).id;
  }
}

function batchOf(file: string) {
  return { input_file_id: file, endpoint: '/v1/images/generations', completion_window: '24h' } as const;
}

/** The call of what is made for it first. */
function ofMade<Made, Value>(make: () => Promise<Made>, call: (made: Made) => Called<Value>) {
  return async (): Promise<() => Called<Value>> => {
    const made = await make();
    return () => call(made);
  };
}

/** @param check of the value; that of the bare response is only that it has one. */
function once<Value>(
  prepare: () => Promise<() => Called<Value>>,
  check: (value: Value) => void | Promise<void> = () => undefined,
): Call {
  return async (form) => {
    const called = (await prepare())();
    if (form === 'plain') {
      await check(await called);
    } else if (form === 'raw') {
      if (called.withResponse === undefined) return false;
      const { data, response } = await called.withResponse();
      assert.ok(response.headers.get('x-request-id'));
      await check(data);
    } else {
      if (called.asResponse === undefined) return false;
      const response = await called.asResponse();
      assert.ok(response.ok && (await response.arrayBuffer()).byteLength > 0);
    }
    return true;
  };
}

/** @param last the type of the last event. */
function streamed(
  prepare: () => Promise<() => PromiseLike<AsyncIterable<{ readonly type: string }>>>,
  last: string,
): Call {
  return async () => {
    const types: string[] = [];
    for await (const { type } of await (await prepare())()) types.push(type);
    assert.equal(types.at(-1), last);
    return true;
  };
}

async function assertPages(page: AsyncIterable<unknown>, least: number): Promise<void> {
  let count = 0;
  for await (const _ of page) count += 1;
  assert.ok(count >= least, `${count}`);
}

async function assertBytes(response: Response, head: string, at = 0): Promise<void> {
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(bytes.toString('latin1', at, at + head.length), head);
}

/** By method; with ` stream` behind it the call as a stream. */
function callsOf(world: World): Readonly<Record<string, Call>> {
  return { ...mediaCalls(world), ...videoCalls(world), ...fileCalls(world), ...responseCalls(world) };
}

function mediaCalls(world: World): Readonly<Record<string, Call>> {
  const { images, audio } = world.client;
  const scene = { model: 'darkroom/scene', prompt: 'a lake', size: SIZE } as const;
  const edit = async () =>
    ({ model: 'darkroom/edit', prompt: 'black and white', size: SIZE, image: await world.photo() }) as const;
  const spoken = async () => ({ model: 'acme/compatible-transcription', file: await world.sound() });
  const words = { model: 'darkroom/speech', input: 'High water is at six.', voice: 'alloy' } as const;
  return {
    'images.generate': once(
      async () => () => images.generate(scene),
      ({ data }) => assert.ok(data?.[0]?.b64_json),
    ),
    'images.generate stream': streamed(
      async () => () => images.generate({ ...scene, stream: true }),
      'image_generation.completed',
    ),
    'images.edit': once(
      ofMade(edit, (body) => images.edit(body)),
      ({ data }) => assert.ok(data?.[0]?.b64_json),
    ),
    'images.edit stream': streamed(
      ofMade(edit, (body) => images.edit({ ...body, stream: true })),
      'image_edit.completed',
    ),
    'images.createVariation': once(
      ofMade(
        () => world.photo(),
        (image) => images.createVariation({ model: 'darkroom/edit', image }),
      ),
    ),
    'audio.speech.create': once(
      async () => () => audio.speech.create({ ...words, response_format: 'wav' }),
      (response) => assertBytes(response, 'RIFF'),
    ),
    'audio.transcriptions.create': once(
      ofMade(spoken, (body) => audio.transcriptions.create(body)),
      ({ text }) => assert.equal(text, 'Mind the gap. The doors close.'),
    ),
    'audio.transcriptions.create stream': streamed(
      ofMade(spoken, (body) => audio.transcriptions.create({ ...body, stream: true })),
      'transcript.text.done',
    ),
    'audio.translations.create': once(
      ofMade(spoken, (body) => audio.translations.create(body)),
      ({ text }) => assert.equal(text, 'Watch out.'),
    ),
    ...('voices' in audio ? voiceCalls(world, audio as unknown as AudioOfSeven) : {}),
  };
}

/** What the client has since its version 7; the types here are those of version 6. */
type AudioOfSeven = Readonly<
  Record<'voices' | 'voiceConsents', Readonly<Record<string, (...args: readonly unknown[]) => Called<unknown>>>>
>;

function voiceCalls(world: World, audio: AudioOfSeven): Readonly<Record<string, Call>> {
  const call = (resource: keyof AudioOfSeven, method: string, ...args: readonly unknown[]): Call =>
    once(async () => () => audio[resource][method]?.(...args) ?? assert.fail(`no method ${resource}.${method}`));
  const person = { name: 'Ann' };
  const recording = world.recording();
  return {
    'audio.voices.create': call('voices', 'create', { ...person, audio_sample: recording, consent: 'cons_1' }),
    'audio.voices.delete': call('voices', 'delete', 'voice_1'),
    'audio.voiceConsents.create': call('voiceConsents', 'create', { ...person, language: 'en-US', recording }),
    'audio.voiceConsents.list': call('voiceConsents', 'list'),
    'audio.voiceConsents.retrieve': call('voiceConsents', 'retrieve', 'cons_1'),
    'audio.voiceConsents.update': call('voiceConsents', 'update', 'cons_1', person),
    'audio.voiceConsents.delete': call('voiceConsents', 'delete', 'cons_1'),
  };
}

function videoCalls(world: World): Readonly<Record<string, Call>> {
  const { videos } = world.client;
  const ofVideo = <Value>(call: (id: string) => Called<Value>) => ofMade(() => world.video(), call);
  const ofCompleted = <Value>(call: (id: string) => Called<Value>) => ofMade(() => world.completedVideo(), call);
  return {
    'videos.create': once(
      async () => () => videos.create(VIDEO),
      ({ status }) => assert.ok(['queued', 'in_progress'].includes(status)),
    ),
    'videos.retrieve': once(
      ofCompleted((id) => videos.retrieve(id)),
      ({ status }) => assert.equal(status, 'completed'),
    ),
    'videos.list': once(
      async () => {
        await world.video();
        await world.video();
        return () => videos.list({ limit: 1 });
      },
      (page) => assertPages(page, 2),
    ),
    'videos.delete': once(
      ofVideo((id) => videos.delete(id)),
      ({ deleted }) => assert.equal(deleted, true),
    ),
    'videos.downloadContent': once(
      ofCompleted((id) => videos.downloadContent(id)),
      (response) => assertBytes(response, 'ftyp', 4),
    ),
    'videos.remix': once(
      ofCompleted((id) => {
        // OpenAI's API has no model here.
        const body: OpenAI.Videos.VideoRemixParams & { model: string } = { prompt: 'cold', model: 'darkroom/blend' };
        return videos.remix(id, body);
      }),
      ({ remixed_from_video_id: source }) => assert.ok(source),
    ),
    'videos.edit': once(ofCompleted((id) => videos.edit({ prompt: 'cold', video: { id } }))),
    'videos.extend': once(ofCompleted((id) => videos.extend({ prompt: 'cold', seconds: '4', video: { id } }))),
    'videos.createCharacter': once(
      ofMade(
        () => toFile(Buffer.from('a'), 'a.mp4'),
        (video) => videos.createCharacter({ name: 'Ann', video }),
      ),
    ),
    'videos.getCharacter': once(async () => () => videos.getCharacter('char_1')),
  };
}

function fileCalls(world: World): Readonly<Record<string, Call>> {
  const { files, uploads, batches } = world.client;
  const ofFile = <Value>(call: (id: string) => Called<Value>) => ofMade(() => world.file(), call);
  const ofUpload = <Value>(call: (id: string) => Called<Value>) => ofMade(() => world.upload(), call);
  const ofBatch = <Value>(call: (id: string) => Called<Value>) => ofMade(() => world.batch(), call);
  return {
    'files.create': once(
      ofMade(
        () => toFile(LINES, 'lines.jsonl'),
        (file) => files.create({ file, purpose: 'batch' }),
      ),
      ({ bytes }) => assert.equal(bytes, LINES.length),
    ),
    'files.retrieve': once(
      ofFile((id) => files.retrieve(id)),
      ({ filename }) => assert.equal(filename, 'lines.jsonl'),
    ),
    'files.list': once(
      async () => {
        await world.file();
        await world.file();
        return () => files.list({ purpose: 'batch', limit: 1 });
      },
      (page) => assertPages(page, 2),
    ),
    'files.delete': once(
      ofFile((id) => files.delete(id)),
      ({ deleted }) => assert.equal(deleted, true),
    ),
    'files.content': once(
      ofFile((id) => files.content(id)),
      (response) => assertBytes(response, LINES.toString()),
    ),
    'files.waitForProcessing': once(
      ofFile((id) => files.waitForProcessing(id, { pollInterval: 100 })),
      ({ status }) => assert.equal(status, 'processed'),
    ),
    'uploads.create': once(
      async () => () =>
        uploads.create({ filename: 'a.bin', purpose: 'user_data', bytes: 1, mime_type: 'application/octet-stream' }),
      ({ status }) => assert.equal(status, 'pending'),
    ),
    'uploads.parts.create': once(
      async () => {
        const id = await world.upload();
        const data = await toFile(LINES, 'part');
        return () => uploads.parts.create(id, { data });
      },
      (part) => assert.equal(part.object, 'upload.part'),
    ),
    'uploads.complete': once(
      async () => {
        const id = await world.upload();
        const part = await uploads.parts.create(id, { data: await toFile(LINES, 'part') });
        return () => uploads.complete(id, { part_ids: [part.id] });
      },
      ({ file }) => assert.equal(file?.bytes, LINES.length),
    ),
    'uploads.cancel': once(
      ofUpload((id) => uploads.cancel(id)),
      ({ status }) => assert.equal(status, 'cancelled'),
    ),
    'batches.create': once(
      ofFile((id) => batches.create(batchOf(id))),
      ({ object }) => assert.equal(object, 'batch'),
    ),
    'batches.retrieve': once(
      ofBatch((id) => batches.retrieve(id)),
      ({ endpoint }) => assert.equal(endpoint, '/v1/images/generations'),
    ),
    'batches.list': once(
      async () => {
        await world.batch();
        await world.batch();
        return () => batches.list({ limit: 1 });
      },
      (page) => assertPages(page, 2),
    ),
    'batches.cancel': once(
      ofBatch((id) => batches.cancel(id)),
      ({ status }) => assert.ok(['cancelling', 'cancelled'].includes(status)),
    ),
  };
}

function responseCalls(world: World): Readonly<Record<string, Call>> {
  const { responses } = world.client;
  const Person = z.object({ name: z.string(), age: z.number().int() });
  const ofStored = <Value>(call: (id: string) => Called<Value>, more: object = {}) =>
    ofMade(() => world.response(more), call);
  return {
    'responses.create': once(
      async () => () => responses.create(ASK),
      ({ output_text: text }) => assert.match(text, /51/),
    ),
    'responses.create stream': streamed(
      async () => () => responses.create({ ...ASK, stream: true }),
      'response.completed',
    ),
    'responses.retrieve': once(
      ofStored((id) => responses.retrieve(id)),
      ({ output_text: text }) => assert.match(text, /51/),
    ),
    'responses.retrieve stream': streamed(
      ofStored((id) => responses.retrieve(id, { stream: true })),
      'response.completed',
    ),
    'responses.delete': once(ofStored((id) => responses.delete(id))),
    'responses.parse': once(
      async () => () =>
        responses.parse({ model: TEXT, input: 'Invent a person.', text: { format: zodTextFormat(Person, 'person') } }),
      ({ output_parsed: parsed }) => assert.ok(parsed !== null && parsed.name !== ''),
    ),
    'responses.stream': once(
      async () => () => responses.stream(ASK).finalResponse(),
      ({ output_text: text }) => assert.match(text, /51/),
    ),
    'responses.cancel': once(
      ofStored((id) => responses.cancel(id), { background: true }),
      ({ id }) => assert.ok(id),
    ),
    'responses.compact': once(async () => () => responses.compact(ASK)),
    'responses.inputItems.list': once(
      ofStored((id) => responses.inputItems.list(id, { limit: 1 })),
      (page) => assertPages(page, 1),
    ),
    'responses.inputTokens.count': once(async () => () => responses.inputTokens.count(ASK)),
  };
}

/** The methods of the installed client. */
export function methodsOf(client: OpenAI): readonly string[] {
  const found: string[] = [];
  const walk = (resource: object, path: string): void => {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
      if (name !== 'constructor') found.push(`${path}.${name}`);
    }
    for (const [name, inner] of Object.entries(resource)) {
      if (name !== '_client') walk(inner as object, `${path}.${name}`);
    }
  };
  for (const name of RESOURCES) walk(client[name], name);
  return found;
}

/**
 * Calls every method.
 *
 * @param photo a PNG. @param sound a WAV.
 * @returns the results by method and form, and the calls that no method has.
 */
export async function callMethods(
  client: OpenAI,
  photo: Buffer,
  sound: Buffer,
): Promise<{ readonly results: Results; readonly unknown: readonly string[] }> {
  const calls = callsOf(new World(client, photo, sound));
  const results: Record<string, Partial<Record<Form, string>>> = {};
  for (const method of methodsOf(client)) {
    const plain = calls[method];
    const stream = calls[`${method} stream`];
    const forms: Partial<Record<Form, string>> = {};
    for (const form of ['plain', 'raw', 'streaming'] as const) await record(forms, form, plain);
    await record(forms, 'stream', stream);
    results[method] = forms;
  }
  const unknown = Object.keys(calls).filter((name) => results[name.replace(/ stream$/, '')] === undefined);
  return { results, unknown };
}

async function record(results: Partial<Record<Form, string>>, form: Form, call: Call | undefined): Promise<void> {
  if (call === undefined) return;
  try {
    if (await call(form)) results[form] = 'works';
  } catch (error) {
    results[form] = error instanceof APIError ? `${error.status} ${error.code ?? ''}`.trim() : String(error);
  }
}
