/**
 * Every upstream protocol through the whole service: the outcome of a task, and, by the provider's own log, the
 * requests that the provider received for it.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { MODEL_PRICE, UPSTREAM_PROTOCOLS } from '../support/model-files.ts';
import type { UpstreamProtocol } from '../support/model-files.ts';
import type { LogLine } from '../support/test-provider/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Contract §7: the hold is released, unless the task succeeded. */
const RELEASED = { currency: 'USD', held: MODEL_PRICE, captured: '0', released: MODEL_PRICE };
const CAPTURED = { currency: 'USD', held: MODEL_PRICE, captured: MODEL_PRICE, released: '0' };

/** A task that is cancelled while it is `handling`, although its upstream has finished. */
interface LateCancel {
  /** What its owner pays, as the model file specifies. */
  readonly lateCancel: 'billed' | 'full' | 'free';
  readonly bills: string;
  /** Decimal USD. */
  readonly captured: string;
  /** What the upstream may bill beyond that, as the operator's cost in micro-USD; undefined: none is recorded. */
  readonly cost?: bigint;
}

const BILLS = '[bills 0.004]';
/** The price of every model is 0.03, which is the hold. */
const LATE_CANCELS: readonly LateCancel[] = [
  { lateCancel: 'billed', bills: BILLS, captured: '0.004' },
  { lateCancel: 'billed', bills: '', captured: '0', cost: 30_000n },
  { lateCancel: 'full', bills: BILLS, captured: MODEL_PRICE },
  { lateCancel: 'full', bills: '', captured: MODEL_PRICE },
  { lateCancel: 'full', bills: '[bills 0.05]', captured: MODEL_PRICE, cost: 20_000n },
  { lateCancel: 'free', bills: BILLS, captured: '0', cost: 4_000n },
  { lateCancel: 'free', bills: '', captured: '0', cost: 30_000n },
];

/** As many as a small machine can handle: all at once, every one of them would starve. */
const AT_ONCE = 8;

