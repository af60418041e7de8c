/**
 * Waits for jobs send a heartbeat once a minute (docs/decisions/0024): a dead worker and a cancel are noticed without
 * them.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isWorkedOnBy } from '../support/at-work.ts';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { Role, TestAccount } from '../support/darkroom.ts';

/** Far below the interval of heartbeats (54 s) and the heartbeat time-out (180 s), also on a busy machine. */
const NOTICED_WITHIN_MS = 50_000;

describe('a job that a worker waits for', () => {
  let world: DarkroomWithUpstreams;
  let account: TestAccount;
  before(async () => {
    world = await startDarkroomWithUpstreams();
    account = await world.darkroom.createAccount();
  });
  after(() => world?.stop());

  async function startWaiting(marker: string, worker: Role): Promise<string> {
    const prompt = `${marker} [hold]`;
    const taskId = await world.create(account, { model: 'test/tasks', input: { prompt } });
    await world.waitForProvider(marker, 'poll');
    assert.ok(await isWorkedOnBy(worker, world.darkroom, taskId, 'awaitGeneration'));
    return taskId;
  }

  function firstWorker(): Role {
    const [worker] = world.darkroom.workers;
    assert.ok(worker !== undefined);
    return worker;
  }

  it('is cancelled long before the next heartbeat', async () => {
    const taskId = await startWaiting('to be cancelled', firstWorker());

    const begun = performance.now();
    await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    const ended = await account.client.waitForTerminal(taskId);
    const tookMs = performance.now() - begun;

    assert.equal(ended.error?.code, 'TASK_CANCELLED');
    assert.ok(tookMs < NOTICED_WITHIN_MS, `after ${tookMs} ms`);
    await world.waitForProvider('to be cancelled', 'cancel');
    await world.assertSettled(account);
  });

  it('is waited for by another worker soon after its own was killed, and is not bought again', async (t) => {
    const dying = firstWorker();
    const taskId = await startWaiting('orphaned', dying);
    const other = await world.darkroom.addWorker({});

    const begun = performance.now();
    await dying.kill('SIGKILL');
    const handle = world.darkroom.temporal.workflow.getHandle(taskId);
    let [identity, failure]: (string | null | undefined)[] = ['', ''];
    while (!(identity ?? '').startsWith(`${other.pid}@`)) {
      assert.ok(performance.now() - begun < NOTICED_WITHIN_MS, 'no other worker has it');
      const [activity] = (await answerOf(() => handle.describe())).raw.pendingActivities ?? [];
      identity = activity?.lastWorkerIdentity;
      failure = activity?.lastFailure?.applicationFailureInfo?.type;
    }
    t.diagnostic(`noticed and started again after ${Math.round(performance.now() - begun)} ms`);
    assert.equal(failure, 'WorkerDied');

    await world.provider.release('orphaned');
    assert.equal((await account.client.waitForTerminal(taskId)).status, 'success');
    const log = await world.providerLog('orphaned');
    assert.equal(log.filter(({ kind }) => kind === 'submit').length, 1);
    await world.assertSettled(account);
  });
});
