/**
 * What tasks share of an upstream, through the whole service: its cap, its pauses, its breaker, the fallback to the
 * next one, its hooks and its files. Each upstream here belongs to one test. Only public addresses are allowed: what
 * the test provider serves is fetched because it is the upstream's own.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import type { LogLine } from '../support/test-provider/log.ts';

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9/v1';

const MODELS = {
  capped: [{ protocol: 'replicate', id: 'capped', concurrency: 2 }],
  single: [{ protocol: 'replicate', id: 'single', concurrency: 1 }],
  busy: [{ protocol: 'tasks', id: 'busy' }],
  broken: [{ protocol: 'replicate', id: 'broken' }],
  spared: [
    { protocol: 'replicate', baseUrl: NOWHERE },
    { protocol: 'openai', id: 'keyless', secret: 'nowhere' },
    { protocol: 'tasks', id: 'spare' },
  ],
  dropped: [
    { protocol: 'replicate', id: 'dropping' },
    { protocol: 'tasks', id: 'never-asked' },
  ],
  repeated: [
    { protocol: 'tasks', id: 'repeating' },
    { protocol: 'replicate', id: 'never-asked-either' },
  ],
  rejected: [
    { protocol: 'replicate', id: 'rejecting' },
    { protocol: 'tasks', id: 'not-asked-for-it' },
  ],
  gone: [{ protocol: 'replicate', baseUrl: NOWHERE, id: 'gone' }],
  failing: {
    fallback: 'unbilled_failure',
    upstreams: [
      { protocol: 'tasks', id: 'failing', concurrency: 1 },
      { protocol: 'replicate', id: 'stepping-in', concurrency: 1 },
    ],
  },
} as const;

describe('an upstream that tasks share', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams({ EGRESS_ALLOW: '' }, [], MODELS);
  });
  after(() => outside.stop());

  interface Started {
    readonly account: TestAccount;
    readonly marker: string;
    readonly taskId: string;
  }

  async function start(model: string, behaviour: string, more: object = {}): Promise<Started> {
    const account = await outside.darkroom.createAccount();
    const marker = `marker-${randomUUID()}`;
    const input = { prompt: `${marker} a harbour ${behaviour}` };
    return { account, marker, taskId: await outside.create(account, { model: `test/${model}`, input, ...more }) };
  }

  async function end({ account, taskId }: Started): Promise<ApiTask> {
    const task = await account.client.waitForTerminal(taskId);
    await outside.assertSettled(account);
    return task;
  }

  async function eventsOf({ account, taskId }: Started, types: readonly string[]): Promise<unknown[]> {
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
    const { events } = (body as unknown as { data: { events: { type: string; detail: object }[] } }).data;
    return events.filter(({ type }) => types.includes(type)).map(({ type, detail }) => [type, detail]);
  }

  const attempts = (started: Started): Promise<unknown[]> =>
    eventsOf(started, ['provider_refused', 'provider_unanswered', 'submitted']);
  const linesOf = async ({ marker }: Started, kind: LogLine['kind']): Promise<readonly LogLine[]> =>
    (await outside.providerLog(marker)).filter((line) => line.kind === kind);

  it('never has more concurrent jobs than its cap, and every task ends', async () => {
    const tasks = await Promise.all(Array.from({ length: 5 }, () => start('capped', '[slow 2500]')));
    for (const task of tasks) assert.equal((await end(task)).status, 'success');

    const log = (await Promise.all(tasks.map(({ marker }) => outside.providerLog(marker)))).flat();
    let underWay = 0;
    let most = 0;
    for (const { kind } of log.toSorted((a, b) => a.at - b.at)) {
      underWay += kind === 'submit' ? 1 : kind === 'finished' ? -1 : 0;
      most = Math.max(most, underWay);
    }
    assert.ok(most <= 2, String(most));
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, tasks.length);
  });

  it('gives the slot of a cancelled task to the next, which was not rejected while it waited', async () => {
    const first = await start('single', '[slow 600000]');
    await outside.waitForProvider(first.marker, 'submit');
    const second = await start('single', '');
    await waitFor('the second task is begun', async () => {
      const { body } = await second.account.client.get(second.taskId);
      return body.data.status === 'handling';
    });

    await first.account.client.send('POST', `/v1/tasks/${first.taskId}/cancel`);

    assert.equal((await end(first)).error?.code, 'TASK_CANCELLED');
    assert.equal((await end(second)).status, 'success');
    assert.deepEqual(await attempts(second), [['submitted', { upstream: 'single' }]]);
    const [rejected] = await linesOf(second, 'rejected');
    assert.equal(rejected, undefined);
  });

  it('gets no requests from any task for as long as its Retry-After says', async () => {
    const first = await start('busy', '[reject-first 1] [retry-after 4]');
    // What the provider has answered is known to all once the worker has recorded it.
    await waitFor('the pause is recorded', async () => {
      const statement = `SELECT 1 FROM upstream_states WHERE upstream = 'busy' AND paused_until IS NOT NULL`;
      const { database } = outside.darkroom.testDatabase;
      return (await database.query({ name: 'test_pause', text: statement })).length > 0;
    });
    const others = await Promise.all([start('busy', ''), start('busy', '')]);
    for (const task of [first, ...others]) assert.equal((await end(task)).status, 'success');

    const [rejected] = await linesOf(first, 'rejected');
    for (const task of [first, ...others]) {
      const [submit] = await linesOf(task, 'submit');
      assert.ok(rejected && submit && submit.at - rejected.at >= 3_900, `${rejected?.at} ${submit?.at}`);
    }
    assert.deepEqual(await attempts(first), [
      ['provider_refused', { upstream: 'busy', reason: 'provider_unavailable' }],
      ['submitted', { upstream: 'busy' }],
    ]);
    for (const task of others) assert.deepEqual(await attempts(task), [['submitted', { upstream: 'busy' }]]);
  });

  it('gets no requests while its circuit breaker is open after five failures in a row', async () => {
    const five = await Promise.all(Array.from({ length: 5 }, () => start('broken', '[500]')));
    for (const task of five) assert.equal((await end(task)).error?.reason, 'outcome_unknown');

    const next = await start('broken', '', { timeoutSeconds: 5 });

    // On a slow machine the five seconds pass before it is begun.
    assert.match((await end(next)).error?.reason ?? '', /^(provider_unavailable|timed_out)$/);
    assert.deepEqual(await outside.providerLog(next.marker), []);
  });

  it('is followed by the next of its route after a definite rejection', async () => {
    const task = await start('spared', '[slow 600000]');
    await outside.waitForProvider(task.marker, 'poll');
    await task.account.client.send('POST', `/v1/tasks/${task.taskId}/cancel`);

    assert.equal((await end(task)).error?.code, 'TASK_CANCELLED');
    const log = await outside.providerLog(task.marker);
    assert.deepEqual(new Set(log.map(({ protocol }) => protocol)), new Set(['tasks']));
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, 1);
    assert.equal(log.filter(({ kind }) => kind === 'cancel').length, 1);
    assert.deepEqual(await attempts(task), [
      ['provider_refused', { upstream: 1, reason: 'provider_unavailable' }],
      ['provider_refused', { upstream: 'keyless', reason: 'model_unavailable' }],
      ['submitted', { upstream: 'spare' }],
    ]);
  });

  it('has no fallback when it is unknown whether it accepted the job', async () => {
    const task = await start('dropped', '[drop]');

    assert.equal((await end(task)).error?.reason, 'outcome_unknown');
    assert.deepEqual(
      (await outside.providerLog(task.marker)).filter(({ kind }) => kind === 'submit').map(({ protocol }) => protocol),
      ['replicate'],
    );
    assert.deepEqual(await attempts(task), [['provider_unanswered', { upstream: 'dropping' }]]);
  });

  it('is retried itself, without fallback, when it recognizes our task by its key', async () => {
    const task = await start('repeated', '[drop]');

    assert.equal((await end(task)).status, 'success');
    const log = await outside.providerLog(task.marker);
    assert.deepEqual(new Set(log.map(({ protocol }) => protocol)), new Set(['tasks']));
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, 1);
  });

  it('has no fallback when it rejected the content', async () => {
    const task = await start('rejected', '[reject 422]');

    assert.equal((await end(task)).error?.reason, 'input_invalid');
    assert.deepEqual(
      (await outside.providerLog(task.marker)).map(({ kind, protocol }) => [kind, protocol]),
      [['rejected', 'replicate']],
    );
  });

  it('is followed by the next of its route after jobs that failed and were not billed, one after the other', async () => {
    const tasks = await Promise.all([1, 2, 3].map(() => start('failing', '[fail-tasks] [bills 0] [slow 500]')));

    for (const task of tasks) {
      assert.equal((await end(task)).status, 'success');
      assert.deepEqual(
        (await linesOf(task, 'submit')).map(({ protocol }) => protocol),
        ['tasks', 'replicate'],
      );
      assert.deepEqual(await eventsOf(task, ['provider_failed', 'submitted']), [
        ['submitted', { upstream: 'failing' }],
        ['provider_failed', { upstream: 'failing', reason: 'provider_error' }],
        ['submitted', { upstream: 'stepping-in' }],
      ]);
    }
  });

  it('has no fallback once its task is cancelled', async () => {
    const task = await start('failing', '[fail-tasks] [bills 0] [slow 600000]');
    await outside.waitForProvider(task.marker, 'poll');
    await task.account.client.send('POST', `/v1/tasks/${task.taskId}/cancel`);

    assert.equal((await end(task)).error?.code, 'TASK_CANCELLED');
    assert.equal((await linesOf(task, 'submit')).length, 1);
  });

  it('fails a task as provider_unavailable when it cannot be reached before the deadline', async () => {
    // No more than the pause after one rejection: a retry would begin after the deadline.
    const task = await start('gone', '', { timeoutSeconds: 5 });

    const reason = (await end(task)).error?.reason;
    // On a slow machine the deadline may pass before the first attempt has been answered.
    assert.equal(reason, (await attempts(task)).length > 0 ? 'provider_unavailable' : 'timed_out');
  });

  it('is polled immediately when it calls back, before its poll interval has passed', async () => {
    const task = await start('replicate', '[slow 3000] [poll-after 600]');

    assert.equal((await end(task)).status, 'success');
    const [hook] = await linesOf(task, 'hook');
    assert.equal(hook?.status, 200);
    assert.equal(await hookRows(task), 0);
  });

  it('does not end a task by calling back early and often', async () => {
    const task = await start('replicate', '[slow 3000] [poll-after 600] [hook-every 100]');

    assert.equal((await end(task)).status, 'success');
    assert.ok((await linesOf(task, 'hook')).length > 10);
    const finished = (await linesOf(task, 'finished'))[0];
    const fetched = (await linesOf(task, 'file'))[0];
    assert.ok(finished && fetched && fetched.at >= finished.at);
    assert.equal((await linesOf(task, 'submit')).length, 1);
  });

  it('fails the task as provider_error, and gets a stop request, when it answers polls with HTML only', async () => {
    // Its hooks only shorten the time in which it is polled twenty times.
    const task = await start('replicate', '[slow 600000] [html-poll] [hook-every 200]');

    assert.equal((await end(task)).error?.reason, 'provider_error');
    assert.equal((await linesOf(task, 'poll')).length, 20);
    assert.equal((await linesOf(task, 'cancel')).length, 1);
  });

  it('serves its results only with its credential, from a host that no one else may fetch from', async () => {
    for (const model of ['replicate', 'tasks']) {
      const task = await start(model, '');

      assert.equal((await end(task)).status, 'success');
      const bearers = (await linesOf(task, 'file')).map(({ bearer }) => bearer);
      assert.deepEqual(new Set(bearers), new Set(['test-key']));
    }
  });

  for (const [what, behaviour] of [
    ['is not there', '[404 file]'],
    ['is a page', '[html file]'],
    ['is larger than any', '[huge file]'],
    ['is said to be at a private address', '[file-redirect http://127.0.0.1:9/x.png]'],
    ['is said to be in the cloud’s own network', '[file-redirect https://169.254.169.254/latest/]'],
    ['is said to be at something that is no address', '[file-redirect https://]'],
  ] as const) {
    it(`has delivered nothing when its one result ${what}`, async () => {
      assert.equal((await end(await start('tasks', behaviour))).error?.reason, 'no_output');
    });
  }

  async function hookRows({ taskId }: Started): Promise<number> {
    const rows = await outside.darkroom.testDatabase.database.query(
      { name: 'test_hook_rows', text: 'SELECT 1 FROM provider_hooks WHERE task_id = $1' },
      [taskId],
    );
    return rows.length;
  }
});