describe('a task of an upstream', { concurrency: AT_ONCE }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams({}, [], {
      // All tasks back off from an upstream that requests it: such tests have upstreams of their own.
      'openai-rejecting': [{ protocol: 'openai', id: 'openai-rejecting' }],
      'replicate-rejecting': [{ protocol: 'replicate', id: 'replicate-rejecting' }],
      'tasks-rejecting': [{ protocol: 'tasks', id: 'tasks-rejecting' }],
      'openai-closed': [{ protocol: 'openai', id: 'openai-closed' }],
      'tasks-billed': [{ protocol: 'tasks', id: 'tasks-late' }],
      'tasks-full': [{ protocol: 'tasks', id: 'tasks-late' }],
      'tasks-free': [{ protocol: 'tasks', id: 'tasks-late' }],
    });
    const { client } = await outside.darkroom.createAccount();
    for (const lateCancel of ['full', 'free']) {
      await outside.changePricing(`tasks-${lateCancel}`, { lateCancel });
      await waitFor(`${lateCancel} is in force`, async () => {
        const { body } = await client.send('GET', '/v1/models');
        return JSON.stringify(body).includes(`"lateCancel":"${lateCancel}"`);
      });
    }
  });
  after(() => outside.stop());

  async function start(
    protocol: UpstreamProtocol | `${UpstreamProtocol}-${string}`,
    behaviour: string,
    more: object = {},
  ): Promise<Started> {
    const account = await outside.darkroom.createAccount();
    const marker = `marker-${randomUUID()}`;
    const taskId = await outside.create(account, {
      model: `test/${protocol}`,
      input: { prompt: `${marker} a harbour ${behaviour}` },
      ...more,
    });
    return { account, marker, taskId };
  }

  /** Runs a task until it ends. */
  async function run(protocol: Parameters<typeof start>[0], behaviour: string, more?: object): Promise<Finished> {
    const { account, marker, taskId } = await start(protocol, behaviour, more);
    const task = await account.client.waitForTerminal(taskId);
    await outside.assertSettled(account);
    return { task, log: await outside.providerLog(marker) };
  }

  /** The task has failed for this reason, and nothing was charged. */
  function assertFailed(task: ApiTask, code: string, reason: string): void {
    assert.deepEqual([task.status, task.error?.code, task.error?.reason], ['fail', code, reason], JSON.stringify(task));
    assert.deepEqual(task.billing, RELEASED);
  }

  const kindsOf = (log: readonly LogLine[]): readonly string[] => log.map(({ kind }) => kind);
  const countOf = (log: readonly LogLine[], kind: LogLine['kind']): number =>
    log.filter((line) => line.kind === kind).length;

  // First, so that the others run while it waits from retry to retry.
  it('fails as provider_unavailable when the provider keeps rejecting it and has accepted no job', async () => {
    const { task, log } = await run('openai-closed', '[reject 429]');

    assertFailed(task, 'TASK_FAILED', 'provider_unavailable');
    assert.ok(countOf(log, 'rejected') > 1, 'it was asked only once');
    assert.equal(countOf(log, 'submit'), 0);
  });

  for (const protocol of UPSTREAM_PROTOCOLS) {
    // Proves C3-10.
    it(`${protocol}: succeeds with an image to download, charged, after one submit`, async () => {
      const { task, log } = await run(protocol, '[slow 300]');

      assert.equal(task.status, 'success', JSON.stringify(task));
      assert.deepEqual(task.billing, CAPTURED);
      assert.equal(task.output?.length, 1);
      const [output] = task.output;
      assert.ok(output);
      assert.ok(output.url.startsWith(outside.darkroom.url), 'the address is the provider’s');
      const response = await fetch(output.url);
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.equal(response.headers.get('content-type'), 'image/png');
      assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
      assert.equal(countOf(log, 'submit'), 1);
    });

    // Proves S7-11.
    it(`${protocol}: fails as content_rejected, without a charge, when the provider rejects the content`, async () => {
      const { task } = await run(protocol, '[content]');

      assertFailed(task, 'TASK_FAILED', 'content_rejected');
    });

    // Proves C1-4.
    it(`${protocol}: does not expose the provider's own message when its work fails`, async () => {
      const { task, log } = await run(protocol, '[fail]');

      // A synchronous provider that responds with 500 does not state whether it accepted the work.
      assertFailed(task, 'TASK_FAILED', protocol === 'openai' ? 'outcome_unknown' : 'provider_error');
      assert.doesNotMatch(JSON.stringify(task), /not to be passed on|no one may pass on|CUDA|127\.0\.0\.1/);
      assert.equal(countOf(log, 'submit'), 1);
    });

    it(`${protocol}: submits again, once, when the provider accepted nothing at first`, async () => {
      const { task, log } = await run(`${protocol}-rejecting`, '[reject-first 1]');

      assert.equal(task.status, 'success', JSON.stringify(task));
      assert.deepEqual(kindsOf(log).slice(0, 2), ['rejected', 'submit']);
      assert.equal(countOf(log, 'submit'), 1);
    });

    // Proves C2-6, C4-5, C7-37.
    it(`${protocol}: fails as TASK_TIMEOUT when the provider takes longer than the timeout of the caller`, async () => {
      const { account, marker, taskId } = await start(protocol, '[slow 600000]', { timeoutSeconds: 6 });

      const task = await account.client.waitForTerminal(taskId);
      assertFailed(task, 'TASK_TIMEOUT', 'timed_out');
      await outside.assertSettled(account);
      if (protocol !== 'openai') await outside.waitForProvider(marker, 'cancel');
    });

    // Proves C4-2.
    it(`${protocol}: fails as TASK_CANCELLED, without a charge, when it is cancelled while the provider works`, async () => {
      const { account, marker, taskId } = await start(protocol, '[slow 600000]');
      await outside.waitForProvider(marker, 'submit');

      const answer = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
      assert.equal(answer.status, 200);
      const task = await account.client.waitForTerminal(taskId);
      assertFailed(task, 'TASK_CANCELLED', 'cancelled');
      await outside.assertSettled(account);
      // A synchronous interface has no request for it: there the job ends with the connection.
      if (protocol !== 'openai') await outside.waitForProvider(marker, 'cancel');
    });
  }

  for (const protocol of ['openai', 'replicate'] as const) {
    // Proves C7-37.
    it(`${protocol}: never submits twice when the connection is lost, and reports that the outcome is unknown`, async () => {
      const { task, log } = await run(protocol, '[drop]');

      assertFailed(task, 'TASK_FAILED', 'outcome_unknown');
      assert.equal(countOf(log, 'submit'), 1);
    });
  }

  it('tasks: recovers a lost connection by its idempotency key, which is our task’s id', async () => {
    const { task, log } = await run('tasks', '[drop]');

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.equal(countOf(log, 'submit'), 1);
    assert.ok(countOf(log, 'replay') >= 1, kindsOf(log).join(', '));
    for (const line of log.filter(({ kind }) => kind === 'submit' || kind === 'replay')) {
      assert.equal(line.idempotencyKey, task.taskId);
    }
  });

  for (const protocol of ['replicate', 'tasks'] as const) {
    it(`${protocol}: stops the job at the provider when it is cancelled before the submit was answered`, async () => {
      const { account, marker, taskId } = await start(protocol, '[hold-submit] [slow 600000]');
      await outside.waitForProvider(marker, 'submit');

      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
      await outside.provider.release(marker);
      const task = await account.client.waitForTerminal(taskId);

      assert.equal(task.error?.code, 'TASK_CANCELLED');
      await outside.waitForProvider(marker, 'cancel');
    });
  }

  for (const [billed, captured] of [
    ['0.004', '0.004'],
    ['5', MODEL_PRICE],
  ] as const) {
    // Proves C4-2, C7-36.
    it(`captures what the provider bills for a cancelled task, never more than the hold: ${billed}`, async () => {
      const { account, marker, taskId } = await start('tasks', `[slow 600000] [bills ${billed}]`);
      await outside.waitForProvider(marker, 'poll');
      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

      const task = await account.client.waitForTerminal(taskId);

      assert.equal(task.error?.code, 'TASK_CANCELLED');
      assert.equal(task.billing.captured, captured);
      assert.equal(task.billing.held, MODEL_PRICE);
      await outside.assertSettled(account);
    });
  }

  for (const [protocol, behaviour, captured] of [
    ['replicate', '[hold]', '0'],
    ['tasks', '[hold] [bills 0.004]', '0.004'],
  ] as const) {
    it(`${protocol}: ends as cancelled, for ${captured}, when the work is done before Temporal receives the accepted cancel`, async () => {
      const { account, marker, taskId } = await start(protocol, behaviour);
      await outside.waitForProvider(marker, 'submit');
      // What accepting a cancel writes, except for the notification of Temporal: in this test it never comes.
      await outside.darkroom.testDatabase.database.query(
        { name: 'test_accept_cancel', text: 'UPDATE tasks SET cancel_requested_at = now() WHERE id = $1' },
        [taskId],
      );
      await outside.provider.release(marker);

      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.status, 'fail');
      assert.equal(task.error?.code, 'TASK_CANCELLED');
      assert.equal(task.billing.captured, captured);
      await outside.assertSettled(account);
      assert.ok((await outside.providerLog(marker)).some(({ kind }) => kind === 'finished'));
    });
  }

  for (const { lateCancel, bills, captured, cost } of LATE_CANCELS) {
    const says = bills === '' ? 'says nothing' : `says ${bills}`;
    it(`costs ${captured} when it is cancelled after the upstream has finished, if the model says ${lateCancel} and the upstream ${says}`, async () => {
      // It is polled once while it works, and not again before the cancel.
      const { account, marker, taskId } = await start(`tasks-${lateCancel}`, `[hold] [poll-after 600] ${bills}`);
      await outside.waitForProvider(marker, 'poll');
      await outside.provider.release(marker);
      await outside.waitForProvider(marker, 'finished');
      assert.equal((await account.client.get(taskId)).body.data.status, 'handling');

      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.error?.code, 'TASK_CANCELLED');
      assert.equal(task.billing.captured, captured);
      const costs = await outside.darkroom.testDatabase.database.query<{ atMost: bigint }>(SELECT_COST, [taskId]);
      assert.deepEqual(
        costs.map(({ atMost }) => atMost),
        cost === undefined ? [] : [cost],
      );
      await outside.assertSettled(account);
    });
  }

  it('keeps polling a job while the provider does not respond', async () => {
    const { task, log } = await run('replicate', '[poll-fail 2]');

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.ok(countOf(log, 'poll') >= 3);
    assert.equal(countOf(log, 'submit'), 1);
  });

  it('fails as no_output, without a charge, when a finished job has nothing to download', async () => {
    const { task } = await run('replicate', '[no output]');

    assertFailed(task, 'TASK_FAILED', 'no_output');
  });
});

const SELECT_COST = {
  name: 'test_cost',
  text: `SELECT at_most_micro_usd AS "atMost" FROM operator_costs WHERE task_id = $1 AND reason = 'cancelled'`,
};

interface Started {
  readonly account: TestAccount;
  readonly marker: string;
  readonly taskId: string;
}

interface Finished {
  readonly task: ApiTask;
  readonly log: readonly LogLine[];
}
