/**
 * OpenAI's official client for Python, unmodified, sync and async, against a running Darkroom: the results of each
 * method of images and audio, its errors, and its automatic retries. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { startOpenAiDarkroom } from './openai-darkroom.ts';
import type { OpenAiDarkroom } from './openai-darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import type { PythonPackage } from './python-environment.ts';

/** The newest one, and the last one of its first major version, which many programs still use. */
const CLIENTS: readonly PythonPackage[] = [
  { name: 'openai', version: '3.57.0' },
  { name: 'openai', version: '1.109.1' },
];

/** What a call returned, or the error that it raised, of the client's own class. */
interface Outcome {
  readonly value?: unknown;
  readonly error?: {
    readonly class: string;
    readonly status?: number;
    readonly param?: string;
    readonly code?: string;
  };
}

/** Runs calls of both clients with the same code: what is awaitable is awaited, what can be iterated is collected. */
const PROGRAM = `
import asyncio, base64, inspect, json, sys
import openai

given = json.load(sys.stdin)
photo = base64.b64decode(given["photo"])
other = base64.b64decode(given["other"])
sound = base64.b64decode(given["sound"])
options = {"base_url": given["url"], "api_key": given["key"]}

async def done(value):
    return await value if inspect.isawaitable(value) else value

async def collected(stream):
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        return [event.to_dict() async for event in stream]
    return [event.to_dict() for event in stream]

async def streamed(manager):
    if hasattr(manager, "__aenter__"):
        async with manager as response:
            return response.headers, b"".join([part async for part in response.iter_bytes()])
    with manager as response:
        return response.headers, b"".join(response.iter_bytes())

def plain(value):
    return value if isinstance(value, str) else value.to_dict()

async def calls(client):
    image = {"prompt": "a lake", "size": "1024x1024"}
    edit = {"model": "darkroom/edit", "prompt": "black and white", "size": "1024x1024"}
    spoken = {"model": "acme/compatible-transcription", "file": ("station.wav", sound)}
    words = {"model": "darkroom/speech", "input": "High water is at six.", "voice": "alloy", "response_format": "wav"}

    async def raw():
        response = await done(client.images.with_raw_response.generate(model="darkroom/scene", **image))
        parsed = await done(response.parse())
        return {"task": response.headers["x-darkroom-task-id"], "size": parsed.size, "images": len(parsed.data)}

    async def url():
        answer = await done(client.images.generate(model="darkroom/scene", response_format="url", **image))
        return answer.data[0].url

    async def several():
        answer = await done(client.images.generate(model="darkroom/canvas", n=2, quality="low", **image))
        return [each.b64_json[:8] for each in answer.data]

    async def edited(images):
        answer = await done(client.images.edit(image=images, **edit))
        return {"size": answer.size, "format": answer.output_format, "images": len(answer.data)}

    async def speech():
        response = await done(client.audio.speech.create(**words))
        return response.content[:4].decode("latin1")

    async def speech_streamed():
        headers, content = await streamed(client.audio.speech.with_streaming_response.create(**words))
        return {"type": headers["content-type"], "head": content[:4].decode("latin1")}

    async def transcript(**more):
        return plain(await done(client.audio.transcriptions.create(**spoken, **more)))

    async def translation(**more):
        return plain(await done(client.audio.translations.create(**spoken, **more)))

    async def repeated():
        impatient = client.with_options(timeout=0.7, max_retries=20)
        answer = await done(impatient.images.generate(model="acme/slow", prompt="a boat [slow 4000]"))
        return len(answer.data)

    def events(stream):
        async def types():
            return [[event["type"], event["size"]] for event in await collected(stream())]
        return types

    yield "generate", raw
    yield "generate url", url
    yield "generate several", several
    yield "generate stream", events(lambda: client.images.generate(
        model="darkroom/scene", stream=True, partial_images=1, **image))
    yield "edit one", lambda: edited(("photo.png", photo))
    yield "edit several", lambda: edited([("a.png", photo), ("b.png", other)])
    yield "edit stream", events(lambda: client.images.edit(image=("photo.png", photo), stream=True, **edit))
    yield "speech", speech
    yield "speech streamed", speech_streamed
    for each in ("json", "text", "srt", "vtt", "verbose_json"):
        yield f"transcription {each}", lambda: transcript(response_format=each)
    yield "transcription stream", lambda: collected(client.audio.transcriptions.create(stream=True, **spoken))
    yield "translation", translation
    yield "translation verbose_json", lambda: translation(response_format="verbose_json")
    yield "translation text", lambda: translation(response_format="text")
    yield "rejected size", lambda: done(client.images.generate(model="darkroom/scene", prompt="a", size="7x7"))
    yield "rejected stream", lambda: collected(client.images.generate(
        model="darkroom/scene", prompt="a", size="7x7", stream=True))
    yield "rejected model", lambda: done(client.images.edit(model="none", prompt="a", image=photo))
    yield "rejected image", lambda: done(client.images.edit(model="darkroom/edit", prompt="a", image=b"none"))
    yield "rejected images", lambda: done(client.images.edit(
        model="darkroom/edit", prompt="a", image=[("a.png", photo)] * 4))
    yield "rejected voice", lambda: done(client.audio.speech.create(model="darkroom/speech", input="a", voice="none"))
    yield "rejected key", lambda: done(client.with_options(api_key="none").images.generate(
        model="darkroom/scene", prompt="a"))
    yield "repeated", repeated

async def main():
    client = openai.AsyncOpenAI(**options) if given["isAsync"] else openai.OpenAI(**options)
    outcomes = {}
    async for name, call in calls(client):
        try:
            outcomes[name] = {"value": await call()}
        except openai.APIStatusError as error:
            outcomes[name] = {"error": {
                "class": type(error).__name__, "status": error.status_code, "param": error.param, "code": error.code}}
        except Exception as error:
            outcomes[name] = {"error": {"class": f"{type(error).__name__}: {error}"}}
    print(json.dumps(outcomes))

asyncio.run(main())
`;

