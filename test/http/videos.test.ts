/** `/v1/videos`: tasks of video models as OpenAI's clients create, poll, list, download and delete them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { doneVideo, newTask, videoBody, videoForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const PATH = '/v1/videos';
const RETRY = { 'X-Stainless-Retry-Count': '1' };

let served: ServedApp;
let image: Buffer;
before(async () => {
  served = await serveApp();
  image = await sharp({ create: { width: 2, height: 1, channels: 3, background: '#c33' } })
    .png()
    .toBuffer();
});
after(() => served.close());

interface Video {
  readonly id: TaskId;
  readonly status: string;
  readonly progress: number;
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly expires_at: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly [member: string]: unknown;
}
interface VideoPage {
  readonly data: readonly Video[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}
interface Failed {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

async function call<Body = Video & Failed>(
  { client }: ServedAccount,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body; headers: Headers }> {
  const answer = await client.send(method, path, body, headers);
  return { status: answer.status, body: answer.body as unknown as Body, headers: answer.headers };
}

const create = (account: ServedAccount, changes: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  call(account, 'POST', PATH, videoBody(changes), headers);
const get = (account: ServedAccount, id: string) => call(account, 'GET', `${PATH}/${id}`);
const list = (account: ServedAccount, query = '') => call<VideoPage & Failed>(account, 'GET', `${PATH}${query}`);
const remove = (account: ServedAccount, id: string) => call(account, 'DELETE', `${PATH}/${id}`);

async function sendForm(
  account: ServedAccount,
  changes: Parameters<typeof videoForm>[0] = {},
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const form = await videoForm(changes);
  const all = { ...form.headers, Authorization: `Bearer ${account.client.key}`, ...headers };
  return raw(served.url, 'POST', PATH, all, form.body);
}

const parsed = (answer: RawAnswer): Video & Failed => JSON.parse(answer.text) as Video & Failed;
const png = (): Blob => new Blob([new Uint8Array(image)], { type: 'image/png' });

async function content(account: ServedAccount, id: string, query = '', headers: Record<string, string> = {}) {
  const all = { Authorization: `Bearer ${account.client.key}`, ...headers };
  return raw(served.url, 'GET', `${PATH}/${id}/content${query}`, all);
}

async function tasksOf({
  id,
}: ServedAccount): Promise<readonly { id: TaskId; input: Record<string, unknown> | null }[]> {
  return served.room.rows('SELECT id, input FROM tasks WHERE account_id = $1 ORDER BY created_at, id', id);
}

/** Uploads that have not been deleted. */
async function uploadsOf({ id }: ServedAccount): Promise<number> {
  return (await served.room.rows('SELECT id FROM files WHERE account_id = $1 AND gone_at IS NULL', id)).length;
}

/** Begins to handle a task, as a worker would. */
async function handle(taskId: TaskId, percent: number): Promise<void> {
  await claimOutbox(served.room.database, 1_000);
  await beginHandling(served.room.database, taskId, 60);
  await served.room.rows('UPDATE tasks SET progress = $2 WHERE id = $1', taskId, percent);
}

async function fail(taskId: TaskId, reason: FailureReason): Promise<void> {
  await claimOutbox(served.room.database, 1_000);
  await settleTask(served.room.database, taskId, { status: 'fail', reason }, { retentionDays: 7 });
}

const world = () => ({ served, receiverUrl: '' });

