/** OpenAI's official client for JavaScript, unmodified: each of its methods for videos against a running Darkroom. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI, { APIError, toFile } from 'openai';
import sharp from 'sharp';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

const SMALL = { model: 'darkroom/motion', prompt: 'a lighthouse in the rain', seconds: '1', size: '854x480' };

/** Of values that OpenAI's own models, and so the types of its client, do not have. */
function bodyOf(body: object): OpenAI.Videos.VideoCreateParams {
  return body as OpenAI.Videos.VideoCreateParams;
}

/** OpenAI's API has no model here. */
function remixOf(prompt: string): OpenAI.Videos.VideoRemixParams {
  const body: OpenAI.Videos.VideoRemixParams & { model: string } = { prompt, model: 'darkroom/blend' };
  return body;
}

describe("OpenAI's official client for videos", () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom({ apis: 1 });
  });
  after(() => darkroom?.stop());

  const videosOf = ({ client }: TestAccount): OpenAI.Videos =>
    new OpenAI({ apiKey: client.key, baseURL: `${darkroom.url}/v1`, maxRetries: 0 }).videos;

  /** Polls as a caller of this client does: it has no method for that. */
  async function completed(videos: OpenAI.Videos, id: string): Promise<OpenAI.Video> {
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
    const created = await videos.create(bodyOf(SMALL));
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
    const file = await toFile(png, 'sea.png', { type: 'image/png' });
    const body = { model: 'darkroom/animate', prompt: 'slow push in', seconds: '3', input_reference: file };
    const source = await videos.create(bodyOf(body));
    await completed(videos, source.id);
    const remix = await videos.remix(source.id, remixOf('cold and quiet'));

    assert.equal(remix.remixed_from_video_id, source.id);
    const done = await completed(videos, remix.id);
    assert.deepEqual([done.prompt, done.size], ['cold and quiet', '1280x720']);
    const again = await videos.remix(remix.id, { prompt: 'warm' });
    assert.equal(again.remixed_from_video_id, remix.id);
    // In whatever state it is by now.
    assert.equal((await videos.delete(again.id)).deleted, true);
  });

  it('reports what is rejected with its own errors', async () => {
    const account = await darkroom.createAccount();
    const videos = videosOf(account);
    const { id } = await videos.create(bodyOf({ ...SMALL, seconds: '15', size: '1280x720' }));
    const rejections: readonly (readonly [() => Promise<unknown>, number, string | null, string])[] = [
      [() => videos.downloadContent(id), 404, null, 'video_not_ready'],
      [() => videos.remix(id, remixOf('warm')), 404, null, 'video_not_ready'],
      [() => videos.downloadContent(id, { variant: 'spritesheet' }), 400, 'variant', 'unsupported_value'],
      [() => videos.create(bodyOf({ ...SMALL, size: '1792x1024' })), 400, 'size', 'invalid_value'],
      [() => videos.create(bodyOf({ ...SMALL, seconds: '40' })), 400, 'seconds', 'integer_above_max_value'],
      [() => videos.create(bodyOf({ ...SMALL, model: 'sora-2' })), 400, 'model', 'model_not_found'],
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
        assert.ok(error instanceof APIError, String(error));
        assert.deepEqual([error.status, error.param, error.code], [status, param, code]);
        return true;
      });
    }
    await videos.delete(id);
  });
});
