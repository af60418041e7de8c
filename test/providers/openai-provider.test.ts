/** The adapter of protocol `openai`: each of its interfaces. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findWavSamples } from '../../src/domain/wav.ts';
import { createOpenAiProvider } from '../../src/providers/openai/openai-provider.ts';
import { ProviderFailure, ProviderUnknown } from '../../src/providers/provider.ts';
import type { InputFile } from '../../src/providers/provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { describeProviderContract } from './provider-contract.ts';
import { submitCall } from './submit-call.ts';

const call = submitCall();
const directory = mkdtempSync(path.join(os.tmpdir(), 'openai-media-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** A file of an input; its content is never read. */
function file(name: string, mimeType: string, bytes: number): InputFile {
  const filePath = path.join(directory, name);
  writeFileSync(filePath, Buffer.alloc(bytes, 7));
  return { mimeType, path: filePath };
}

const first = file('first', 'image/png', 100_000);
const second = file('second', 'image/jpeg', 200_000);

describeProviderContract({ protocol: 'openai', create: createOpenAiProvider, isSynchronous: true }, (bench) => {
  it('passes on the URL of an image when the model returns URLs', async () => {
    const request = bench.request('by address', { parameters: { response_format: 'url' } });

    const submission = await bench.provider.submit(request, call);

    assert.ok(submission.kind === 'done');
    assert.equal(submission.files[0]?.from, 'url');
  });

  it('reports an unknown outcome when the provider fails after accepting the work', async () => {
    const error = await bench.caught(bench.provider.submit(bench.request('broken [fail]'), call));

    assert.ok(error instanceof ProviderUnknown);
  });

  it('requests an edit when the input has images, and does not send their URLs', async () => {
    const request = bench.request('edited');
    const input = { ...request.input, image_urls: ['upload:1', 'upload:2'], mask_url: 'upload:3', n: 2 };
    const media = new Map([
      ['image_urls.0', first],
      ['image_urls.1', second],
      ['mask_url', first],
    ]);

    await bench.provider.submit({ ...request, input, media }, call);

    const [submit] = await bench.linesOf('edited');
    assert.deepEqual(submit?.received, [
      'image[] image/png 100000',
      'image[] image/jpeg 200000',
      'mask image/png 100000',
    ]);
    assert.deepEqual(submit.fields, { prompt: request.input['prompt'], n: '2', model: 'test/image' });
  });
});

describeProviderContract({
  protocol: 'openai',
  create: createOpenAiProvider,
  isSynchronous: true,
  binding: { api: 'images.edit' },
  inputOf: (prompt) => ({ prompt, image: 'upload:1' }),
  media: () => new Map([['image', first]]),
});

describeProviderContract(
  {
    protocol: 'openai',
    create: createOpenAiProvider,
    isSynchronous: true,
    modality: 'audio',
    binding: { api: 'speech' },
    inputOf: (text) => ({ text, voice: 'alloy' }),
    fileOf: drawAudio,
  },
  (bench) => {
    it("maps text and format to the provider's fields, and sends the other fields unchanged", async () => {
      const request = bench.request('spoken');
      const input = { ...request.input, format: 'wav', sample_rate: 8000 };

      await bench.provider.submit({ ...request, input }, call);

      const [submit] = await bench.linesOf('spoken');
      assert.deepEqual(submit?.fields, {
        input: request.input['text'],
        voice: 'alloy',
        response_format: 'wav',
        sample_rate: 8000,
        model: 'test/image',
      });
    });
  },
);

