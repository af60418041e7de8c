/** `POST /v1/images/generations`: a task whose images are the response, and what happens to it when the client goes. */
import assert from 'node:assert/strict';
import type { ClientRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body as taskBody } from '../tasks/task-room.ts';
import { failTask } from './image-responses.ts';
import { madeImage, newestTask, openCall, tasksOf } from './media-calls.ts';
import type { FailedAnswer } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { imageBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { MadeOutput, ServedAccount, ServedApp } from './serve.ts';

const PATH = '/v1/images/generations';
const RETRY = { 'X-Stainless-Retry-Count': '1' };

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

interface Images {
  readonly created: number;
  readonly data: readonly { readonly b64_json?: string; readonly url?: string }[];
  readonly size?: string;
  readonly output_format?: string;
  readonly quality?: string;
}

const headersOf = (account: ServedAccount, more: Record<string, string> = {}): Record<string, string> => ({
  Authorization: `Bearer ${account.client.key}`,
  'Content-Type': 'application/json',
  ...more,
});

function generate(
  account: ServedAccount,
  changes: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  app = served,
): Promise<RawAnswer> {
  return raw(app.url, 'POST', PATH, headersOf(account, headers), JSON.stringify(imageBody(changes)));
}

/** A request whose task ends with these images. */
async function generated(
  account: ServedAccount,
  changes: Record<string, unknown> = {},
  made: readonly MadeOutput[] = [madeImage('one')],
  headers: Record<string, string> = {},
): Promise<{ readonly taskId: TaskId; readonly answer: RawAnswer }> {
  const before = (await tasksOf(served, account)).length;
  const answering = generate(account, changes, headers);
  const taskId = await newestTask(served, account, before);
  await served.succeedWith(taskId, made);
  return { taskId, answer: await answering };
}

/** A request whose client will disconnect. @returns once its task exists. */
async function openRequest(account: ServedAccount): Promise<ClientRequest> {
  const before = (await tasksOf(served, account)).length;
  const { outgoing } = openCall(served, account, PATH, imageBody());
  await newestTask(served, account, before);
  return outgoing;
}

/** Disconnects a client, and waits until that is recorded. */
async function disconnect(outgoing: ClientRequest, taskId: TaskId): Promise<void> {
  outgoing.destroy();
  await waitFor('the disconnection is recorded', async () => (await awaitedRow(taskId))?.waiter === null);
}

/** The task of a request whose client has disconnected. */
async function lostTask(account: ServedAccount): Promise<TaskId> {
  const outgoing = await openRequest(account);
  const taskId = await newestTask(served, account);
  await disconnect(outgoing, taskId);
  return taskId;
}

interface AwaitedRow {
  readonly waiter: string | null;
  readonly retries: number;
  readonly isReceived: boolean;
}

async function awaitedRow(taskId: TaskId): Promise<AwaitedRow | undefined> {
  const [row] = await served.room.rows<AwaitedRow>(
    'SELECT waiter, retries, received_at IS NOT NULL AS "isReceived" FROM awaited_responses WHERE task_id = $1',
    taskId,
  );
  return row;
}

const parsed = <Body>(answer: RawAnswer): Body => JSON.parse(answer.text) as Body;

describe('POST /v1/images/generations', () => {
  // Proves C10-1.
  it('answers with the images of a task in base64, in the form of OpenAI', async () => {
    const account = await served.newAccount();
    const files = ['one', 'a second one', 'x'.repeat(300_001)];
    const made = files.map((text) => madeImage(text));
    const { taskId, answer } = await generated(account, { n: 3, size: '1024x1024', user: 'user-7' }, made);

    assert.equal(answer.status, 200, answer.text);
    const { created, data, ...facts } = parsed<Images>(answer);
    assert.deepEqual(
      data.map(({ b64_json: base64 = '' }) => Buffer.from(base64, 'base64').toString()),
      files,
    );
    assert.ok(Math.abs(created - Date.now() / 1000) < 60);
    assert.deepEqual(facts, { output_format: 'png', size: '1024x1024' });
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    assert.match(String(answer.headers['openai-processing-ms']), /^\d+$/);
    assert.match(String(answer.headers['x-ratelimit-remaining-requests']), /^\d+$/);
    assert.match(String(answer.headers['x-request-id']), /^req_/);
    assert.equal(answer.headers['content-length'], String(answer.text.length));

    const { data: task } = (await account.client.get(taskId)).body;
    assert.equal(task.billing.captured, '0.01');
    assert.deepEqual((task as unknown as { metadata: object }).metadata, { user: 'user-7' });
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}?include=input`);
    const { input } = body.data as unknown as { input: object };
    assert.deepEqual(input, { prompt: 'a fox', count: 3, resolution: '1k' });
  });

  // Proves C10-1.
  it('answers with URLs where these are requested', async () => {
    const account = await served.newAccount();
    const made = [madeImage('one'), madeImage('two')];
    const { data } = parsed<Images>((await generated(account, { response_format: 'url' }, made)).answer);

    const files = await Promise.all(data.map(async ({ url = '' }) => (await fetch(url)).text()));
    assert.deepEqual(files, ['one', 'two']);
  });

  it('says nothing about images that differ, and repeats the quality that was chosen', async () => {
    const account = await served.newAccount();
    const other = { ...madeImage('two', { width: 10, height: 20 }), mimeType: 'image/webp' };
    const { answer } = await generated(account, {}, [madeImage('one'), other]);

    assert.deepEqual(Object.keys(parsed<Images>(answer)), ['created', 'data']);
  });

  // What every endpoint of OpenAI's API rejects alike is in openai-errors.test.ts.
  const rejected: readonly (readonly [changes: object, param: string, code: string])[] = [
    [{ model: 'acme/images' }, 'model', 'model_not_found'],
    [{ model: 'acme/text' }, 'model', 'model_not_found'],
    [{ prompt: 'x'.repeat(2_001) }, 'prompt', 'string_above_max_length'],
    [{ prompt: 'a\u0000b' }, 'prompt', 'invalid_value'],
    [{ size: '512x512' }, 'size', 'invalid_value'],
    [{ quality: 'high' }, 'quality', 'unsupported_parameter'],
    [{ background: 'transparent' }, 'background', 'unsupported_parameter'],
    [{ n: 5 }, 'n', 'integer_above_max_value'],
    [{ n: '1' }, 'n', 'invalid_type'],
    [{ partial_images: 2 }, 'partial_images', 'unsupported_value'],
  ];
  for (const [changes, param, code] of rejected) {
    // Proves C10-6.
    it(`rejects ${JSON.stringify(changes).slice(0, 60)} with the field, and creates nothing`, async () => {
      const account = await served.newAccount();
      const answer = await generate(account, { ...changes });

      assert.equal(answer.status, 400, answer.text);
      const { error } = parsed<FailedAnswer>(answer);
      assert.deepEqual([error.param, error.code, error.type], [param, code, 'invalid_request_error'], answer.text);
      assert.equal(answer.headers['x-darkroom-task-id'], undefined);
      assert.match(String(answer.headers['openai-processing-ms'] ?? '0'), /^\d+$/);
      assert.deepEqual(await tasksOf(served, account), []);
    });
  }

  it('answers as the text endpoints do when there is no balance, or no right to the model', async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    const noBalance = await generate(poor);
    assert.equal(noBalance.status, 402);
    assert.equal(parsed<FailedAnswer>(noBalance).error.code, 'insufficient_quota');

    const { client: limited } = await poor.newKey({ models: ['acme/images'] });
    assert.equal((await limited.send('POST', PATH, imageBody())).status, 403);
  });

  const failures: readonly (readonly [FailureReason, status: number, code: string, shouldRetry: string | undefined])[] =
    [
      ['content_rejected', 400, 'moderation_blocked', undefined],
      ['input_invalid', 400, 'invalid_value', undefined],
      ['provider_error', 503, 'provider_error', undefined],
      ['provider_unavailable', 503, 'provider_unavailable', undefined],
      ['outcome_unknown', 503, 'outcome_unknown', 'false'],
      ['timed_out', 503, 'timeout', 'false'],
      ['model_unavailable', 503, 'model_unavailable', 'false'],
      ['cancelled', 400, 'task_cancelled', undefined],
    ];
  for (const [reason, status, code, shouldRetry] of failures) {
    // Proves C10-11.
    it(`answers ${status} ${code} when the task fails with ${reason}`, async () => {
      const account = await served.newAccount();
      const answering = generate(account);
      const taskId = await newestTask(served, account);
      await failTask(served, taskId, reason);
      const answer = await answering;

      assert.equal(answer.status, status, answer.text);
      assert.equal(parsed<FailedAnswer>(answer).error.code, code);
      assert.equal(answer.headers['x-should-retry'], shouldRetry);
      assert.equal(answer.headers['x-darkroom-task-id'], taskId);
      assert.equal(await awaitedRow(taskId), undefined);
    });
  }

  // Proves C10-7.
  it('answers 202 with the task at once, or after the time that the client waits', async () => {
    const account = await served.newAccount();
    for (const [prefer, applied] of [
      ['respond-async', 'respond-async'],
      ['wait=1', 'wait=1'],
      ['respond-async, wait=1', 'respond-async, wait=1'],
    ] as const) {
      const answer = await generate(account, {}, { Prefer: prefer });
      const { taskId, status } = parsed<{ taskId: TaskId; status: string }>(answer);

      assert.deepEqual([answer.status, status], [202, 'queued']);
      assert.equal(answer.headers['preference-applied'], applied);
      assert.equal(answer.headers['location'], `/v1/tasks/${taskId}`);
      assert.equal(answer.headers['x-darkroom-task-id'], taskId);
      await waitFor('it is received', async () => (await awaitedRow(taskId))?.isReceived === true);
    }
    assert.equal((await tasksOf(served, account)).length, 3);
  });

  it('answers a repeated Idempotency-Key with the images of the first task, and another body with 422', async () => {
    const account = await served.newAccount();
    const headers = { 'Idempotency-Key': 'once' };
    const { taskId, answer: first } = await generated(account, {}, undefined, headers);
    const again = await generate(account, {}, { ...headers, ...RETRY });
    const other = await generate(account, { size: '2048x2048' }, headers);

    assert.equal(again.text, first.text);
    assert.equal(again.headers['idempotent-replay'], 'true');
    assert.equal(other.status, 422);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
    assert.equal(await awaitedRow(taskId), undefined);
  });

  // Proves C10-12.
  it('answers 404 when the images of that task have been deleted', async () => {
    const account = await served.newAccount();
    const headers = { 'Idempotency-Key': 'gone' };
    const { taskId } = await generated(account, {}, undefined, headers);
    const { data: task } = (await account.client.get(taskId)).body;
    await account.client.send('DELETE', `/v1/storages/${task.output?.[0]?.id}`);
    const again = await generate(account, {}, headers);

    assert.equal(again.status, 404);
    assert.equal(parsed<FailedAnswer>(again).error.code, 'output_expired');
  });

  it('ends a response that cannot be sent whole, and a retry gets the images', async () => {
    const account = await served.newAccount();
    const { taskId, answer } = await generated(account);
    assert.equal(answer.status, 200);
    // As if it had been longer than it is, which is noticed at its end.
    await served.room.rows('UPDATE outputs SET size_bytes = size_bytes + 3 WHERE task_id = $1', taskId);
    await served.room.rows(
      'UPDATE awaited_responses SET received_at = NULL, sent_to = NULL WHERE task_id = $1',
      taskId,
    );

    const broken = await fetch(`${served.url}${PATH}`, {
      method: 'POST',
      headers: headersOf(account, RETRY),
      body: JSON.stringify(imageBody()),
    });
    assert.equal(broken.status, 200);
    await assert.rejects(broken.text(), /terminated/);
    await waitFor('it is released', async () => (await awaitedRow(taskId))?.waiter === null);
    await served.room.rows('UPDATE outputs SET size_bytes = size_bytes - 3 WHERE task_id = $1', taskId);
    const again = await generate(account, {}, RETRY);

    assert.equal(Buffer.from(parsed<Images>(again).data[0]?.b64_json ?? '', 'base64').toString(), 'one');
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });
});

describe('an automatic retry of a request for images', () => {
  // Proves C10-9, C10-10.
  it('attaches to the task of a client that has disconnected, which went on', async () => {
    const account = await served.newAccount();
    const taskId = await lostTask(account);
    const answering = generate(account, {}, RETRY);
    await waitFor('the retry waits', async () => (await awaitedRow(taskId))?.retries === 1);
    await served.succeedWith(taskId, [madeImage('one')]);
    const answer = await answering;

    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    assert.equal(Buffer.from(parsed<Images>(answer).data[0]?.b64_json ?? '', 'base64').toString(), 'one');
    assert.deepEqual(await tasksOf(served, account), [taskId]);
    assert.equal((await account.client.get(taskId)).body.data.billing.captured, '0.01');
    await waitFor('it is received', async () => (await awaitedRow(taskId))?.isReceived === true);
  });

  it('gets the images of a task that ended while no client was there', async () => {
    const account = await served.newAccount();
    const taskId = await lostTask(account);
    await served.succeedWith(taskId, [madeImage('one')]);

    assert.equal((await generate(account, {}, RETRY)).headers['x-darkroom-task-id'], taskId);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });

  // Proves C10-10.
  it('finds a task of its own for each of several equal requests that were lost', async () => {
    const account = await served.newAccount();
    const requests = [await openRequest(account), await openRequest(account), await openRequest(account)];
    const tasks = await tasksOf(served, account);
    assert.equal(new Set(tasks).size, 3);
    // As a process that is killed leaves them: nothing says that their clients are gone.
    const retries = [0, 1, 2].map(() => generate(account, {}, RETRY));
    await waitFor('all retries wait', async () => {
      const rows = await Promise.all(tasks.map(awaitedRow));
      return rows.every((row) => row?.retries === 1);
    });
    for (const outgoing of requests) outgoing.destroy();
    for (const taskId of tasks) await served.succeedWith(taskId, [madeImage(taskId)]);
    const answered = (await Promise.all(retries)).map(({ headers }) => String(headers['x-darkroom-task-id']));

    assert.deepEqual(answered.toSorted(), tasks.toSorted());
    assert.deepEqual(await tasksOf(served, account), tasks);
  });

  it('leaves the task of an equal request that is still there to that one, and gets its own', async () => {
    const account = await served.newAccount();
    const first = generate(account);
    const firstTask = await newestTask(served, account);
    const outgoing = await openRequest(account);
    const lost = await newestTask(served, account, 1);
    // Its client repeats the request before the disconnection is noticed, so the retry attaches to the older task.
    await disconnect(outgoing, lost);
    await served.room.rows("UPDATE awaited_responses SET waiter = 'req_unnoticed' WHERE task_id = $1", lost);
    const retry = generate(account, {}, RETRY);
    await waitFor('the retry waits', async () => (await awaitedRow(firstTask))?.retries === 1);
    await served.succeedWith(firstTask, [madeImage(firstTask)]);
    await served.succeedWith(lost, [madeImage(lost)]);
    const answers = [await first, await retry];

    const tasks = [firstTask, lost];
    assert.deepEqual(new Set(answers.map(({ headers }) => headers['x-darkroom-task-id'])), new Set(tasks));
    for (const answer of answers) {
      const [made] = parsed<Images>(answer).data;
      const shown = Buffer.from(made?.b64_json ?? '', 'base64').toString();
      assert.equal(shown, answer.headers['x-darkroom-task-id']);
    }
    assert.deepEqual(await tasksOf(served, account), tasks);
  });

  // Proves C10-10.
  it('gets the result again that a proxy may have lost, but not one that arrived a while ago', async () => {
    const account = await served.newAccount();
    const { taskId } = await generated(account);
    await waitFor('it is received', async () => (await awaitedRow(taskId))?.isReceived === true);

    assert.equal((await generate(account, {}, RETRY)).headers['x-darkroom-task-id'], taskId);
    await served.room.rows(
      "UPDATE awaited_responses SET received_at = received_at - interval '6 seconds' WHERE task_id = $1",
      taskId,
    );
    const later = await generate(account, {}, { ...RETRY, Prefer: 'respond-async' });
    assert.equal(later.status, 202);
    assert.equal((await tasksOf(served, account)).length, 2);
  });

  it('creates another task after one that failed, which cost nothing', async () => {
    const account = await served.newAccount();
    const answering = generate(account);
    const taskId = await newestTask(served, account);
    await failTask(served, taskId, 'provider_error');
    assert.equal((await answering).status, 503);
    const { taskId: next, answer } = await generated(account, {}, undefined, RETRY);

    assert.equal(answer.headers['x-darkroom-task-id'], next);
    assert.notEqual(next, taskId);
  });

  it('creates a task where there is none that it repeats', async () => {
    const account = await served.newAccount();
    const taskId = await lostTask(account);
    const async = { Prefer: 'respond-async' };
    const otherKey = await account.newKey();
    const stranger = await served.newAccount();
    // A task that was not created here has no response that a client waits for.
    await account.client.create(taskBody({ model: 'acme/compatible' }));
    const created = [
      await generate(account, {}, async),
      await generate(account, {}, { ...async, 'X-Stainless-Retry-Count': '0' }),
      await generate(account, {}, { ...async, 'X-Stainless-Retry-Count': 'yes' }),
      await generate(account, { prompt: 'another' }, { ...async, ...RETRY }),
      await generate(account, {}, { ...async, ...RETRY, 'Idempotency-Key': 'its-own' }),
      await generate({ ...account, client: otherKey.client }, {}, { ...async, ...RETRY }),
      await generate(stranger, {}, { ...async, ...RETRY }),
    ].map(({ headers }) => String(headers['x-darkroom-task-id']));

    assert.ok(
      created.every((id) => id.startsWith('tk-svc-')),
      created.join(', '),
    );
    assert.equal(new Set([...created, taskId]).size, 8);
  });

  // Proves C10-10.
  it('creates a task when the one before is older than ten minutes', async () => {
    const account = await served.newAccount();
    const taskId = await lostTask(account);
    await served.room.rows(
      "UPDATE awaited_responses SET created_at = created_at - interval '601 seconds' WHERE task_id = $1",
      taskId,
    );
    const answer = await generate(account, {}, { ...RETRY, Prefer: 'respond-async' });

    assert.notEqual(answer.headers['x-darkroom-task-id'], taskId);
  });
});

describe('an api process that stops', () => {
  // Proves C10-13.
  it('answers those that wait so that their retry attaches to the task', async (t) => {
    const app = await serveApp();
    t.after(() => app.close());
    const account = await app.newAccount();
    const answering = generate(account, {}, {}, app);
    await waitFor('the request waits', () => app.http.feed.count() === 1);
    app.http.feed.close();
    const answer = await answering;

    assert.equal(answer.status, 503, answer.text);
    assert.equal(parsed<FailedAnswer>(answer).error.code, 'server_stopping');
    assert.equal(answer.headers['x-should-retry'], 'true');
    assert.equal(answer.headers['connection'], 'close');
    const taskId = String(answer.headers['x-darkroom-task-id']) as TaskId;
    await app.succeed(taskId, Buffer.from('one'));
    const retry = await generate(account, {}, RETRY, app);
    assert.equal(retry.headers['x-darkroom-task-id'], taskId);
    assert.equal((await app.room.rows('SELECT id FROM tasks')).length, 1);
  });
});
