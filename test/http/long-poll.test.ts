/** `GET /v1/tasks/{id}` that waits (`Prefer: wait=N`, contract §3), or includes the input (contract §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { preferredWait } from '../../src/http/streams/long-poll.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { addEvent, lockTask } from '../../src/tasks/record/timeline.ts';
import { beginArchiving, beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

/** A response within this time did not wait for its full 30 s, on a slow machine either. */
const BEFORE_ITS_TIME_MS = 25_000;

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

async function createTask(changes: Record<string, unknown> = {}): Promise<TaskId> {
  const { body: created } = await account.client.create(body(changes));
  await claimOutbox(served.room.database, 100);
  return created.data.taskId as TaskId;
}

function get(taskId: string, prefer: string, on: ServedAccount = account): Promise<ApiAnswer> {
  return on.client.send('GET', `/v1/tasks/${taskId}`, undefined, { Prefer: prefer });
}

/** Sends a request that waits, and returns once it does. */
async function waiting(taskId: string, prefer: string): Promise<{ readonly answer: Promise<ApiAnswer> }> {
  const answer = get(taskId, prefer);
  await waitForWaiters(1);
  return { answer };
}

/** Waits until this many requests wait. */
function waitForWaiters(count: number, { http }: ServedApp = served): Promise<void> {
  return waitFor(
    () => `${count} requests wait; ${http.feed.count()} do`,
    () => http.feed.count() === count,
  );
}

describe('Prefer', () => {
  // Proves C4-12.
  it('is parsed as in RFC 7240, and limited to 30 s', () => {
    const cases: readonly (readonly [string, number | undefined])[] = [
      ['wait=10', 10],
      ['wait=30', 30],
      ['wait=31', 30],
      ['wait=999999999', 30],
      ['WAIT=5', 5],
      ['wait = 5', 5],
      ['wait="5"', 5],
      ['respond-async, wait=7', 7],
      ['respond-async,wait=7;foo=bar', 7],
      ['x="a, wait=9", wait=4', 4],
      ['x="a\\", wait=9", wait=4', 4],
      ['wait=3, wait=20', 3],
      ['  ,, wait=2', 2],
      ['wait=007', 7],
    ];
    for (const [header, seconds] of cases) assert.equal(preferredWait(header), seconds, header);
  });

  it('is ignored when it requests nothing, or cannot be parsed', () => {
    for (const header of [
      '',
      'wait',
      'wait=',
      'wait=0',
      'wait=-1',
      'wait=1.5',
      'wait=abc',
      'wait=1e1',
      'wait=0x10',
      'wait=5s',
      'wait=5 6',
      'wait="5',
      'wait=１０',
      'wait=99999999999999999999999999',
      'await=5',
      'wait5',
      'x="wait=5"',
      'wait=no, wait=5',
      `${'"\\'.repeat(4_000)}wait=5`,
    ]) {
      assert.equal(preferredWait(header), undefined, header.slice(0, 40));
    }
  });

  it('is parsed quickly, however hard it is to parse', () => {
    const before = process.cpuUsage();
    for (let times = 0; times < 200; times++) {
      preferredWait(`wait${' '.repeat(8_000)}x`);
      preferredWait(`wait=${' '.repeat(8_000)}"`);
      preferredWait(`wait="${'\\'.repeat(8_000)}`);
    }
    // Of processor time. It took more than 0.1 s each time.
    assert.ok(process.cpuUsage(before).user / 1000 < 5_000);
  });
});

