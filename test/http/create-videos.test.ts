/** `POST /v1/videos`: what creates a video, what is rejected, and automatic retries. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from './raw-request.ts';
import { videoBody } from './route-requests.ts';
import { PATH, openVideos } from './video-client.ts';

const RETRY = { 'X-Stainless-Retry-Count': '1' };

const videos = await openVideos();
after(() => videos.close());
const { served, image, create, sendForm, parsed, png, tasksOf, uploadsOf } = videos;

describe('POST /v1/videos', () => {
  // Proves C10-14.
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

  // Proves C10-14.
  it('takes a form without a file, and JSON with a number of seconds', async () => {
    const account = await served.newAccount();
    const form = await sendForm(account);
    const json = await create(account, { seconds: 3, size: null, input_reference: null });
    const fraction = await sendForm(account, { seconds: '4.0', size: '\r\n', 'input_reference[image_url]': ' ' });

    assert.deepEqual([form.status, parsed(form).seconds, parsed(form).size], [200, '5', '1280x720']);
    assert.deepEqual([json.status, json.body['seconds']], [200, '3']);
    assert.deepEqual([fraction.status, parsed(fraction).seconds], [200, '4']);
    assert.deepEqual(
      (await tasksOf(account)).map(({ input }) => input),
      [{ prompt: 'a fox' }, { prompt: 'a fox', duration: 3 }, { prompt: 'a fox', duration: 4 }],
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
    [{ prompt: '' }, 'prompt', 'empty_string'],
    [{ prompt: 'x'.repeat(2_001) }, 'prompt', 'string_above_max_length'],
    [{ prompt: 'a\u0000b' }, 'prompt', 'invalid_value'],
    [{ seconds: '11' }, 'seconds', 'integer_above_max_value'],
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
    [{ input_reference: { image_url: 'data:image/png;base64,' } }, 'input_reference.image_url', 'invalid_value'],
    [
      { input_reference: { image_url: 'data:image/png,abc' } },
      'input_reference.image_url',
      'unsupported_file_mimetype',
    ],
    [
      { input_reference: { image_url: `data:image/png;base64,${Buffer.from('no image').toString('base64')}` } },
      'input_reference.image_url',
      'unsupported_file_mimetype',
    ],
  ];
  for (const [changes, param, code] of rejected) {
    // Proves C10-6.
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

  it('answers as other endpoints do without balance or right', async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    const noBalance = await create(poor);
    assert.deepEqual([noBalance.status, noBalance.body.error.code], [402, 'insufficient_quota']);
    const { client } = await poor.newKey({ scopes: ['tasks:read'] });
    assert.equal((await client.send('POST', PATH, videoBody())).status, 403);
    const { client: limited } = await poor.newKey({ models: ['acme/images'] });
    assert.equal((await limited.send('POST', PATH, videoBody())).status, 403);
  });
});

describe('automatic retries of POST /v1/videos', () => {
  // Proves C10-10.
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
