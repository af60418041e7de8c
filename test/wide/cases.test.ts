/**
 * What people's devices and programs send, which servers of this interface have rejected: recordings of browsers and
 * phones, forms with empty or typed texts, query parameters of other services, raw samples for voice agents; and what
 * servers answer that are nearly OpenAI's. The clients are real and unmodified. Those for Python are skipped, with the
 * reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import OpenAI, { AzureOpenAI, toFile } from 'openai';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const SPOKEN = 'Mind the gap.';
const OFFLINE = 'darkroom/conformance-transcription';
/** All that are shipped. */
const TRANSCRIBING = [OFFLINE, 'openai/whisper-1', 'openai/gpt-4o-mini-transcribe', 'openai_compatible/transcription'];
const RECORDINGS = ['live.webm', 'mp42_audio.m4a', 'isom_audio.m4a', 'safari.mp4'];
const NAME = '照片.png';

/** Libraries of forms, and the official client, in the newest version. */
const PYTHON_CLIENTS = {
  name: 'openai',
  version: '3.57.0',
  constraints: ['aiohttp==3.14.5', 'httpx==0.28.1', 'requests==2.34.2', 'requests-toolbelt==1.0.0'],
};
/** Speech of a voice agent: always raw samples, taken for 24 kHz and one channel. */
const VOICE_AGENT = { name: 'pipecat-ai[openai]', version: '1.14.0' };

/** Prints what each library received, as JSON. */
const FORMS_PROGRAM = `
import asyncio, base64, json, sys
import aiohttp, httpx, openai, requests
from requests_toolbelt import MultipartEncoder

given = json.load(sys.stdin)
sound = base64.b64decode(given["sound"])
address = given["url"] + "/audio/transcriptions"
headers = {"Authorization": "Bearer " + given["key"]}
texts = {"model": given["model"], "response_format": "json"}
types = ["application/json", "multipart/form-data; charset=utf-8", "application/octet-stream"]

def of_httpx():
    files = {"file": ("whisper_audio.wav", sound, "audio/wav"), "language": (None, ""), "prompt": (None, ""), "temperature": (None, "0")}
    files.update({name: (None, value) for name, value in texts.items()})
    return httpx.post(address, headers=headers, files=files, timeout=None).json()

def of_openai():
    client = openai.OpenAI(base_url=given["url"], api_key=given["key"])
    return client.audio.transcriptions.create(file=("a.wav", sound), language="", prompt="", **texts).to_dict()

async def of_aiohttp(type):
    form = aiohttp.FormData()
    for name, value in texts.items():
        form.add_field(name, value, content_type=type)
    form.add_field("file", sound, filename="a.wav", content_type="audio/wav")
    async with aiohttp.ClientSession() as session, session.post(address, headers=headers, data=form) as response:
        return await response.json()

def of_toolbelt(type):
    fields = {name: (None, value, type) for name, value in texts.items()}
    form = MultipartEncoder({**fields, "file": ("a.wav", sound, "audio/wav")})
    return requests.post(address, headers={**headers, "Content-Type": form.content_type}, data=form).json()

async def name_of_file():
    async with aiohttp.ClientSession() as session, session.get(given["file"], headers=headers) as response:
        return response.content_disposition.filename

answers = [of_httpx(), of_openai()]
for type in types:
    answers += [asyncio.run(of_aiohttp(type)), of_toolbelt(type)]
print(json.dumps({"texts": [answer.get("text", answer) for answer in answers], "name": asyncio.run(name_of_file())}))
`;

const AGENT_PROGRAM = `
import asyncio, json, sys
from pipecat.frames.frames import TTSAudioRawFrame, TTSSpeakFrame, ErrorFrame
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.tests.utils import run_test

given = json.load(sys.stdin)

async def main():
    settings = OpenAITTSService.Settings(model=given["model"], voice="alloy")
    speech = OpenAITTSService(api_key=given["key"], base_url=given["url"], settings=settings, sample_rate=24000, stop_frame_timeout_s=600)
    down, up = await run_test(speech, frames_to_send=[TTSSpeakFrame(text=given["text"])])
    sound = [frame for frame in down if isinstance(frame, TTSAudioRawFrame)]
    failures = [str(frame) for frame in [*down, *up] if isinstance(frame, ErrorFrame)]
    print(json.dumps({
        "bytes": sum(len(frame.audio) for frame in sound),
        "formats": sorted({(frame.sample_rate, frame.num_channels) for frame in sound}),
        "failures": failures,
    }))

asyncio.run(main())
`;