describe('POST /v1/videos', () => {
  it('creates a task from a form, with the image as its upload, and answers at once', async () => {
    const account = await served.newAccount();
    const answer = await sendForm(account, { seconds: '4', size: '720x1280', input_reference: png() });

    assert.equal(answer.status, 200, answer.text);
    const { id, created_at: created, ...video } = parsed(answer);
    assert.ok(Math.abs(created - Date.now() / 1000) < 60);
    assert.deepEqual(video, {
      object: 'video',
      model: 'acme/compatible-video',
      status: 'queued',
      progress: 0,
      completed_at: null,
      expires_at: null,
      prompt: 'a fox',
      seconds: '4',
      size: '720x1280',
      remixed_from_video_id: null,
      error: null,
    });
    assert.equal(answer.headers['x-darkroom-task-id'], id);
    assert.match(String(answer.headers['x-ratelimit-remaining-requests']), /^\d+$/);
    assert.match(String(answer.headers['x-request-id']), /^req_/);
    const [task] = await tasksOf(account);
    const { image_urls: images, ...input } = task?.input ?? {};
    assert.equal(task?.id, id);
    assert.deepEqual(input, { prompt: 'a fox', duration: 4, aspect_ratio: '9:16' });
    assert.match(String(images), /^darkroom:file_/);
    assert.equal((await account.client.get(id)).body.data.billing.held, '0.04');
    assert.equal(await uploadsOf(account), 1);
  });

  it('takes a form without a file, and JSON with a number of seconds', async () => {
    const account = await served.newAccount();
    const form = await sendForm(account);
    const json = await create(account, { seconds: 3, size: null, input_reference: null });

    assert.deepEqual([form.status, parsed(form).seconds, parsed(form).size], [200, '5', '1280x720']);
    assert.deepEqual([json.status, json.body['seconds']], [200, '3']);
    assert.deepEqual(
      (await tasksOf(account)).map(({ input }) => input),
      [{ prompt: 'a fox' }, { prompt: 'a fox', duration: 3 }],
    );
  });

  it('takes the image as the id of a file, a URL of ours or a data URL, and in the members of a form', async () => {
    const account = await served.newAccount();
    const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' };
    const upload = await raw(served.url, 'POST', '/v1/files', headers, image);
    const { id: fileId, url } = (JSON.parse(upload.text) as { data: { id: string; url: string } }).data;
    const dataUrl = `data:image/png;base64,${image.toString('base64')}`;
    const answers = [
      await create(account, { input_reference: { file_id: fileId } }),
      await create(account, { input_reference: { image_url: url } }),
      await create(account, { input_reference: { image_url: dataUrl } }),
      await sendForm(account, { 'input_reference[file_id]': fileId }),
      await sendForm(account, { 'input_reference[image_url]': url }),
    ];

    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    const references = (await tasksOf(account)).map(({ input }) => String(input?.['image_urls']));
    assert.deepEqual(
      references.map((reference) => reference === `darkroom:${fileId}`),
      [true, true, false, true, true],
    );
    assert.match(references[2] ?? '', /^darkroom:file_/);
    assert.equal(await uploadsOf(account), 2);
  });

  const rejected: readonly (readonly [changes: Record<string, unknown>, param: string, code: string | null])[] = [
    [{ model: 'acme/none' }, 'model', 'model_not_found'],
    [{ model: 'acme/images' }, 'model', 'model_not_found'],
    [{ model: 'acme/text' }, 'model', 'model_not_found'],
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ prompt: undefined }, 'prompt', 'missing_required_parameter'],
    [{ prompt: '' }, 'prompt', 'invalid_value'],
    [{ prompt: 'x'.repeat(2_001) }, 'prompt', 'invalid_value'],
    [{ prompt: 'a\u0000b' }, 'prompt', 'invalid_value'],
    [{ seconds: '11' }, 'seconds', 'invalid_value'],
    [{ seconds: '0' }, 'seconds', 'invalid_value'],
    [{ seconds: '4.5' }, 'seconds', 'invalid_value'],
    [{ seconds: '1e3' }, 'seconds', 'invalid_value'],
    [{ seconds: 4.5 }, 'seconds', 'invalid_type'],
    [{ seconds: ['4'] }, 'seconds', 'invalid_type'],
    [{ size: '512x512' }, 'size', 'invalid_value'],
    [{ size: 'constructor' }, 'size', 'invalid_value'],
    [{ n: 2 }, 'n', 'unknown_parameter'],
    [{ input_reference: 'https://example.com/a.png' }, 'input_reference', 'invalid_type'],
    [{ input_reference: {} }, 'input_reference', 'invalid_value'],
    [{ input_reference: { file_id: 'file_1', image_url: 'https://a.example' } }, 'input_reference', 'invalid_value'],
    [{ input_reference: { image_url: 'http://127.0.0.1/a.png' } }, 'input_reference', 'invalid_value'],
    [{ input_reference: { file_id: 'file/abc' } }, 'input_reference.file_id', 'invalid_value'],
    [{ input_reference: { image_url: 'data:image/png;base64,' } }, 'input_reference.image_url', null],
    [{ input_reference: { image_url: 'data:image/png,abc' } }, 'input_reference.image_url', 'invalid_value'],
    [
      { input_reference: { image_url: `data:image/png;base64,${Buffer.from('no image').toString('base64')}` } },
      'input_reference.image_url',
      'unsupported_file_mimetype',
    ],
  ];
  for (const [changes, param, code] of rejected) {
    it(`rejects ${JSON.stringify(changes).slice(0, 70)} by the field, and keeps nothing`, async () => {
      const account = await served.newAccount();
      const { status, body } = await create(account, changes);

      assert.equal(status, 400, JSON.stringify(body));
      assert.deepEqual([body.error.param, body.error.code], [param, code], JSON.stringify(body));
      assert.deepEqual(await tasksOf(account), []);
      assert.equal(await uploadsOf(account), 0);
    });
  }

  it('rejects forms that are not well-formed, and files that are no image, and keeps nothing', async () => {
    const account = await served.newAccount();
    const answers = [
      await sendForm(account, { input_reference: new Blob(['no image at all'], { type: 'image/png' }) }),
      await sendForm(account, { input_reference: new Blob([], { type: 'image/png' }) }),
      await sendForm(account, { 'input_reference[image_url]': 'https://a.example', input_reference: png() }),
      await sendForm(account, { image: png() }),
      await sendForm(account, { size: '9x9', input_reference: png() }),
      await sendForm(account, { 'input_reference[url]': 'https://a.example' }),
      await sendForm(account, { seconds: 'long', input_reference: png() }),
    ];

    assert.deepEqual(
      answers.map((answer) => [answer.status, parsed(answer).error.param]),
      [
        [400, 'input_reference'],
        [400, 'input_reference'],
        [400, 'input_reference'],
        [400, 'image'],
        [400, 'size'],
        [400, 'input_reference[url]'],
        [400, 'seconds'],
      ],
    );
    assert.deepEqual(await tasksOf(account), []);
    assert.equal(await uploadsOf(account), 0);
  });

  it("does not take another account's file", async () => {
    const owner = await served.newAccount();
    const headers = { Authorization: `Bearer ${owner.client.key}`, 'Content-Type': 'image/png' };
    const upload = await raw(served.url, 'POST', '/v1/files', headers, image);
    const { id } = (JSON.parse(upload.text) as { data: { id: string } }).data;
    for (const fileId of [id, 'file-abc']) {
      const { status, body } = await create(await served.newAccount(), { input_reference: { file_id: fileId } });

      assert.deepEqual([status, body.error.param, body.error.code], [404, 'input_reference.file_id', 'not_found']);
    }
    const { client } = await owner.newKey({ scopes: ['tasks:write'] });
    const withoutScope = await client.send('POST', PATH, videoBody({ input_reference: { file_id: id } }));
    assert.equal(withoutScope.status, 403);
  });

  it('answers as other endpoints do without balance, right or type of body', async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    const noBalance = await create(poor);
    assert.deepEqual([noBalance.status, noBalance.body.error.code], [402, 'insufficient_quota']);
    const { client } = await poor.newKey({ scopes: ['tasks:read'] });
    assert.equal((await client.send('POST', PATH, videoBody())).status, 403);
    const { client: limited } = await poor.newKey({ models: ['acme/images'] });
    assert.equal((await limited.send('POST', PATH, videoBody())).status, 403);
    const headers = { Authorization: `Bearer ${poor.client.key}`, 'Content-Type': 'text/plain' };
    assert.equal((await raw(served.url, 'POST', PATH, headers, 'a fox')).status, 415);
  });
});