describe('a read that waits', () => {
  // Proves C4-12.
  it('returns when the status changes, with the current task', async () => {
    const taskId = await createTask();

    for (const [step, status] of [
      [() => beginHandling(served.room.database, taskId, 60), 'handling'],
      [() => beginArchiving(served.room.database, taskId), 'archiving'],
      [
        () => settleTask(served.room.database, taskId, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 }),
        'fail',
      ],
    ] as const) {
      const begun = Date.now();
      const { answer } = await waiting(taskId, 'wait=30');
      await step();
      const { status: code, headers, body: answered } = await answer;
      assert.equal(code, 200);
      assert.equal(answered.data.status, status);
      assert.equal(headers.get('preference-applied'), 'wait=30');
      assert.equal(headers.get('cache-control'), 'private, no-cache');
      assert.equal(headers.get('retry-after') === null, status === 'fail');
      assert.ok(Date.now() - begun < BEFORE_ITS_TIME_MS);
    }
  });

  it('returns after its time when the status stays, whatever else happens to the task', async () => {
    const taskId = await createTask();
    await beginHandling(served.room.database, taskId, 60);
    const begun = Date.now();
    const { answer } = await waiting(taskId, 'wait=1');
    await served.room.database.transaction(async (transaction) => {
      await lockTask(transaction, taskId);
      await addEvent(transaction, taskId, 'provider_refused');
    });

    const { status, headers, body: answered } = await answer;

    assert.ok(Date.now() - begun >= 995);
    assert.equal(status, 200);
    assert.equal(answered.data.status, 'handling');
    assert.equal(headers.get('preference-applied'), 'wait=1');
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  });

  it('returns immediately for an ended task, and for an unknown one', async () => {
    const taskId = await createTask();
    await served.succeed(taskId, Buffer.from('bytes'));
    const other = await served.newAccount();
    const begun = Date.now();

    const { headers, body: answered } = await get(taskId, 'wait=30');

    assert.equal(answered.data.status, 'success');
    assert.equal(headers.get('preference-applied'), 'wait=30');
    assert.equal((await get(newTaskId(), 'wait=30')).status, 404);
    assert.equal((await get(await createTask(), 'wait=30', other)).status, 404);
    assert.ok(Date.now() - begun < BEFORE_ITS_TIME_MS);
  });

  // Proves C4-12.
  it('reports the time that was applied, and nothing when it does not wait', async () => {
    const taskId = await createTask();
    await served.succeed(taskId, Buffer.from('bytes'));

    assert.equal((await get(taskId, 'wait=3600')).headers.get('preference-applied'), 'wait=30');
    const open = await createTask();
    for (const prefer of ['wait=0', 'wait=soon', 'respond-async']) {
      const { status, headers } = await get(open, prefer);
      assert.equal(status, 200);
      assert.equal(headers.get('preference-applied'), null);
    }
  });

  it('returns the same response to many clients at the same time', async () => {
    const taskId = await createTask();
    const answers = Array.from({ length: 40 }, () => get(taskId, 'wait=30'));
    await waitForWaiters(40);
    const begun = Date.now();
    await beginHandling(served.room.database, taskId, 60);

    for (const answer of answers) assert.equal((await answer).body.data.status, 'handling');
    assert.ok(Date.now() - begun < BEFORE_ITS_TIME_MS);
  });

  it('reads nothing more for a client that has disconnected', async () => {
    const taskId = await createTask();
    served.room.forgetStatements();
    const gone = new AbortController();
    const request = fetch(`${served.url}/v1/tasks/${taskId}`, {
      headers: { Authorization: `Bearer ${account.client.key}`, Prefer: 'wait=30' },
      signal: gone.signal,
    });
    const reads = (): number => served.room.statements.filter((name) => name === 'select_task_detail').length;
    await waitForWaiters(1);
    gone.abort();
    await assert.rejects(request);
    await waitForWaiters(0);
    // Another reader is the first of the feed now, and is served.
    const { answer } = await waiting(taskId, 'wait=30');
    await beginHandling(served.room.database, taskId, 60);
    assert.equal((await answer).body.data.status, 'handling');

    assert.equal(reads(), 3);
  });

  it('returns when the process is stopped', async () => {
    const leaving = await serveApp();
    const owner = await leaving.newAccount();
    const { body: created } = await owner.client.create(body());
    const answer = get(created.data.taskId, 'wait=30', owner);
    await waitForWaiters(1, leaving);

    leaving.http.feed.close();

    assert.equal((await answer).body.data.status, 'queued');
    await leaving.close();
  });
});

