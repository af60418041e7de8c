/** `/v1/videos`: videos as OpenAI's clients poll, list, download, delete and remix them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from './raw-request.ts';
import { doneVideo, newTask } from './route-requests.ts';
import { PATH, openVideos } from './video-client.ts';
import type { Video } from './video-client.ts';

const RETRY = { 'X-Stainless-Retry-Count': '1' };

const videos = await openVideos();
after(() => videos.close());
const { served, world, call, create, get, list, remove, content, parsed, tasksOf, handle, fail } = videos;

describe('GET /v1/videos/{id}', () => {
  // Proves C10-15.
  it('is queued until it has started, then in progress with percent, and completed with what was measured', async () => {
    const account = await served.newAccount();
    const { body: created } = await create(account, { seconds: '4' });
    await handle(created.id, 37);
    const handled = await get(account, created.id);
    assert.deepEqual([handled.body.status, handled.body.progress], ['in_progress', 37]);
    assert.match(handled.headers.get('openai-poll-after-ms') ?? '', /^[1-9]\d*000$/);

    const file = { type: 'video', bytes: Buffer.from('x'), mimeType: 'video/mp4', width: 1284, height: 718 };
    await served.succeedWith(created.id, [{ ...file, durationSeconds: 4.04 }]);
    const { body: done, headers } = await get(account, created.id);
    assert.deepEqual(
      [done.status, done.progress, done['seconds'], done['size'], done.error],
      ['completed', 100, '4', '1284x718', null],
    );
    assert.ok((done.completed_at ?? 0) >= done.created_at);
    assert.ok(Math.abs((done.expires_at ?? 0) - Date.now() / 1000 - 7 * 86_400) < 60);
    assert.equal(headers.get('openai-poll-after-ms'), null);
  });

  // Proves C10-11, C10-15.
  it('has failed with the code and the reason', async () => {
    const account = await served.newAccount();
    const codes: Readonly<Partial<Record<FailureReason, string>>> = {
      content_rejected: 'moderation_blocked',
      timed_out: 'timeout',
      provider_error: 'provider_error',
      cancelled: 'task_cancelled',
    };
    for (const [reason, code] of Object.entries(codes)) {
      const { body: created } = await create(account);
      await fail(created.id, reason as FailureReason);
      const { body: video } = await get(account, created.id);

      assert.deepEqual([video.status, video.error?.code], ['failed', code]);
      assert.ok((video.error?.message ?? '').length > 10);
    }
  });

  // Proves C10-15.
  it('does not know tasks of other models, of other accounts, or that do not exist', async () => {
    const account = await served.newAccount();
    const stranger = await served.newAccount();
    const strangers = await doneVideo(world(), stranger);
    for (const id of [strangers, await newTask(account), newTaskId(), 'video_123', 'tk-svc-', 'constructor']) {
      for (const [method, path] of [
        ['GET', `${PATH}/${id}`],
        ['GET', `${PATH}/${id}/content`],
        ['DELETE', `${PATH}/${id}`],
        ['POST', `${PATH}/${id}/remix`],
      ] as const) {
        const { status, body } = await call(account, method, path, method === 'POST' ? { prompt: 'x' } : undefined);
        assert.equal(status, 404, `${method} ${path}`);
        assert.deepEqual([body.error.code, body.error.type], ['not_found', 'not_found_error']);
      }
    }
    assert.equal((await get(stranger, strangers)).status, 200);
  });
});

describe('GET /v1/videos', () => {
  // Proves C10-15.
  it('lists every video once, in pages and in both orders, and no other task', async () => {
    const account = await served.newAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.push((await create(account)).body.id);
      await newTask(account);
    }
    await create(await served.newAccount());
    // At the same moment: the id decides.
    await served.room.rows('UPDATE tasks SET created_at = now() WHERE id = ANY ($1)', ids.slice(1, 4));

    for (const order of ['desc', 'asc']) {
      const seen: Video[] = [];
      let after = '';
      for (;;) {
        const { body: page, status } = await list(account, `?limit=2&order=${order}${after}`);
        assert.equal(status, 200, JSON.stringify(page));
        seen.push(...page.data);
        assert.deepEqual([page.first_id, page.last_id], [page.data[0]?.id, page.data.at(-1)?.id]);
        if (!page.has_more) break;
        after = `&after=${page.last_id}`;
      }
      assert.deepEqual(new Set(seen.map(({ id }) => id)), new Set(ids));
      assert.equal(seen.length, 5);
      const whole = await list(account, `?order=${order}`);
      assert.deepEqual(whole.body.data, seen);
    }
    const { body: newest } = await list(account, '?limit=100');
    const { body: oldest } = await list(account, '?limit=100&order=asc');
    assert.deepEqual(newest.data, oldest.data.toReversed());
    assert.deepEqual(newest.data[4]?.['prompt'], 'a fox');
  });

  it('is empty for an account without videos, and for a limit of 0', async () => {
    const account = await served.newAccount();
    const empty = { object: 'list', data: [], first_id: null, last_id: null, has_more: false };
    assert.deepEqual((await list(account)).body, empty);
    await create(account);
    assert.deepEqual((await list(account, '?limit=0')).body, { ...empty, has_more: true });
  });

  it('rejects what is no page of it', async () => {
    const account = await served.newAccount();
    const strangers = (await create(await served.newAccount())).body.id;
    for (const [query, param] of [
      ['?limit=101', 'limit'],
      ['?limit=x', 'limit'],
      ['?order=up', 'order'],
      ['?after=video_1', 'after'],
      [`?after=${strangers}`, 'after'],
    ] as const) {
      const { status, body } = await list(account, query);
      assert.deepEqual([status, body.error.param], [400, param], query);
    }
  });
});

describe('GET /v1/videos/{id}/content', () => {
  // Proves C10-16.
  it('sends the file, a part of it, and the thumbnail, to the holder of the key alone', async () => {
    const account = await served.newAccount();
    const id = await doneVideo(world(), account);
    const whole = await content(account, id);
    const part = await content(account, id, '', { Range: 'bytes=2-6' });
    const thumbnail = await content(account, id, '?variant=thumbnail');

    assert.deepEqual([whole.status, whole.text, whole.headers['content-type']], [200, 'a video', 'video/mp4']);
    assert.match(String(whole.headers['content-disposition']), new RegExp(`filename="${id}-1.mp4"`));
    assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, 'video', 'bytes 2-6/7']);
    assert.deepEqual([thumbnail.status, thumbnail.headers['content-type']], [200, 'image/png']);
    assert.equal(whole.headers['access-control-allow-origin'], undefined);
    assert.equal((await raw(served.url, 'GET', `${PATH}/${id}/content`)).status, 401);
  });

  // Proves C10-12, C10-16.
  it('has none before the video is completed, after it has failed, or once it is gone', async () => {
    const account = await served.newAccount();
    const { body: video } = await create(account);
    const early = await content(account, video.id);
    assert.deepEqual([early.status, parsed(early).error.code], [404, 'video_not_ready']);
    assert.match(parsed(early).error.message, /^Video is not ready yet, use GET \/v1\/videos\//);
    await fail(video.id, 'provider_error');
    assert.deepEqual(parsed(await content(account, video.id)).error.code, 'video_failed');

    const id = await doneVideo(world(), account);
    const { output } = (await account.client.get(id)).body.data;
    await account.client.send('DELETE', `/v1/storages/${output?.[0]?.id}`);
    assert.deepEqual(parsed(await content(account, id)).error.code, 'output_expired');
    assert.equal((await content(account, id, '?variant=thumbnail')).status, 200);
    assert.equal((await get(account, id)).body.status, 'completed');
  });

  it('rejects a variant that does not exist', async () => {
    const account = await served.newAccount();
    const id = await doneVideo(world(), account);
    for (const variant of ['spritesheet', 'gif']) {
      const answer = await content(account, id, `?variant=${variant}`);
      assert.deepEqual([answer.status, parsed(answer).error.param], [400, 'variant'], answer.text);
    }
  });
});

describe('DELETE /v1/videos/{id}', () => {
  // Proves C10-17.
  it('deletes the files and the input of a completed video, which is then unknown', async () => {
    const account = await served.newAccount();
    const id = await doneVideo(world(), account);
    const { status, body } = await remove(account, id);

    assert.deepEqual([status, body], [200, { id, object: 'video.deleted', deleted: true }]);
    assert.equal((await get(account, id)).status, 404);
    assert.equal((await content(account, id)).status, 404);
    assert.equal((await remove(account, id)).status, 404);
    assert.deepEqual((await list(account)).body.data, []);
    assert.equal((await tasksOf(account))[0]?.input, null);
    assert.deepEqual((await account.client.get(id)).body.data.output, []);
  });

  // Proves C10-17.
  it('cancels a video that waits, which then costs nothing', async () => {
    const account = await served.newAccount();
    const { body: video } = await create(account);
    assert.equal((await remove(account, video.id)).status, 200);

    const { data: task } = (await account.client.get(video.id)).body;
    assert.deepEqual([task.status, task.billing.captured], ['fail', '0']);
    assert.equal((await get(account, video.id)).status, 404);
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('waits for a video in progress to end', async () => {
    const account = await served.newAccount();
    const { body: video } = await create(account);
    await handle(video.id, 10);
    const removing = remove(account, video.id);
    await waitFor('it is being cancelled', async () => {
      const [row] = await served.room.rows<{ asked: boolean }>(
        'SELECT cancel_requested_at IS NOT NULL AS asked FROM tasks WHERE id = $1',
        video.id,
      );
      return row?.asked === true;
    });
    await fail(video.id, 'cancelled');

    assert.equal((await removing).status, 200);
    assert.equal((await get(account, video.id)).status, 404);
  });
});

describe('POST /v1/videos/{id}/remix', () => {
  // Proves C10-18.
  it('creates a video from the file of another one, and the rest of its input', async () => {
    const account = await served.newAccount();
    const { body: source } = await create(account, { seconds: '7', size: '720x1280' });
    const file = { type: 'video', bytes: Buffer.from('x'), mimeType: 'video/mp4', durationSeconds: 7 };
    await served.succeedWith(source.id, [{ ...file, width: 720, height: 1280 }]);
    const { status, body: video } = await call(account, 'POST', `${PATH}/${source.id}/remix`, { prompt: 'a wolf' });

    assert.equal(status, 200, JSON.stringify(video));
    assert.deepEqual(
      [video['remixed_from_video_id'], video['prompt'], video['seconds'], video['size'], video.status],
      [source.id, 'a wolf', '7', '720x1280', 'queued'],
    );
    const { video_url: url, ...input } = (await tasksOf(account))[1]?.input ?? {};
    assert.match(String(url), /^darkroom:out_/);
    assert.deepEqual(input, { prompt: 'a wolf', duration: 7, aspect_ratio: '9:16' });
    assert.equal((await get(account, video.id)).body['remixed_from_video_id'], source.id);
  });

  it('is rejected before the video is completed, and for a model that takes no video', async () => {
    const account = await served.newAccount();
    const { body: open } = await create(account);
    const early = await call(account, 'POST', `${PATH}/${open.id}/remix`, { prompt: 'a wolf' });
    assert.deepEqual([early.status, early.body.error.code], [404, 'video_not_ready']);

    const id = await doneVideo(world(), account);
    for (const [body, param] of [
      [{ prompt: 'a wolf', model: 'acme/compatible' }, 'model'],
      [{ prompt: '' }, 'prompt'],
      [{}, 'prompt'],
      [{ prompt: 'a wolf', seconds: '4' }, 'seconds'],
      [{ prompt: 'x'.repeat(2_001) }, 'prompt'],
    ] as const) {
      const answer = await call(account, 'POST', `${PATH}/${id}/remix`, body);
      assert.deepEqual([answer.status, answer.body.error.param], [400, param], JSON.stringify(answer.body));
    }
    assert.equal((await tasksOf(account)).length, 2);
  });

  it('of equal prompts for different videos are different requests', async () => {
    const account = await served.newAccount();
    const ids = [await doneVideo(world(), account), await doneVideo(world(), account)];
    const remixes = await Promise.all(
      ids.map((id) => call(account, 'POST', `${PATH}/${id}/remix`, { prompt: 'a wolf' }, RETRY)),
    );

    assert.equal(new Set(remixes.map(({ body }) => body.id)).size, 2);
  });
});