/** What a page does with MediaRecorder: a tone, in pieces as a live recording has them, sent with each model. */
const RECORD = `async ({ url, key, models }) => {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const microphone = context.createMediaStreamDestination();
  tone.connect(microphone);
  tone.start();
  const recorder = new MediaRecorder(microphone.stream);
  const pieces = [];
  const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
  await new Promise((resolve) => {
    recorder.ondataavailable = ({ data }) => { if (pieces.push(data) === 5) resolve(); };
    recorder.start(200);
  });
  recorder.stop();
  await stopped;
  const type = recorder.mimeType;
  return Promise.all(models.map(async (model) => {
    const form = new FormData();
    form.append('file', new Blob(pieces, { type }), 'recording.webm');
    form.append('model', model);
    const headers = { Authorization: 'Bearer ' + key };
    const answer = await fetch(url + '/v1/audio/transcriptions', { method: 'POST', headers, body: form });
    return { model, type, status: answer.status, body: await answer.text() };
  }));
}`;

/** A server that is nearly OpenAI: the prompt of an image decides in which form it answers. */
class NearlyOpenAi {
  readonly image: Buffer;
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  constructor(image: Buffer) {
    this.image = image;
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await buffer(request)).toString('latin1');
    response.setHeader('content-type', request.method === 'GET' ? 'text/html' : 'application/json');
    if (request.url === '/page') response.end('<!doctype html><title>A recorder</title>');
    else if (request.url === '/v1/models') response.end('{"object":"list","data":[]}');
    else if (request.url !== '/v1/images/generations') response.end(JSON.stringify({ text: SPOKEN, duration: 2 }));
    else response.end(JSON.stringify({ created: 1, data: this.#imageAs((JSON.parse(body) as Prompted).prompt) }));
  }

  #imageAs(form: string): unknown {
    const base64 = this.image.toString('base64');
    const dataUrl = `data:image/png;base64,${base64}`;
    if (form === 'an object') return { b64_json: base64 };
    return form === 'a data URL in b64_json' ? [{ b64_json: dataUrl }] : [{ url: dataUrl }];
  }
}

interface Prompted {
  readonly prompt: string;
}

describe("people's own files and clients", { timeout: 1_800_000 }, () => {
  let upstream: NearlyOpenAi;
  let upstreamUrl: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let client: OpenAI;
  let directory: string;
  let photo: Buffer;
  before(async () => {
    const size = { width: 96, height: 64, channels: 3, background: '#c33' } as const;
    photo = await sharp({ create: size }).png().toBuffer();
    upstream = new NearlyOpenAi(photo);
    upstreamUrl = await upstream.start();
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cases-'));
    darkroom = await startDarkroom({
      environment: {
        UPSTREAM_OPENAI_COMPATIBLE_URL: `${upstreamUrl}/v1`,
        UPSTREAM_OPENAI_URL: `${upstreamUrl}/v1`,
        UPSTREAM_OPENAI_KEY: 'test-key',
      },
    });
    account = await darkroom.createAccount();
    client = new OpenAI({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1` });
  });
  after(async () => {
    await darkroom?.stop();
    upstream?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  /** Runs curl with the key. @returns what it printed. */
  async function curl(address: string, ...args: readonly string[]): Promise<string> {
    const key = ['-H', `Authorization: Bearer ${account.client.key}`];
    const { stdout } = await promisify(execFile)('curl', ['-sS', ...key, ...args, `${darkroom.url}${address}`]);
    return stdout;
  }

  /** Runs a program. @returns the JSON in the last line that it printed. */
  async function python(executable: string, program: string, given: object): Promise<unknown> {
    const child = spawn(executable, ['-W', 'ignore', '-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify({ url: `${darkroom.url}/v1`, key: account.client.key, ...given }));
    return JSON.parse((await text(child.stdout)).trim().split('\n').at(-1) ?? '');
  }

  function assertTranscript(said: string, model: string): void {
    if (model === OFFLINE) assert.match(said, /does not listen/);
    else assert.equal(said, SPOKEN);
  }

  it('a page records with MediaRecorder, and every model transcribes it', async () => {
    const minted = await account.client.send('POST', '/v1/tokens', {
      scopes: ['tasks:read', 'tasks:write'],
      seconds: 3_600,
      origins: [upstreamUrl],
    });
    const { token } = minted.body.data as unknown as { readonly token: string };
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`${upstreamUrl}/page`);
      const given = JSON.stringify({ url: darkroom.url, key: token, models: TRANSCRIBING });
      const answers = await page.evaluate<readonly Recorded[]>(`(${RECORD})(${given})`);
      for (const { model, type, status, body } of answers) {
        assert.match(type, /^audio\/webm/);
        assert.equal(status, 200, `${model}: ${body}`);
        assertTranscript((JSON.parse(body) as { readonly text: string }).text, model);
      }
    } finally {
      await browser.close();
    }
  });

  for (const name of RECORDINGS) {
    it(`${name} is transcribed by every model, and as a task`, async () => {
      const file = packageFile(`packages/media/test/files/${name}`);
      for (const model of TRANSCRIBING) {
        const { text: said } = await client.audio.transcriptions.create({
          model,
          file: await toFile(await readFile(file), name),
        });
        assertTranscript(said, model);
      }
      const uploaded = JSON.parse(await curl('/v1/files', '-F', `file=@${file}`)) as Uploaded;
      assert.match(uploaded.data.mimeType, /^audio\//, JSON.stringify(uploaded));
      const input = { audio_url: uploaded.data.url };
      const created = await account.client.create({ model: 'openai_compatible/transcription', input });
      const task = await account.client.waitForTerminal(created.body.data.taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
    });
  }

  it('a photo with megabytes of metadata before its frame is edited', async () => {
    const plain = await readFile(packageFile('packages/media/test/files/plain.jpg'));
    const heavy = Buffer.concat([plain.subarray(0, 2), ...Array.from({ length: 17 }, extendedXmp), plain.subarray(2)]);
    const file = path.join(directory, 'portrait.jpg');
    await writeFile(file, heavy);

    const { data } = await client.images.edit({
      model: 'darkroom/edit',
      prompt: 'black and white',
      image: await toFile(heavy, 'portrait.jpg', { type: 'image/jpeg' }),
    });
    const form = ['-F', 'model=darkroom/edit', '-F', 'prompt=black and white', '-F', `image=@${file}`];
    const byCurl = JSON.parse(await curl('/v1/images/edits', ...form)) as OpenAI.ImagesResponse;

    for (const made of [data?.[0]?.b64_json, byCurl.data?.[0]?.b64_json]) {
      assert.equal((await sharp(Buffer.from(made ?? '', 'base64')).metadata()).format, 'png');
    }
  });

  it(
    'forms with empty and typed texts, and a name that is not ASCII, are read',
    { skip: whyNoPackage(PYTHON_CLIENTS) },
    async () => {
      const { id } = await client.files.create({ file: await toFile(photo, NAME), purpose: 'vision' });
      const sound = drawAudio('a station', 2).toString('base64');
      const file = `${darkroom.url}/v1/files/${id}/content`;
      const given = { model: 'openai_compatible/transcription', sound, file };

      const said = await python(await obtainPackage(PYTHON_CLIENTS), FORMS_PROGRAM, given);

      assert.deepEqual(said, { texts: Array<string>(8).fill(SPOKEN), name: NAME });
    },
  );

  it("empty texts in JSON are as if not given, at OpenAI's endpoints", async () => {
    const words = { model: 'darkroom/speech', input: 'High water.', voice: 'alloy', response_format: 'wav' } as const;
    const spoken = await client.audio.speech.create({ ...words, instructions: '' });
    const image = { model: 'darkroom/scene', prompt: 'a lake', size: '' as '1024x1024', user: '' };

    assert.equal(Buffer.from(await spoken.arrayBuffer()).toString('latin1', 0, 4), 'RIFF');
    assert.ok((await client.images.generate(image)).data?.[0]?.b64_json);
  });

  it('query parameters of Azure and of coding agents are ignored', async () => {
    const options = { apiKey: account.client.key, baseURL: `${darkroom.url}/v1` };
    const preview = new OpenAI({ ...options, defaultQuery: { 'api-version': 'preview' } });
    const azure = new AzureOpenAI({
      baseURL: options.baseURL,
      apiVersion: '2025-04-01-preview',
      azureADTokenProvider: () => Promise.resolve(options.apiKey),
    });
    const ask = { model: 'darkroom/conformance-text', input: 'What is 17 * 3? Reply with only the number.' };
    for (const each of [preview, azure]) {
      const names: string[] = [];
      for await (const { id } of each.models.list()) names.push(id);
      assert.ok(names.includes('darkroom/scene'));
      assert.match((await each.responses.create(ask)).output_text, /51/);
    }
    assert.ok((await preview.images.generate({ model: 'darkroom/scene', prompt: 'a lake' })).data?.[0]?.b64_json);
    const listed = JSON.parse(await curl('/v1/models?client_version=0.133.0')) as { readonly object: string };
    assert.equal(listed.object, 'list');
  });

  it('a data URL is read in every spelling, as a task and at images/edits', async () => {
    const base64 = photo.toString('base64');
    for (const head of ['data:image/png;charset=utf-8;base64,', 'DATA:image/png;base64,', 'data:image/jpg;base64,']) {
      const body = path.join(directory, 'body.json');
      const sent = ['-H', 'Content-Type: application/json', '--data-binary', `@${body}`];
      const input = { prompt: 'black and white', image: head + base64 };
      await writeFile(body, JSON.stringify({ model: 'darkroom/retouch', input }));
      const created = JSON.parse(await curl('/v1/tasks', ...sent)) as { readonly data: { readonly taskId: string } };
      assert.ok(created.data?.taskId, JSON.stringify(created));
      const task = await account.client.waitForTerminal(created.data.taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
      const images = [{ image_url: head + base64 }];
      await writeFile(body, JSON.stringify({ model: 'darkroom/edit', prompt: 'black and white', images }));
      const edited = JSON.parse(await curl('/v1/images/edits', ...sent)) as OpenAI.ImagesResponse;
      assert.ok(edited.data?.[0]?.b64_json, JSON.stringify(edited));
    }
  });

  it('raw samples say their rate and channels', async () => {
    const words = { model: 'darkroom/speech', input: 'High water is at six.', voice: 'alloy' } as const;
    const spoken = await client.audio.speech.create({ ...words, response_format: 'pcm' });

    assert.equal(spoken.headers.get('content-type'), 'audio/pcm;rate=24000;channels=1');
    assert.ok((await spoken.arrayBuffer()).byteLength > 24_000);
  });

  it('a voice agent speaks with raw samples', { skip: whyNoPackage(VOICE_AGENT) }, async () => {
    const executable = await obtainPackage(VOICE_AGENT);
    const words = { model: 'darkroom/speech', text: 'High water is at six.' };

    const { bytes, ...heard } = (await python(executable, AGENT_PROGRAM, words)) as { readonly bytes: number };

    assert.deepEqual(heard, { formats: [[24_000, 1]], failures: [] });
    assert.ok(bytes > 24_000);
  });

  for (const form of ['an object', 'a data URL in b64_json', 'a data URL in url']) {
    it(`an upstream that answers ${form} delivers its image`, async () => {
      const { data } = await client.images.generate({
        model: 'openai_compatible/image',
        prompt: form,
        size: '512x512',
      });

      assert.deepEqual(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'), photo);
    });
  }
});

interface Recorded {
  readonly model: string;
  readonly type: string;
  readonly status: number;
  readonly body: string;
}

interface Uploaded {
  readonly data: { readonly url: string; readonly mimeType: string };
}

/** A segment of a JPEG file as phones write them for depth and portrait effects, as large as one can be. */
function extendedXmp(): Buffer {
  const segment = Buffer.alloc(65_002, ' ');
  segment.writeUInt16BE(0xff_e1, 0);
  segment.writeUInt16BE(65_000, 2);
  segment.write('http://ns.adobe.com/xmp/extension/\0', 4, 'latin1');
  return segment;
}