describeProviderContract(
  {
    protocol: 'openai',
    create: createOpenAiProvider,
    isSynchronous: false,
    modality: 'video',
    binding: { api: 'videos' },
    inputOf: (prompt) => ({ prompt, duration: 4 }),
    alwaysNamesFile: true,
  },
  (bench) => {
    it('sends the duration in seconds, the size, and the first image as the reference', async () => {
      const request = bench.request('from an image', { parameters: { size: '1280x720' } });
      const input = { ...request.input, image_urls: ['upload:1', 'upload:2'] };
      const media = new Map([
        ['image_urls.0', second],
        ['image_urls.1', first],
      ]);

      await bench.provider.submit({ ...request, input, media }, call);

      const [submit] = await bench.linesOf('from an image');
      assert.deepEqual(submit?.received, ['input_reference image/jpeg 200000']);
      assert.deepEqual(submit.fields, {
        prompt: request.input['prompt'],
        size: '1280x720',
        seconds: '4',
        model: 'test/image',
      });
    });

    it('passes on the progress as a fraction', async () => {
      const request = bench.request('half way [slow 600000]');
      const submission = await bench.provider.submit(request, call);
      assert.ok(submission.kind === 'job');

      assert.deepEqual(await bench.provider.poll(request, submission.jobId, call), { kind: 'running', progress: 0.5 });
    });

    it('is not interrupted by a cancellation while it submits', () => {
      assert.equal(bench.provider.worksWhileSubmitting, false);
    });
  },
);

describe('an upstream that is nearly compatible', () => {
  const IMAGE = Buffer.from('an image');
  const base64 = IMAGE.toString('base64');
  const taken = [{ from: 'bytes', bytes: IMAGE }];
  const url = 'https://files.example/a.png';
  const png = Buffer.from('\x89PNG\r\n\x1a\nÿþ', 'latin1');
  const takenPng = [{ from: 'bytes', bytes: png }];
  const data = (images: unknown): unknown => ({ created: 1, data: images });
  const answers: readonly (readonly [what: string, json: unknown, files: readonly unknown[]])[] = [
    ['one image instead of a list', data({ b64_json: base64 }), taken],
    ['one URL instead of a list', data({ url }), [{ from: 'url', url }]],
    ['a data URL as base64', data([{ b64_json: `data:image/png;base64,${base64}` }]), taken],
    ['a data URL as URL', data([{ url: `data:image/png;base64,${base64}` }]), taken],
    ['an empty text for what it does not have', data([{ b64_json: '', url }]), [{ from: 'url', url }]],
    ['null for what it does not have', data([{ b64_json: null, url }]), [{ from: 'url', url }]],
    ['an address with white space', data([{ url: ` ${url}\n` }]), [{ from: 'url', url }]],
    [
      'a data URL in the alphabet of URLs',
      data([{ b64_json: `data:image/png;base64,${png.toString('base64url')}` }]),
      takenPng,
    ],
    ['a URL as base64', data([{ b64_json: url }]), [{ from: 'url', url }]],
    ['base64 as URL', data([{ url: png.toString('base64') }]), takenPng],
    ['a list of texts', data([png.toString('base64'), url]), [...takenPng, { from: 'url', url }]],
    ['one text', data(png.toString('base64url')), takenPng],
    ['another name for the list', { images: [{ url }] }, [{ from: 'url', url }]],
    ['nothing but the list', [{ b64_json: base64 }], taken],
  ];
  const submit = (json: unknown) => {
    const provider = createOpenAiProvider({
      secrets: createSecretSource({}),
      logger: silentLogger(),
      workbench: {
        calls: () => Promise.resolve({ status: 200, retryAfterMs: undefined, json, byteLength: 0 }),
        tokens: () => assert.fail(),
        onExpression: () => undefined,
      },
    });
    const upstream = { protocol: 'openai', model: 'any', baseUrl: 'http://127.0.0.1:1/v1', api: 'images' } as const;
    const request = { taskId: 'tk-svc-00000000000000000000000001', upstream, input: { prompt: 'a fox' } } as const;
    return provider.submit(request, call);
  };
  for (const [what, json, files] of answers) {
    it(`delivers its image although it has ${what}`, async () => {
      const submission = await submit(json);

      assert.ok(submission.kind === 'done');
      assert.deepEqual(submission.files, files);
    });
  }

  it('delivers nothing where it has a word, or base64 that is damaged', async () => {
    for (const json of [
      data(['pending1']),
      data('done'),
      data([{ url: 'none' }]),
      data([{ b64_json: `${base64.slice(0, 4)}ŁŁŁŁ${base64.slice(4)}` }]),
      { created: 1, url },
    ]) {
      await assert.rejects(submit(json), (error) => error instanceof ProviderFailure && error.reason === 'no_output');
    }
  });
});