describe('responses that wait', () => {
  async function newTask({ client }: ServedAccount): Promise<string> {
    return (await client.create(body())).body.data.taskId;
  }

  it('of one account leave as many connections as they hold to all others, and release them', async (t) => {
    // An account holds at most as many as it leaves free: 4.
    const narrow = await serveApp({ environment: { MAX_CONNECTIONS: '8' } });
    t.after(() => narrow.close());
    const [hostile, other] = [await narrow.newAccount(), await narrow.newAccount()];
    const [taskId, otherTask] = [await newTask(hostile), await newTask(other)];
    const headers = { Authorization: `Bearer ${hostile.client.key}`, Accept: 'text/event-stream' };
    const stop = new AbortController();
    const streams: Promise<Response>[] = [];
    for (let count = 0; count < 4; count++) {
      streams.push(fetch(`${narrow.url}/v1/tasks/${taskId}/events`, { headers, signal: stop.signal }));
    }
    for (const stream of streams) assert.equal((await stream).status, 200);

    const rejected = await raw(narrow.url, 'GET', `/v1/tasks/${taskId}/events`, headers);
    assert.deepEqual(errorOf(rejected), { status: 429, code: 'RATE_LIMITED' });
    assert.equal(rejected.headers['retry-after'], '5');

    // A wait is a preference: it is ignored, and the task is returned at once.
    const read = await raw(narrow.url, 'GET', `/v1/tasks/${taskId}`, { ...headers, Accept: '*/*', Prefer: 'wait=30' });
    assert.equal(read.status, 200);
    assert.equal(read.headers['preference-applied'], undefined);

    const waited = await raw(narrow.url, 'GET', `/v1/tasks/${otherTask}`, {
      Authorization: `Bearer ${other.client.key}`,
      Prefer: 'wait=1',
    });
    assert.equal(waited.headers['preference-applied'], 'wait=1');

    stop.abort();
    for (const stream of streams) await (await stream).text().catch(() => undefined);
    await waitFor('all are given back', () => narrow.http.waitingResponses.usage().inUse === 0);
  });
});

describe('a read with include=input', () => {
  const inputOf = async (taskId: string, query = '?include=input', on = account): Promise<ApiAnswer> =>
    on.client.send('GET', `/v1/tasks/${taskId}${query}`);

  // Proves C4-13.
  it('returns the input as it was sent, and only then reads it', async () => {
    const input = { prompt: 'a fox, ünï ☃ \u2028' };
    const taskId = await createTask({ input });

    served.room.forgetStatements();
    const plain = await inputOf(taskId, '');
    assert.ok(!('input' in plain.body.data));
    assert.ok(!served.room.statements.includes('select_task_input'));
    const { status, body: answered } = await inputOf(taskId);

    assert.equal(status, 200);
    assert.deepEqual((answered.data as unknown as { input: unknown }).input, input);
  });

  it('returns null once it was erased', async () => {
    const taskId = await createTask();
    await served.room.rows('UPDATE tasks SET input = NULL, input_erased_at = now() WHERE id = $1', taskId);

    const { body: answered } = await inputOf(taskId);

    assert.equal((answered.data as unknown as { input: unknown }).input, null);
  });

  it('rejects any other value of include, and hides the input from other accounts', async () => {
    const taskId = await createTask();
    for (const query of [
      '?include=',
      '?include=output',
      '?include=Input',
      '?include=input&include=input',
      '?input=1',
    ]) {
      assert.equal((await inputOf(taskId, query)).status, 400, query);
    }
    assert.equal((await inputOf(taskId, '?include=input', await served.newAccount())).status, 404);
  });

  it('returns it after waiting, too', async () => {
    const taskId = await createTask();
    const answer = account.client.send('GET', `/v1/tasks/${taskId}?include=input`, undefined, { Prefer: 'wait=30' });
    await waitForWaiters(1);
    await beginHandling(served.room.database, taskId, 60);

    const { body: answered } = await answer;
    assert.equal(answered.data.status, 'handling');
    assert.deepEqual((answered.data as unknown as { input: unknown }).input, { prompt: 'a fox' });
  });
});
