/**
 * A database that has lost commits, by a failover or a restored backup, while Temporal, the object store, the
 * upstreams and the receivers know the later state: at several points of a task's life.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { TASK_NOT_FOUND } from '../../src/domain/run-record.ts';
import type { ApiTask } from '../support/api-client.ts';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { MODEL_PRICE, UPSTREAM_PROTOCOLS } from '../support/model-files.ts';
import { keepRows } from '../support/older-database.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** One create request, which may be sent again. */
interface Sent {
  readonly account: TestAccount;
  readonly marker: string;
  readonly body: { readonly model: string; readonly input: { readonly prompt: string }; readonly callback: object };
  readonly key: string;
}

// One after the other: the whole database is restored.
describe('a task whose commits the database has lost', () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  async function prepare(model: string, behaviour = ''): Promise<Sent> {
    const marker = `marker-${randomUUID()}`;
    return {
      account: await outside.darkroom.createAccount(),
      marker,
      key: marker,
      body: {
        model,
        input: { prompt: `${marker} a harbour ${behaviour}` },
        callback: { url: `${outside.receiver.url}/ok` },
      },
    };
  }

  async function send({ account, body, key }: Sent): Promise<{ taskId: string; isReplay: boolean }> {
    const { status, headers, body: answer } = await account.client.create(body, key);
    assert.equal(status, 200, JSON.stringify(answer));
    return { taskId: answer.data.taskId, isReplay: headers.get('Idempotent-Replay') === 'true' };
  }

  async function submits({ marker }: Sent): Promise<number> {
    return (await outside.providerLog(marker)).filter(({ kind }) => kind === 'submit').length;
  }

  async function runOf(taskId: string): Promise<{ readonly runId: string; readonly status: string }> {
    const { runId, status } = await answerOf(() => outside.darkroom.temporal.workflow.getHandle(taskId).describe());
    return { runId, status: status.name };
  }

  /** How the task's last run failed. */
  async function failureOf(taskId: string): Promise<unknown> {
    try {
      return await outside.darkroom.temporal.workflow.getHandle(taskId).result();
    } catch (error) {
      return error instanceof WorkflowFailedError ? error.cause : error;
    }
  }

  /** Every status that receivers were notified of for a task. */
  async function announced(taskId: string): Promise<readonly string[]> {
    return (await outside.callbacksOf(taskId)).map(({ body }) => (JSON.parse(body) as ApiTask).status);
  }

  async function assertSucceededOnce(sent: Sent, task: ApiTask): Promise<void> {
    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.deepEqual(task.billing, { currency: 'USD', held: MODEL_PRICE, captured: MODEL_PRICE, released: '0' });
    assert.equal(await submits(sent), 1);
    await outside.assertSettled(sent.account);
    const [output] = task.output ?? [];
    const response = await fetch(output?.url ?? '');
    assert.equal((await response.arrayBuffer()).byteLength, output?.sizeBytes);
  }

  for (const protocol of UPSTREAM_PROTOCOLS) {
    it(`succeeds again, for a client that repeats its key after ${protocol} and the receiver have finished with it`, async () => {
      const sent = await prepare(`test/${protocol}`);
      const before = await keepRows(outside.darkroom.testDatabase);
      const { taskId } = await send(sent);
      const first = await sent.account.client.waitForTerminal(taskId);
      await outside.waitForCalledBack(taskId);
      // Otherwise the new task may find the first run, which has only its end before it, and is repaired from that.
      await outside.darkroom.temporal.workflow.getHandle(taskId).result();
      const { runId } = await runOf(taskId);

      await before.putBack();
      await waitFor('the task is gone', async () => (await sent.account.client.get(taskId)).status === 404);
      const again = await send(sent);
      const task = await sent.account.client.waitForTerminal(taskId);

      assert.deepEqual(again, { taskId, isReplay: false });
      assert.notEqual((await runOf(taskId)).runId, runId);
      await assertSucceededOnce(sent, task);
      assert.equal(task.output?.[0]?.sha256, first.output?.[0]?.sha256);
      await waitFor('the second callback', async () => (await announced(taskId)).length === 2);
      assert.deepEqual(await announced(taskId), ['success', 'success']);
    });

    it(`cancels its workflow by name, and continues for a client that repeats its key, while ${protocol} has the job`, async () => {
      const sent = await prepare(`test/${protocol}`, '[hold]');
      const before = await keepRows(outside.darkroom.testDatabase);
      const { taskId } = await send(sent);
      await outside.waitForProvider(sent.marker, 'submit');

      await before.putBack();
      await outside.provider.release(sent.marker);
      const failure = await failureOf(taskId);

      assert.ok(failure instanceof ApplicationFailure, String(failure));
      assert.deepEqual([failure.type, failure.nonRetryable], [TASK_NOT_FOUND, true]);
      assert.equal(await submits(sent), 1);
      assert.equal((await sent.account.client.get(taskId)).status, 404);

      await send(sent);
      await assertSucceededOnce(sent, await sent.account.client.waitForTerminal(taskId));
    });
  }

  it('is submitted once when it was lost before anything was sent', async () => {
    const sent = await prepare('test/replicate');
    const [worker] = outside.darkroom.workers;
    await worker?.kill('SIGTERM');
    const before = await keepRows(outside.darkroom.testDatabase);
    const { taskId } = await send(sent);
    await waitFor('the workflow is there', async () => (await runOf(taskId).catch(() => undefined)) !== undefined);
    await before.putBack();
    await worker?.start();

    const failure = await failureOf(taskId);
    assert.equal(failure instanceof ApplicationFailure && failure.type, TASK_NOT_FOUND);
    assert.equal(await submits(sent), 0);

    await send(sent);
    await assertSucceededOnce(sent, await sent.account.client.waitForTerminal(taskId));
  });

  it('succeeds again when it had succeeded since it was accepted, although no client repeats it', async () => {
    const sent = await prepare('test/replicate');
    const [worker] = outside.darkroom.workers;
    await worker?.kill('SIGTERM');
    const { taskId } = await send(sent);
    await waitFor('the workflow is there', async () => (await runOf(taskId).catch(() => undefined)) !== undefined);
    const queued = await keepRows(outside.darkroom.testDatabase);
    await worker?.start();
    await sent.account.client.waitForTerminal(taskId);
    await outside.waitForCalledBack(taskId);

    await queued.putBack();

    await assertSucceededOnce(sent, await sent.account.client.waitForTerminal(taskId));
    assert.ok(!(await announced(taskId)).includes('fail'));
  });

  for (const protocol of ['replicate', 'tasks'] as const) {
    it(`succeeds again when it had succeeded since ${protocol} accepted it`, async () => {
      const sent = await prepare(`test/${protocol}`, '[hold]');
      const { taskId } = await send(sent);
      await outside.waitForProvider(sent.marker, 'poll');
      const handling = await keepRows(outside.darkroom.testDatabase);
      await outside.provider.release(sent.marker);
      await sent.account.client.waitForTerminal(taskId);
      await outside.waitForCalledBack(taskId);

      await handling.putBack();

      await assertSucceededOnce(sent, await sent.account.client.waitForTerminal(taskId));
      assert.ok(!(await announced(taskId)).includes('fail'));
    });
  }

  it('succeeds again although a cancel reaches its next run first', async () => {
    const sent = await prepare('test/replicate', '[hold]');
    const { taskId } = await send(sent);
    await outside.waitForProvider(sent.marker, 'poll');
    const handling = await keepRows(outside.darkroom.testDatabase);
    await outside.provider.release(sent.marker);
    await sent.account.client.waitForTerminal(taskId);
    await outside.waitForCalledBack(taskId);
    const [worker] = outside.darkroom.workers;
    await worker?.kill('SIGTERM');

    await handling.putBack();
    await waitFor('it has another run', async () => {
      // Reading it causes its repair.
      await sent.account.client.get(taskId);
      return (await runOf(taskId)).status === 'RUNNING';
    });
    const cancel = await sent.account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    assert.equal(cancel.status, 200);
    await waitFor('that is to be cancelled', async () => {
      const { events } = await outside.darkroom.temporal.workflow.getHandle(taskId).fetchHistory();
      return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes != null) === true;
    });
    await worker?.start();

    await assertSucceededOnce(sent, await sent.account.client.waitForTerminal(taskId));
    assert.ok(!(await announced(taskId)).includes('fail'));
  });

  it('is settled again from the archived files, long after its deadlines and without its upstream', async () => {
    const sent = await prepare('test/replicate', '[slow 1500]');
    const { database } = outside.darkroom.testDatabase;
    const { taskId } = await send(sent);
    const archived = await database.transaction(async (transaction) => {
      // As long as the account is locked, none of it is settled.
      await transaction.query(LOCK_COUNTERS, [sent.account.id]);
      await outside.waitForProvider(sent.marker, 'file');
      await waitFor('it is archiving', async () => {
        const [row] = await transaction.query<{ status: string }>(SELECT_STATUS, [taskId]);
        return row?.status === 'archiving';
      });
      return keepRows(outside.darkroom.testDatabase);
    });
    const first = await sent.account.client.waitForTerminal(taskId);
    await outside.waitForCalledBack(taskId);

    await archived.putBack();
    await waitFor('the database is back', async () => {
      const rows = await database.query(PASS_DEADLINES, [taskId]).catch(() => []);
      return rows.length === 1;
    });
    const task = await sent.account.client.waitForTerminal(taskId);

    await assertSucceededOnce(sent, task);
    assert.equal(task.output?.[0]?.sha256, first.output?.[0]?.sha256);
    assert.equal((await outside.providerLog(sent.marker)).filter(({ kind }) => kind === 'file').length, 1);
    assert.ok(!(await announced(taskId)).includes('fail'));
  });

  it('stays unchanged when none of its commits is lost', async () => {
    const sent = await prepare('test/replicate');
    const { taskId } = await send(sent);
    await sent.account.client.waitForTerminal(taskId);
    await outside.waitForCalledBack(taskId);
    await waitFor('the callback is recorded', async () => {
      const { body } = await sent.account.client.get(taskId);
      return body.data.callback?.state === 'delivered';
    });
    const { body: settled } = await sent.account.client.get(taskId);
    const { runId } = await runOf(taskId);

    await (await keepRows(outside.darkroom.testDatabase)).putBack();
    await waitFor('it answers', async () => (await sent.account.client.get(taskId)).status === 200);

    const { body: now } = await sent.account.client.get(taskId);
    assert.deepEqual({ ...now.data, output: [] }, { ...settled.data, output: [] });
    assert.deepEqual(await runOf(taskId), { runId, status: 'COMPLETED' });
    assert.equal((await send(sent)).isReplay, true);
  });

  it('fails again as it had failed', async () => {
    const sent = await prepare('test/replicate', '[hold] [fail]');
    const { taskId } = await send(sent);
    await outside.waitForProvider(sent.marker, 'poll');
    const handling = await keepRows(outside.darkroom.testDatabase);
    await outside.provider.release(sent.marker);
    const first = await sent.account.client.waitForTerminal(taskId);
    await outside.waitForCalledBack(taskId);

    await handling.putBack();
    const task = await sent.account.client.waitForTerminal(taskId);

    assert.deepEqual(task.error, first.error);
    assert.equal(task.error?.reason, 'provider_error');
    assert.equal(await submits(sent), 1);
    await outside.assertSettled(sent.account);
  });

  it('costs what the provider had billed when it had been cancelled', async () => {
    const sent = await prepare('test/tasks', '[slow 600000] [bills 0.004]');
    const before = await keepRows(outside.darkroom.testDatabase);
    const { taskId } = await send(sent);
    await outside.waitForProvider(sent.marker, 'poll');
    await sent.account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    assert.equal((await sent.account.client.waitForTerminal(taskId)).billing.captured, '0.004');
    await outside.waitForCalledBack(taskId);

    await before.putBack();
    await waitFor('the task is gone', async () => (await sent.account.client.get(taskId)).status === 404);
    await send(sent);
    const task = await sent.account.client.waitForTerminal(taskId);

    assert.deepEqual([task.error?.code, task.billing.captured], ['TASK_CANCELLED', '0.004']);
    await outside.assertSettled(sent.account);
  });

  it('is not submitted twice when the intent was lost and earlier commits were not', async () => {
    const sent = await prepare('test/replicate', '[reject-first 1] [retry-after 4] [delay-submit 600000]');
    const { taskId } = await send(sent);
    const { database } = outside.darkroom.testDatabase;
    await waitFor('it was rejected once', async () => (await database.query(SELECT_REJECTIONS, [taskId])).length === 1);
    const rejected = await keepRows(outside.darkroom.testDatabase);
    await outside.waitForProvider(sent.marker, 'submit');
    const [worker] = outside.darkroom.workers;
    await worker?.kill('SIGKILL');

    await rejected.putBack();
    await worker?.start();
    const task = await sent.account.client.waitForTerminal(taskId);

    assert.deepEqual([task.status, task.error?.reason, task.billing.captured], ['fail', 'outcome_unknown', '0']);
    assert.equal(await submits(sent), 1);
    await outside.assertSettled(sent.account);
  });

  /** The same key, with another body. */
  function otherThan(sent: Sent): Sent {
    return { ...sent, body: { ...sent.body, input: { prompt: `${sent.marker} a mountain` } } };
  }

  async function assertUnknown(sent: Sent, taskId: string, submitted: number): Promise<void> {
    const task = await sent.account.client.waitForTerminal(taskId);
    assert.deepEqual([task.status, task.error?.reason, task.billing.captured], ['fail', 'outcome_unknown', '0']);
    const log = await outside.providerLog(sent.marker);
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, submitted);
    assert.ok(!log.some(({ prompt }) => prompt?.includes('a mountain')), 'the other request was sent');
    await outside.assertSettled(sent.account);
  }

  for (const [what, model, behaviour, submitted] of [
    ['was made for', 'test/replicate', '', 1],
    ['the upstream said to', 'test/openai', '[content]', 0],
  ] as const) {
    it(`does not get what ${what} another request, when a key is reused with another body`, async () => {
      const sent = await prepare(model, behaviour);
      const before = await keepRows(outside.darkroom.testDatabase);
      const { taskId } = await send(sent);
      await sent.account.client.waitForTerminal(taskId);
      await outside.waitForCalledBack(taskId);

      await before.putBack();
      await waitFor('the task is gone', async () => (await sent.account.client.get(taskId)).status === 404);
      assert.equal((await send(otherThan(sent))).taskId, taskId);

      await assertUnknown(sent, taskId, submitted);
    });
  }

  for (const [when, isRunOver] of [
    ['after its run has ended', true],
    ['while its run goes on', false],
  ] as const) {
    it(`is not sent for another request to an upstream that may have the first, with a key that is reused ${when}`, async () => {
      const sent = await prepare('test/tasks', '[delay-submit 600000]');
      const before = await keepRows(outside.darkroom.testDatabase);
      const { taskId } = await send(sent);
      await outside.waitForProvider(sent.marker, 'submit');
      const [worker] = outside.darkroom.workers;
      await worker?.kill('SIGKILL');
      await before.putBack();
      if (isRunOver) {
        await worker?.start();
        await failureOf(taskId);
      }

      await waitFor('the database is back', async () => (await sent.account.client.get(taskId)).status === 404);
      assert.equal((await send(otherThan(sent))).taskId, taskId);
      if (!isRunOver) await worker?.start();

      await assertUnknown(sent, taskId, 1);
    });
  }
});

const LOCK_COUNTERS = {
  name: 'test_lock_counters',
  text: 'SELECT 1 FROM account_counters WHERE account_id = $1 FOR UPDATE',
};
const SELECT_REJECTIONS = {
  name: 'test_rejections',
  text: `SELECT 1 FROM task_events WHERE task_id = $1 AND type = 'provider_refused'`,
};
const SELECT_STATUS = { name: 'test_status', text: 'SELECT status FROM tasks WHERE id = $1' };
const PASS_DEADLINES = {
  name: 'test_pass_deadlines',
  text: `UPDATE tasks SET queue_deadline_at = now() - interval '3 days', deadline_at = now() - interval '3 days',
                          archiving_deadline_at = now() - interval '3 days', updated_at = now() - interval '1 minute'
          WHERE id = $1 RETURNING id`,
};