describe('raw samples', () => {
  const SAMPLES = Buffer.from('the samples of a sentence, in which nothing says what they are');
  const server = createServer((request, response) => {
    const contentType = decodeURIComponent(request.url?.split('?')[1] ?? '');
    response.setHeader('Content-Type', contentType);
    request.resume().on('end', () => response.end(contentType === 'audio/wav' ? drawAudio('a') : SAMPLES));
  });
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  after(() => server.close());

  /** The file that a server delivers with a type, and the bytes that a client receives meanwhile. */
  async function deliver(contentType: string, input: object): Promise<{ file: Buffer; live: Buffer }> {
    const { port } = server.address() as AddressInfo;
    const { boundTo } = createOpenAiProvider({ secrets: createSecretSource({}), logger: silentLogger() });
    const baseUrl = `http://127.0.0.1:${port}/v1?${encodeURIComponent(contentType)}#`;
    const upstream = { protocol: 'openai', model: 'any', baseUrl, api: 'speech' } as const;
    const pieces: Buffer[] = [];
    const request = { taskId: 'tk-svc-00000000000000000000000001', upstream, input: { text: 'a', ...input } } as const;
    const onFileBytes = (bytes: Buffer): unknown => pieces.push(Buffer.from(bytes));
    const submission = await boundTo?.(upstream, 'audio').submit(request, submitCall({ onFileBytes }));
    assert.ok(submission?.kind === 'done');
    const [delivered] = submission.files;
    assert.ok(delivered?.from === 'file');
    return { file: readFileSync(delivered.path), live: Buffer.concat(pieces) };
  }

  for (const [contentType, input, format] of [
    ['audio/pcm', {}, { rate: 24_000, channels: 1 }],
    ['audio/pcm; rate=16000; channels=2', {}, { rate: 16_000, channels: 2 }],
    ['audio/L16;rate="44100"', { sample_rate: 8_000 }, { rate: 44_100, channels: 1 }],
    ['application/octet-stream', { sample_rate: 8_000 }, { rate: 8_000, channels: 1 }],
  ] as const) {
    it(`become a WAV file that says how they are played: ${contentType}`, async () => {
      const { file, live } = await deliver(contentType, { format: 'pcm', ...input });

      assert.deepEqual(findWavSamples(file), { ...format, start: 44, byteLength: SAMPLES.length });
      assert.ok(file.subarray(44).equals(SAMPLES));
      assert.deepEqual(findWavSamples(live), { ...format, start: 44, byteLength: Infinity });
      assert.ok(live.subarray(44).equals(SAMPLES));
    });
  }

  it('are left as they are in a WAV file, and in other formats', async () => {
    assert.ok((await deliver('audio/wav', { format: 'pcm' })).file.equals(drawAudio('a')));
    assert.ok((await deliver('audio/mpeg', { format: 'mp3' })).file.equals(SAMPLES));
  });
});

describe('the openai adapter without an interface in its binding', () => {
  const provider = createOpenAiProvider({ secrets: createSecretSource({}), logger: silentLogger() });
  const binding = { protocol: 'openai', model: 'any' };

  it("uses the one for the model's modality", async () => {
    assert.equal(provider.boundTo?.(binding, 'video').worksWhileSubmitting, false);
    for (const modality of ['image', 'audio'] as const) {
      const bound = provider.boundTo?.(binding, modality);
      assert.equal(bound?.worksWhileSubmitting, true);
      const request = { taskId: 'tk-svc-00000000000000000000000001', upstream: binding, input: {} } as const;
      await assert.rejects(bound.poll(request, 'job', call), (error) => error instanceof ProviderFailure);
    }
  });
});