describe('automatic retries of POST /v1/videos', () => {
  it('get the video of an attempt whose response was lost, and pay once', async () => {
    const account = await served.newAccount();
    const { body: first } = await create(account);
    // As after a process that was killed before it had sent the response.
    await served.room.rows(
      'UPDATE awaited_responses SET received_at = NULL, sent_to = NULL WHERE task_id = $1',
      first.id,
    );
    const { body: retry } = await create(account, {}, RETRY);

    assert.equal(retry.id, first.id);
    assert.equal((await tasksOf(account)).length, 1);
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('with an image keep one upload', async () => {
    const account = await served.newAccount();
    const { id } = parsed(await sendForm(account, { input_reference: png() }));
    await served.room.rows('UPDATE awaited_responses SET received_at = NULL, sent_to = NULL WHERE task_id = $1', id);
    const retry = await sendForm(account, { input_reference: png() }, RETRY);

    assert.equal(parsed(retry).id, id);
    assert.equal(await uploadsOf(account), 1);
  });

  it('of several lost attempts get a video each', async () => {
    const account = await served.newAccount();
    const firsts = await Promise.all([create(account), create(account), create(account)]);
    await served.room.rows(
      'UPDATE awaited_responses SET received_at = NULL, sent_to = NULL WHERE account_id = $1',
      account.id,
    );
    const retries = await Promise.all([1, 2, 3].map(() => create(account, {}, RETRY)));

    assert.deepEqual(new Set(retries.map(({ body }) => body.id)), new Set(firsts.map(({ body }) => body.id)));
    assert.equal((await tasksOf(account)).length, 3);
  });

  it('create a video where the response has arrived a while ago, or none is equal', async () => {
    const account = await served.newAccount();
    const { body: first } = await create(account);
    await waitFor('it is received', async () => {
      const [row] = await served.room.rows<{ received: boolean }>(
        'SELECT received_at IS NOT NULL AS received FROM awaited_responses WHERE task_id = $1',
        first.id,
      );
      return row?.received === true;
    });
    await served.room.rows(
      "UPDATE awaited_responses SET received_at = received_at - interval '6 seconds' WHERE task_id = $1",
      first.id,
    );
    const later = await create(account, {}, RETRY);
    const other = await create(account, { prompt: 'a wolf' }, RETRY);
    const key = { 'Idempotency-Key': 'a-video' };
    const keyed = await create(account, {}, key);
    const replay = await create(account, {}, key);

    assert.equal(new Set([first, later.body, other.body, keyed.body].map(({ id }) => id)).size, 4);
    assert.deepEqual([keyed.status, replay.body.id], [200, keyed.body.id]);
    assert.equal(replay.headers.get('idempotent-replay'), 'true');
  });
});

describe('GET /v1/videos/{id}', () => {
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
      ['?model=acme/x', 'model'],
    ] as const) {
      const { status, body } = await list(account, query);
      assert.deepEqual([status, body.error.param], [400, param], query);
    }
  });
});

describe('GET /v1/videos/{id}/content', () => {
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
