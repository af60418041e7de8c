/**
 * A database that stands still under an activity for longer than a worker may go without a heartbeat: the activity is not
 * taken for dead, so no retry of it runs beside it.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { letPass } from '../support/let-pass.ts';
import { until } from '../support/until.ts';

/** Beyond the heartbeat time-out of 10 s, and below the 15 s after which the database ends a statement. */
const STALL_MS = 13_000;

let world: DarkroomWithUpstreams;
before(async () => {
  world = await startDarkroomWithUpstreams();
});
after(() => world?.stop());

it('a submit that waits for the database at its very beginning is not begun beside itself', async () => {
  const { darkroom } = world;
  const [worker] = darkroom.workers;
  assert.ok(worker !== undefined);
  const account = await darkroom.createAccount();
  await worker.kill('SIGTERM');
  const taskId = await world.create(account, { model: 'test/openai', input: { prompt: 'a stalled lake' } });
  const workflow = darkroom.temporal.workflow.getHandle(taskId);
  await until('its workflow exists', () =>
    workflow.describe().then(
      () => true,
      () => false,
    ),
  );
  const pending = async () => (await workflow.describe()).raw.pendingActivities?.at(0);

  await darkroom.testDatabase.database.transaction(async (transaction) => {
    await transaction.query({ name: 'hold_the_row', text: 'SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE' }, [taskId]);
    await worker.start();
    await until('a worker has its submit', async () => (await pending())?.lastStartedTime != null);
    const stalledAt = performance.now();
    while (performance.now() - stalledAt < STALL_MS) {
      // A transaction in which nobody asks for anything is ended.
      await transaction.query({ name: 'stay', text: 'SELECT 1' });
      await letPass(500);
    }
    const submit = await pending();
    assert.equal(submit?.attempt, 1, 'a second attempt was begun');
    assert.equal(submit?.lastFailure ?? null, null);
  });

  assert.equal((await account.client.untilTerminal(taskId)).status, 'success');
  assert.equal((await world.providerLog('a stalled lake')).filter(({ kind }) => kind === 'submit').length, 1);
});
