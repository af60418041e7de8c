/** OpenAI's official client for JavaScript, unmodified: each of its methods for videos against a running Darkroom. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { installClients } from '../oracle/client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

/** What is used of the client; it is not a dependency, so its types are not here. */
interface Video {
  readonly id: string;
  readonly status: string;
  readonly progress: number;
  readonly seconds: string;
  readonly size: string;
  readonly prompt: string;
  readonly remixed_from_video_id: string | null;
  readonly error: { readonly code: string } | null;
}
interface OpenAiClient {
  readonly videos: {
    create(body: object): Promise<Video>;
    retrieve(id: string): Promise<Video>;
    list(query?: object): AsyncIterable<Video>;
    delete(id: string): Promise<{ readonly id: string; readonly deleted: boolean; readonly object: string }>;
    downloadContent(id: string, query?: object, options?: object): Promise<Response>;
    remix(id: string, body: object): Promise<Video>;
  };
}
interface OpenAiModule {
  readonly default: new (options: object) => OpenAiClient;
  toFile(bytes: Buffer, name: string, options: object): Promise<unknown>;
  readonly APIError: new () => Error & { status: number; code: string | null; param: string | null };
}

const SMALL = { model: 'darkroom/motion', prompt: 'a lighthouse in the rain', seconds: '1', size: '854x480' };

describe("OpenAI's official client for videos", () => {
  let openai: OpenAiModule;
  let darkroom: Darkroom;
  before(async () => {
    const file = path.join(await installClients(), 'node_modules', 'openai', 'index.mjs');
    // Installed outside the repository, for tests alone.
    openai = (await import(pathToFileURL(file).href)) as OpenAiModule;
    darkroom = await startDarkroom({ apis: 1 });
  });
  after(() => darkroom?.stop());

  const videosOf = ({ client }: TestAccount): OpenAiClient['videos'] =>
    new openai.default({ apiKey: client.key, baseURL: `${darkroom.url}/v1`, maxRetries: 0 }).videos;

  /** Polls as a caller of this client does: it has no method for that. */
  async function completed(videos: OpenAiClient['videos'], id: string): Promise<Video> {
    let video = await videos.retrieve(id);
    await waitFor('the video has ended', async () => {
      video = await videos.retrieve(id);
      return video.status === 'completed' || video.status === 'failed';
    });
    assert.equal(video.status, 'completed', JSON.stringify(video));
    return video;
  }

  it('creates, retrieves, downloads, lists and deletes', async () => {
    const account = await darkroom.createAccount();
    const videos = videosOf(account);
    const created = await videos.create(SMALL);
    assert.ok(['queued', 'in_progress'].includes(created.status));
    assert.deepEqual([created.prompt, created.seconds, created.size], [SMALL.prompt, '1', '854x480']);

    const done = await completed(videos, created.id);
    assert.deepEqual([done.progress, done.seconds, done.size, done.error], [100, '1', '854x480', null]);
    const whole = await videos.downloadContent(created.id);
    const bytes = Buffer.from(await whole.arrayBuffer());
    assert.equal(whole.headers.get('content-type'), 'video/mp4');
    assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
    const part = await videos.downloadContent(created.id, {}, { headers: { Range: 'bytes=4-7' } });
    assert.equal(await part.text(), 'ftyp');
    const thumbnail = await videos.downloadContent(created.id, { variant: 'thumbnail' });
    assert.ok(((await sharp(Buffer.from(await thumbnail.arrayBuffer())).metadata()).width ?? 0) > 100);

    const listed: string[] = [];
    for await (const { id } of videos.list({ limit: 1 })) listed.push(id);
    assert.deepEqual(listed, [created.id]);
    assert.deepEqual(await videos.delete(created.id), { id: created.id, deleted: true, object: 'video.deleted' });
    for await (const { id } of videos.list()) assert.fail(id);
    await assert.rejects(videos.retrieve(created.id), { status: 404 });
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('begins a video with an image that it sends, and remixes it', async () => {
    const account = await darkroom.createAccount();
    const videos = videosOf(account);
    const png = await sharp({ create: { width: 320, height: 180, channels: 3, background: '#286' } })
      .png()
      .toBuffer();
    const file = await openai.toFile(png, 'sea.png', { type: 'image/png' });
    const body = { model: 'darkroom/animate', prompt: 'slow push in', seconds: '3', input_reference: file };
    const source = await videos.create(body);
    await completed(videos, source.id);
    const remix = await videos.remix(source.id, { prompt: 'cold and quiet', model: 'darkroom/blend' });

    assert.equal(remix.remixed_from_video_id, source.id);
    const done = await completed(videos, remix.id);
    assert.deepEqual([done.prompt, done.size], ['cold and quiet', '1280x720']);
    const again = await videos.remix(remix.id, { prompt: 'warm' });
    assert.equal(again.remixed_from_video_id, remix.id);
    // In whatever state it is by now.
    assert.equal((await videos.delete(again.id)).deleted, true);
  });

  it('lists every page', async () => {
    const account = await darkroom.createAccount();
    const videos = videosOf(account);
    const created: string[] = [];
    for (let index = 0; index < 5; index += 1) created.push((await videos.create(SMALL)).id);
    const listed: string[] = [];
    for await (const { id } of videos.list({ limit: 2, order: 'asc' })) listed.push(id);
    assert.deepEqual(listed, created);
    for (const id of created) await videos.delete(id);
  });

  it('reports what is rejected with its own errors', async () => {
    const account = await darkroom.createAccount();
    const videos = videosOf(account);
    const { id } = await videos.create({ ...SMALL, seconds: '15', size: '1280x720' });
    const rejections: readonly (readonly [() => Promise<unknown>, number, string | null, string])[] = [
      [() => videos.downloadContent(id), 404, null, 'video_not_ready'],
      [() => videos.remix(id, { prompt: 'warm', model: 'darkroom/blend' }), 404, null, 'video_not_ready'],
      [() => videos.downloadContent(id, { variant: 'spritesheet' }), 400, 'variant', 'unsupported_value'],
      [() => videos.create({ ...SMALL, size: '1792x1024' }), 400, 'size', 'invalid_value'],
      [() => videos.create({ ...SMALL, seconds: '40' }), 400, 'seconds', 'integer_above_max_value'],
      [() => videos.create({ ...SMALL, model: 'sora-2' }), 400, 'model', 'model_not_found'],
      [
        () => videos.create({ model: 'darkroom/animate', prompt: 'x' }),
        400,
        'input_reference',
        'missing_required_parameter',
      ],
      [() => videos.retrieve('video_123'), 404, 'video_id', 'not_found'],
    ];
    for (const [call, status, param, code] of rejections) {
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof openai.APIError, String(error));
        assert.deepEqual([error.status, error.param, error.code], [status, param, code]);
        return true;
      });
    }
    await videos.delete(id);
  });
});
