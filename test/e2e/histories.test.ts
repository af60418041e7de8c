/**
 * A task at Temporal: what is stored of it there, little, and nothing private (architecture, "Nothing private or large
 * passes through Temporal"); and what an operator does with Temporal's own tools, as the owner of the task sees it
 * (architecture, "Operators' view"): terminating is an accident that the repair settles, cancelling is a feature.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { listRepairs } from '../../src/tasks/repair/repair-record.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { historyTexts } from '../support/history-texts.ts';
import type { History } from '../support/history-texts.ts';
import { temporalAddress } from '../support/test-namespace.ts';

/** The bound for a synchronous provider without callback, status upserts included. */
const MAX_EVENTS = 26;

/** As many as a small machine can handle: all at once, every one of them would starve. */
const AT_ONCE = 8;

/**
 * Between an operator's action and its effect on a task that is read: a few seconds, on a busy machine more, but less
 * than until the next heartbeat of a worker that waits (docs/decisions/0024).
 */
const SEEN_WITHIN_MS = 45_000;

const run = promisify(execFile);

let outside: DarkroomWithUpstreams;
before(async () => {
  outside = await startDarkroomWithUpstreams();
});
after(() => outside.stop());

describe('the history of a task', { concurrency: AT_ONCE }, () => {
  /** Runs a task to its end, cancelled half-way if requested, and reads what Temporal stores of it. */
  async function record(model: string, behaviour: string, options: Options = {}): Promise<Recorded> {
    const account = await outside.darkroom.createAccount();
    const canary = `canary-${randomUUID()}`;
    const taskId = await outside.create(account, {
      model,
      input: { prompt: `${canary} a harbour ${behaviour}` },
      metadata: { note: `${canary} in metadata` },
      ...(options.callbackPath === undefined
        ? {}
        : { callback: { url: `${outside.receiver.url}${options.callbackPath}?${canary}` } }),
    });
    if (options.isCancelled === true) {
      await outside.waitForProvider(canary, 'poll');
      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    }
    const isOver = (state: string | undefined): boolean =>
      state === undefined || ['delivered', 'exhausted', 'stopped'].includes(state);
    const task = await account.client.waitFor(
      taskId,
      ({ status, callback }) => ['success', 'fail'].includes(status) && isOver(callback?.state),
    );
    const ids = options.callbackPath === undefined ? [taskId] : [taskId, `callback-${taskId}`];
    const histories = await Promise.all(ids.map((id) => historyOf(id)));
    return { canary, status: task.status, histories };
  }

  /** The whole history of a closed workflow. */
  async function historyOf(workflowId: string): Promise<History> {
    const handle = outside.darkroom.temporal.workflow.getHandle(workflowId);
    await handle.result().catch(() => undefined);
    return handle.fetchHistory();
  }

  function assertNothingPrivate({ canary, histories }: Recorded): void {
    const secrets = [canary, 'harbour', outside.provider.url, outside.receiver.url, 'test-key'];
    for (const text of histories.flatMap(historyTexts)) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `a history contains ${secret}: ${text}`);
      assert.doesNotMatch(text, /https?:\/\//);
    }
  }

  // First, so that the others run while it waits.
  it('is as long for a long job as for a short one', async () => {
    const [short, long] = await Promise.all([
      record('test/replicate', '[slow 100]'),
      record('test/replicate', '[slow 5000]'),
    ]);

    assert.equal(short.histories[0]?.events?.length, long.histories[0]?.events?.length);
  });

  for (const model of ['test/openai', 'darkroom/scene']) {
    it(`has at most ${MAX_EVENTS} events for ${model}, which is synchronous, without callback`, async (t) => {
      const recorded = await record(model, '');

      assert.equal(recorded.status, 'success');
      const events = recorded.histories[0]?.events ?? [];
      t.diagnostic(`${events.length} events`);
      assert.ok(events.some((event) => event.upsertWorkflowSearchAttributesEventAttributes != null));
      assert.ok(events.length <= MAX_EVENTS, `${events.length} events`);
      assertNothingPrivate(recorded);
    });
  }

  for (const [what, model, behaviour, options] of [
    ['succeeds by a job', 'test/tasks', '[slow 300]', { callbackPath: '/ok/histories' }],
    ['is rejected for its content', 'test/openai', '[content]', { callbackPath: '/ok/histories' }],
    ['fails at the provider', 'test/replicate', '[fail]', { callbackPath: '/status/500/histories' }],
    ['loses its provider', 'test/openai', '[drop]', { callbackPath: '/redirect/histories' }],
    ['is rejected at first', 'test/tasks', '[reject-first 1]', {}],
    ['brings a file that is not there', 'test/replicate', '[404 file]', {}],
    ['is cancelled', 'test/replicate', '[slow 60000]', { isCancelled: true }],
  ] as const) {
    it(`contains neither the prompt nor a URL when a task ${what}`, async () => {
      assertNothingPrivate(await record(model, behaviour, options));
    });
  }

  it('is read by these tests to the last payload', async () => {
    const { histories } = await record('test/openai', '');

    // The argument appears in the history only as a payload.
    assert.ok(histories.flatMap(historyTexts).some((text) => text.includes('"model":"test/openai"')));
  });
});