const SIZE = '1024x1024';
const TEXT = 'Mind the gap. The doors close.';
const rejection = (status: number, type: string, param: string | null, code: string) => ({
  error: { class: type, status, param, code },
});

/** The outcome of each call; a function checks the value. */
const EXPECTED: Readonly<Record<string, object | ((value: unknown) => void)>> = {
  'generate url': (value) => assert.match(String(value), /^http:\/\/.*\/media\//),
  'generate several': (value) => assert.equal((value as unknown[]).length, 2),
  'generate stream': { value: [['image_generation.completed', SIZE]] },
  'edit one': { value: { size: SIZE, format: 'png', images: 1 } },
  'edit several': { value: { size: SIZE, format: 'png', images: 1 } },
  'edit stream': { value: [['image_edit.completed', SIZE]] },
  speech: { value: 'RIFF' },
  'speech streamed': { value: { type: 'audio/wav', head: 'RIFF' } },
  'transcription json': { value: { text: TEXT, usage: { type: 'duration', seconds: 3 } } },
  'transcription text': { value: `${TEXT}\n` },
  'transcription srt': (value) => assert.match(String(value), /^1\n00:00:00,000 --> 00:00:01,500\nMind the gap\./),
  'transcription vtt': (value) => assert.match(String(value), /^WEBVTT\n/),
  'transcription verbose_json': (value) => {
    const { language, segments } = value as { language: string; segments: unknown[] };
    assert.deepEqual([language, segments.length], ['english', 2]);
  },
  'transcription stream': {
    value: [
      { type: 'transcript.text.delta', delta: 'Mind the gap.' },
      { type: 'transcript.text.delta', delta: ' The doors close.' },
      { type: 'transcript.text.done', text: TEXT },
    ],
  },
  translation: (value) => assert.equal((value as { text: string }).text, 'Watch out.'),
  'translation verbose_json': (value) => assert.equal((value as { language: string }).language, 'english'),
  'translation text': { value: 'Watch out.\n' },
  'rejected size': rejection(400, 'BadRequestError', 'size', 'invalid_value'),
  'rejected stream': rejection(400, 'BadRequestError', 'size', 'invalid_value'),
  'rejected model': rejection(400, 'BadRequestError', 'model', 'model_not_found'),
  'rejected image': rejection(400, 'BadRequestError', 'image', 'unsupported_file_mimetype'),
  'rejected images': rejection(400, 'BadRequestError', 'image', 'array_above_max_length'),
  'rejected voice': rejection(400, 'BadRequestError', 'voice', 'invalid_value'),
  'rejected key': rejection(401, 'AuthenticationError', null, 'permission_denied'),
  repeated: { value: 1 },
};

const skip = CLIENTS.map(whyNoPackage).find((why) => why !== false) ?? false;

describe("OpenAI's official client for Python", { skip, timeout: 900_000 }, () => {
  let started: OpenAiDarkroom;
  let darkroom: Darkroom;
  let files: { readonly photo: string; readonly other: string; readonly sound: string };
  before(async () => {
    started = await startOpenAiDarkroom();
    ({ darkroom } = started);
    const [photo, other] = await Promise.all(['#c33', '#3c3'].map(painted));
    assert.ok(photo !== undefined && other !== undefined);
    files = { photo, other, sound: drawAudio('a station', 2.5).toString('base64') };
  });
  after(() => started?.stop());

  async function run(python: string, account: TestAccount, isAsync: boolean): Promise<Record<string, Outcome>> {
    const given = { ...files, url: `${darkroom.url}/v1`, key: account.client.key, isAsync };
    const child = spawn(python, ['-W', 'ignore', '-c', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify(given));
    return JSON.parse(await text(child.stdout)) as Record<string, Outcome>;
  }

  for (const client of CLIENTS) {
    for (const isAsync of [false, true]) {
      it(`has the results of every method, with ${client.version}, ${isAsync ? 'async' : 'sync'}`, async () => {
        const account = await darkroom.createAccount();
        const outcomes = await run(await obtainPackage(client), account, isAsync);

        const { generate, ...others } = outcomes;
        const { task, ...generated } = (generate?.value ?? {}) as { task: string };
        assert.deepEqual(generated, { size: SIZE, images: 1 }, JSON.stringify(generate));
        assert.equal((await account.client.get(task)).body.data.status, 'success');
        assert.deepEqual(Object.keys(others), Object.keys(EXPECTED));
        for (const [name, expected] of Object.entries(EXPECTED)) {
          const outcome = others[name] ?? assert.fail(name);
          if (typeof expected !== 'function') {
            assert.deepEqual(outcome, expected, name);
            continue;
          }
          assert.equal(outcome.error, undefined, name);
          expected(outcome.value);
        }
        // What was rejected created no task, and the repeated request one.
        const tasks = await started.tasksOf(account);
        assert.equal(tasks.length, 19);
        assert.ok(tasks.every(({ status }) => status === 'success'));
      });
    }
  }
});

async function painted(background: string): Promise<string> {
  const size = { width: 96, height: 64, channels: 3, background } as const;
  return (await sharp({ create: size }).png().toBuffer()).toString('base64');
}
