/**
 * The provider for the AI SDK as its users have it: packed, installed beside `ai` into an empty project, with the code of
 * its guide. The AI SDK needs a newer Node than this project, so a newer one runs it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { snippetsOf } from '../sdk/snippets.ts';
import { reservePort } from '../support/reserve-port.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { createNodeProject, packPackages, titleOf } from './empty-project.ts';
import type { EmptyProject } from './empty-project.ts';
import { NODE_24, obtainNode } from './node-release.ts';
import { startOpenAiDarkroom } from './openai-darkroom.ts';
import type { OpenAiDarkroom } from './openai-darkroom.ts';

const AI_SDK = 'ai@7.0.173';
const TRANSCRIPTION_MODEL = 'acme/compatible-transcription';
const snippets = snippetsOf('docs/guides/ai-sdk.md').filter(({ language }) => language === 'js');

const BEGINNING = `
import { createDarkroom } from '@darkroom/ai-sdk-provider';
import * as ai from 'ai';
const darkroom = createDarkroom({ baseUrl: process.env.DARKROOM_BASE_URL, apiKey: process.env.DARKROOM_API_KEY });
const print = (value) => console.log(JSON.stringify(value));
`;

describe(`the provider for ${AI_SDK}`, { timeout: 900_000 }, () => {
  let node: string;
  let nodeDirectory: string;
  let packed: string;
  let started: OpenAiDarkroom;
  let project: EmptyProject;
  let webhookPort: number;
  before(async () => {
    [nodeDirectory, packed] = (await Promise.all(
      ['node', 'packed'].map((name) => mkdtemp(path.join(os.tmpdir(), `darkroom-${name}-`))),
    )) as [string, string];
    node = await obtainNode(nodeDirectory, NODE_24);
    webhookPort = await reservePort();
    started = await startOpenAiDarkroom(`http://127.0.0.1:${webhookPort}`);
    const account = await started.darkroom.createAccount();
    const packages = await packPackages(['sdk-js', 'ai-sdk-provider'], packed);
    project = await createNodeProject([AI_SDK, ...packages], {
      DARKROOM_BASE_URL: `${started.darkroom.url}/v1`,
      DARKROOM_API_KEY: account.client.key,
      TRANSCRIPTION_MODEL,
    });
    await writeFile(path.join(project.directory, 'meeting.wav'), drawAudio('a station', 2.5));
  });
  after(async () => {
    await project?.close();
    await started?.stop();
    const directories = [nodeDirectory, packed].filter((directory) => directory !== undefined);
    await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })));
  });

  /** @returns what the program printed, as JSON. */
  async function printed(name: string, program: string): Promise<unknown> {
    const lines = (await project.runFile(node, `${name}.mjs`, BEGINNING + program)).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '');
  }

  describe('and the code of its guide', () => {
    for (const [index, snippet] of snippets.entries()) {
      it(`runs: ${titleOf(snippet)}${snippet.name === undefined ? ` ${index}` : ''}`, async () => {
        const said = await project.runFile(node, `snippet-${index}.mjs`, snippet.code);
        assert.notEqual(said, '');
        if (snippet.name === 'transcription') assert.equal(said, 'Mind the gap. The doors close. 2 en 2.5\n');
        if (snippet.heading === 'Text') assert.match(said, /51[\s\S]*5/);
        if (snippet.heading === 'Videos') assert.match(said, /^video\/mp4 \d+/);
        if (snippet.heading === 'Speech') assert.match(said, /^audio\/wav \d+/);
      });
    }

    it('has made the image that was requested', async () => {
      const { format, width, height } = await sharp(path.join(project.directory, 'lighthouse.webp')).metadata();
      assert.deepEqual([format, width, height], ['webp', 1344, 756]);
    });
  });

  it('generates several images: in one task where the model can, otherwise in one for each', async () => {
    const program = `
      const made = await Promise.all(['darkroom/canvas', 'darkroom/scene'].map((name) =>
        ai.generateImage({ model: darkroom.image(name), prompt: 'a lake', n: 3 })));
      const { tasks } = await darkroom.client.list({ size: 100 });
      const count = (name) => tasks.filter(({ model, created }) => model === name && created >= begun).length;
      print({ images: made.map(({ images }) => images.length), tasks: ['darkroom/canvas', 'darkroom/scene'].map(count) });`;
    const begun = `const begun = Math.floor(Date.now() / 1000);\n`;
    assert.deepEqual(await printed('several', begun + program), { images: [3, 3], tasks: [1, 3] });
  });

  it('warns about what the model has no field for, and sends the nearest size', async () => {
    const program = `
      const { image, warnings } = await ai.generateImage({
        model: darkroom.image('darkroom/scene'), prompt: 'a lake', size: '1536x1024', seed: 7,
      });
      print({ mediaType: image.mediaType, warnings });`;
    assert.deepEqual(await printed('warnings', program), {
      mediaType: 'image/png',
      warnings: [
        { type: 'compatibility', feature: 'size', details: 'sent as aspect_ratio 3:2' },
        { type: 'unsupported', feature: 'seed', details: 'the model has no field seed' },
      ],
    });
  });

  it('reports what is rejected as an APICallError, and creates no task for it', async () => {
    const program = `
      const before = (await darkroom.client.list()).total;
      const failure = async (call) => {
        try { await call(); return 'nothing'; } catch (error) {
          return [ai.APICallError.isInstance(error), error.statusCode, error.isRetryable, error.data?.code];
        }
      };
      const prompt = 'a lake';
      print({
        failures: [
          await failure(() => ai.generateImage({ model: darkroom.image('no-model'), prompt })),
          await failure(() => ai.generateImage({ model: darkroom.image('darkroom/scene'), prompt, aspectRatio: '7:7' })),
          await failure(() => ai.experimental_generateSpeech({ model: darkroom.speech('darkroom/speech'), text: 'a', voice: 'none' })),
        ],
        tasks: (await darkroom.client.list()).total - before,
      });`;
    const { failures, tasks } = (await printed('rejected', program)) as { failures: unknown[][]; tasks: number };
    assert.deepEqual(failures, [
      [true, 404, false, 'NOT_FOUND'],
      [true, 400, false, 'INVALID_REQUEST'],
      [true, 400, false, 'INVALID_REQUEST'],
    ]);
    assert.equal(tasks, 0);
  });

  it('reads a video that another process has started', async () => {
    const started = await printed(
      'start',
      `const { operation } = await ai.experimental_startVideo({
        model: darkroom.video('darkroom/motion'), prompt: 'a boat', duration: 3,
      });
      print(operation);`,
    );
    const ended = await printed(
      'status',
      `const model = darkroom.video('darkroom/motion');
      const operation = ${JSON.stringify(started)};
      let result;
      do {
        result = await ai.experimental_getVideoStatus(model, { operation });
        await new Promise((resolve) => setTimeout(resolve, 500));
      } while (result.status === 'pending');
      print({ status: result.status, mediaType: result.videos[0].mediaType, bytes: result.videos[0].data.length > 10_000 });`,
    );
    assert.deepEqual(ended, { status: 'completed', mediaType: 'video/mp4', bytes: true });
  });

  it('is notified of the end of a video by a callback', async () => {
    const program = `
      import { createServer } from 'node:http';
      let received;
      const arrived = new Promise((resolve) => { received = resolve; });
      const server = createServer((request, response) => {
        let body = '';
        request.on('data', (piece) => { body += piece; }).on('end', () => {
          response.writeHead(204).end();
          received({ headers: request.headers, body: JSON.parse(body) });
        });
      }).listen(${webhookPort});
      const { video } = await ai.experimental_generateVideo({
        model: darkroom.video('darkroom/motion'), prompt: 'a boat', duration: 3,
        webhook: async () => ({ url: 'http://127.0.0.1:${webhookPort}/', received: arrived }),
      });
      server.closeAllConnections();
      server.close();
      print({ mediaType: video.mediaType, status: (await arrived).body.status });`;
    assert.deepEqual(await printed('webhook', program), { mediaType: 'video/mp4', status: 'success' });
  });

  it('cancels the task of an image when the call is aborted', async () => {
    const program = `
      const controller = new AbortController();
      const model = darkroom.image('darkroom/scene-ultra');
      const generating = ai.generateImage({ model, prompt: 'a lake', abortSignal: controller.signal });
      let task;
      while (task === undefined) [task] = (await darkroom.client.list({ model: 'darkroom/scene-ultra' })).tasks;
      controller.abort();
      const name = await generating.then(() => 'nothing', (error) => error.name);
      const { error } = await darkroom.client.wait(task);
      print({ name, code: error?.code });`;
    assert.deepEqual(await printed('aborted', program), { name: 'AbortError', code: 'TASK_CANCELLED' });
  });
});