describe('an operator with the Temporal CLI', { concurrency: true }, () => {
  async function temporalCli(...command: readonly string[]): Promise<string> {
    const cli = process.env['DARKROOM_TEST_TEMPORAL_CLI'] ?? 'temporal';
    const where = ['--address', temporalAddress(), '--namespace', outside.darkroom.namespace];
    const { stdout } = await run(cli, [...command, ...where], { timeout: GIVE_UP_MS });
    return stdout;
  }

  /** A task that is handled for as long as the test lasts, with a callback. */
  async function startHandling(): Promise<{ account: TestAccount; taskId: string; marker: string }> {
    const account = await outside.darkroom.createAccount();
    const marker = `marker-${randomUUID()}`;
    const taskId = await outside.create(account, {
      model: 'test/replicate',
      input: { prompt: `${marker} [slow 600000]` },
      callback: { url: `${outside.receiver.url}/ok/operators` },
    });
    await outside.waitForProvider(marker, 'poll');
    assert.equal((await account.client.get(taskId)).body.data.status, 'handling');
    return { account, taskId, marker };
  }

  /** The task when it has ended, which it does soon. */
  async function seenInTime(account: TestAccount, taskId: string): Promise<ApiTask> {
    const begun = performance.now();
    const task = await account.client.waitForTerminal(taskId);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs <= SEEN_WITHIN_MS, `seen after ${tookMs} ms`);
    return task;
  }

  /** The log lines of its repair for operators, whichever process did it. */
  async function repairsOf(taskId: string): Promise<readonly (readonly unknown[])[]> {
    const { repairs } = await listRepairs(outside.darkroom.testDatabase.database, { size: 100 });
    return repairs.filter((repair) => repair.taskId === taskId).map(({ kind, found }) => [kind, found]);
  }

  it('sees a task that was terminated while handling fail soon after it is read, settled and with a callback', async () => {
    const { account, taskId, marker } = await startHandling();
    await temporalCli('workflow', 'terminate', '--workflow-id', taskId, '--reason', 'by accident');

    const task = await seenInTime(account, taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.error?.code, 'TASK_FAILED');
    assert.equal(task.error.reason, 'terminated');
    await outside.assertSettled(account);
    const received = await outside.waitForCalledBack(taskId);
    assert.equal(received.length, 1);
    assert.match(received[0]?.body ?? '', /"reason":"terminated"/);
    // Its own workflow can no longer notify the provider.
    await outside.waitForProvider(marker, 'cancel');
    assert.deepEqual(await repairsOf(taskId), [['settled', 'handling']]);
  });

  it('sees a terminated task that no client reads settled by the repair, with a callback', async () => {
    const { account, taskId } = await startHandling();
    await temporalCli('workflow', 'terminate', '--workflow-id', taskId, '--reason', 'by accident');

    // The repair skips a task that changed in the last seconds; its own schedule would come within a minute.
    await waitFor('the repair settles the task', async () => {
      await temporalCli('schedule', 'trigger', '--schedule-id', `${outside.darkroom.installationId}-maintain`);
      return (await outside.callbacksOf(taskId)).length > 0;
    });
    const { body } = await account.client.get(taskId);
    assert.equal(body.data.error?.reason, 'terminated');
    await outside.assertSettled(account);
    assert.deepEqual(await repairsOf(taskId), [['settled', 'handling']]);
  });

  it('sees a task that was cancelled while handling fail as TASK_CANCELLED soon, settled and with a callback', async () => {
    const { account, taskId } = await startHandling();
    await temporalCli('workflow', 'cancel', '--workflow-id', taskId);

    const task = await seenInTime(account, taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.error?.code, 'TASK_CANCELLED');
    assert.equal(task.error.reason, 'cancelled');
    await outside.assertSettled(account);
    const received = await outside.waitForCalledBack(taskId);
    assert.equal(received.length, 1);
    assert.match(received[0]?.body ?? '', /"code":"TASK_CANCELLED"/);
  });

  it('lists tasks by status, account, model and error code', async () => {
    const account = await outside.darkroom.createAccount();
    const succeeding = await outside.create(account, { model: 'test/openai', input: { prompt: 'a boat' } });
    const failing = await outside.create(account, { model: 'test/openai', input: { prompt: 'a boat [content]' } });
    await account.client.waitForTerminal(succeeding);
    await account.client.waitForTerminal(failing);

    const list = async (query: string): Promise<readonly string[]> => {
      const listed: unknown = JSON.parse(await temporalCli('workflow', 'list', '--query', query, '-o', 'json'));
      return (listed as { execution: { workflowId: string } }[]).map(({ execution }) => execution.workflowId);
    };
    // Lists lag a little behind (Temporal's visibility is eventual).
    const waitForListed = (query: string, taskId: string): Promise<void> =>
      waitFor(`${query} lists the task alone`, async () => {
        const ids = await list(query);
        return ids.length === 1 && ids[0] === taskId;
      });

    await waitForListed(`TaskStatus="success" AND AccountId="${account.id}"`, succeeding);
    await waitForListed(`TaskStatus="fail" AND AccountId="${account.id}" AND Model="test/openai"`, failing);
    await waitForListed(`ErrorCode="TASK_FAILED" AND AccountId="${account.id}"`, failing);
    assert.deepEqual(await list('AccountId="acct_nobody"'), []);
  });
});

interface Options {
  readonly callbackPath?: string;
  readonly isCancelled?: boolean;
}

interface Recorded {
  readonly canary: string;
  readonly status: string;
  /** The task's, and its callback's if there is one. */
  readonly histories: readonly History[];
}
