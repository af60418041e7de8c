/**
 * A database that stalls during an activity, for longer than a worker may go without a heartbeat, or than any process
 * waits for a response: nothing that is billed, owed or announced happens in parallel with its own retry, or twice.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { createGate, startHeldAnswers } from '../support/held-answers.ts';
import type { HeldAnswers } from '../support/held-answers.ts';
import { letPass } from '../support/let-pass.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { adminUrl } from '../support/test-database.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Longer than the heartbeat timeout of 10 s, and shorter than the 15 s after which the database ends a statement. */
const STALL_MS = 13_000;

/** Longer than the 20 s after which the process gives up a statement that has not been answered. */
const LONG_STALL_MS = 22_000;
/** The lookup for a callback's retry that comes due inside the stall takes 17 s, and leaves 3 s of its 20. */
const CALLBACK_OFFSETS_SECONDS = '0,5,6,7';
/** With this delay an exchange that started after those 17 s outlives its attempt. */
const SLOW_ANSWER_MS = 7_000;
/** A job that is still under way when the stall starts, and finished before it ends. */
const JOB_MS = 12_000;

let wire: DatabaseWire;
let held: HeldAnswers;
let world: DarkroomWithUpstreams;
let direct: Database;
before(async () => {
  [wire, held] = await Promise.all([startDatabaseWire(servingUrl()), startHeldAnswers()]);
  // So that each activity waits for the response of a statement, and none for a connection.
  const environment = { CALLBACK_OFFSETS_SECONDS, DATABASE_POOL_SIZE: '40', DARKROOM_TEST_TIME_OUTS: '1' };
  world = await startDarkroomWithUpstreams(environment, [held.url], {}, 1, wire.url);
  direct = openDatabase({ url: directUrl(), poolSize: 2 }, silentLogger());
});
after(async () => {
  wire?.resume();
  await direct?.close();
  await world?.stop();
  wire?.close();
  held?.stop();
});

/** Bypasses the wire. */
function directUrl(): string {
  const url = new URL(adminUrl());
  url.pathname = new URL(world.darkroom.testDatabase.url).pathname;
  return url.href;
}

it('a submit that waits for the database at its very beginning is not started a second time', async () => {
  const { darkroom } = world;
  const [worker] = darkroom.workers;
  assert.ok(worker !== undefined);
  const account = await darkroom.createAccount();
  await worker.kill('SIGTERM');
  const taskId = await world.create(account, { model: 'test/openai', input: { prompt: 'a stalled lake' } });
  const workflow = darkroom.temporal.workflow.getHandle(taskId);
  await waitFor('its workflow exists', () =>
    workflow.describe().then(
      () => true,
      () => false,
    ),
  );
  const pending = async () => (await answerOf(() => workflow.describe())).raw.pendingActivities?.at(0);

  // A connection of its own: the pool would end a transaction that is idle while the worker starts.
  const locker = new pg.Client(directUrl());
  await locker.connect();
  await locker.query('BEGIN');
  await locker.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [taskId]);
  await worker.start();
  await waitFor('a worker has its submit', async () => (await pending())?.lastStartedTime != null);
  await letPass(STALL_MS);
  // An attempt that waits too long for the row ends before the next one starts.
  const lastFailure = (await pending())?.lastFailure;
  assert.equal(lastFailure?.timeoutFailureInfo ?? null, null, 'an attempt was taken for dead');
  await locker.end();

  assert.equal((await account.client.waitForTerminal(taskId)).status, 'success');
  assert.equal((await world.providerLog('a stalled lake')).filter(({ kind }) => kind === 'submit').length, 1);
});

it('a stall of 22 s under every activity leads to one submit, one settlement, and no unrecorded callback', async () => {
  const { darkroom } = world;
  const [worker] = darkroom.workers;
  const [locking, finishing, stalling] = [createGate(), createGate(), createGate()];
  held.answers
    .set('/archived', () => stalling.opened.then(() => 200))
    .set('/settled', () => locking.opened.then(() => 200))
    .set('/recorded', (earlier) => (earlier === 0 ? stalling.opened.then(() => 204) : 204))
    .set('/again', (earlier) =>
      earlier === 0 ? finishing.opened.then(() => 500) : letPass(SLOW_ANSWER_MS).then(() => 204),
    );
  const [account, locked] = [await darkroom.createAccount(), await darkroom.createAccount()];
  const tasks = new Map<string, { taskId: string; owner: TestAccount }>();
  const create = async (name: string, model: string, behaviour = '', owner = account): Promise<string> => {
    const callback = { url: `${held.url}/${name}` };
    const taskId = await world.create(owner, { model, input: { prompt: `a ${name} pier ${behaviour}` }, callback });
    tasks.set(name, { taskId, owner });
    return taskId;
  };

  await worker?.kill('SIGTERM');
  const begun = await create('begun', 'test/openai');
  const locker = new pg.Client(directUrl());
  await locker.connect();
  await locker.query('BEGIN');
  await locker.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [begun]);
  await worker?.start();
  await waitForLock(`%SET status = 'handling'%`);
  await create('settling', 'test/replicate', `[file-redirect ${held.url}/settled]`, locked);
  await waitFor('a file is asked for', () => held.asked('/settled') > 0);
  await locker.query('SELECT 1 FROM account_counters WHERE account_id = $1 FOR UPDATE', [locked.id]);
  locking.open();
  await waitForLock('%UPDATE account_counters%held_micro_usd%');
  await create('archiving', 'test/replicate', `[file-redirect ${held.url}/archived]`);
  await waitFor('another file is asked for', () => held.asked('/archived') > 0);
  await create('awaited', 'test/tasks', `[slow ${JOB_MS}]`);
  await create('submitted', 'test/replicate', `[delay-submit ${JOB_MS}]`);
  await Promise.all([world.waitForProvider('a awaited', 'poll'), world.waitForProvider('a submitted', 'submit')]);
  // Last: their receivers answer once the stall begins, and an exchange may take 10 s.
  const again = await create('again', 'test/openai');
  await create('recorded', 'test/openai');
  await waitFor('both are called back', () => held.asked('/again') > 0 && held.asked('/recorded') > 0);
  finishing.open();
  await waitFor('its first attempt is recorded', () => isFinished(again));

  wire.stall();
  stalling.open();
  await locker.query('COMMIT');
  await locker.end();
  await letPass(LONG_STALL_MS);
  wire.resume();

  for (const [name, { taskId, owner }] of tasks) {
    const task = await owner.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
    assert.equal(task.status, 'success', name);
    const submits = (await world.providerLog(`a ${name} pier`)).filter(({ kind }) => kind === 'submit');
    assert.equal(submits.length, 1, `submits of ${name}`);
    assert.deepEqual(await readEnd(taskId), { settlements: 1, captures: 1, attempts: held.asked(`/${name}`) }, name);
    assert.equal(held.mostOpen(`/${name}`), 1, `attempts of ${name} at once`);
  }
  assert.equal(held.asked('/recorded'), 1, 'a callback that was delivered was sent again');
  assert.equal(held.asked('/again'), 2, 'an attempt was begun for which too little time was left');
  await Promise.all([account, locked].map((owner) => world.assertSettled(owner)));
});

/** Waits until a statement of a process waits for a row. @param pattern of its text, in LIKE syntax. */
async function waitForLock(pattern: string): Promise<void> {
  await waitFor(`${pattern} waits`, async () => (await direct.query(SELECT_WAITING, [pattern])).length > 0);
}

async function isFinished(taskId: string): Promise<boolean> {
  return (await direct.query(SELECT_FINISHED, [taskId])).length > 0;
}

async function readEnd(taskId: string): Promise<unknown> {
  const [row] = await direct.query(SELECT_END, [taskId]);
  return row;
}

const SELECT_WAITING = {
  name: 'test_waiting',
  text: `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
};
const SELECT_FINISHED = {
  name: 'test_finished',
  text: 'SELECT attempt FROM callback_attempts WHERE task_id = $1 AND finished_at IS NOT NULL',
};
const SELECT_END = {
  name: 'test_end',
  text: `SELECT (SELECT count(*) FROM task_events WHERE task_id = $1 AND type = 'settled')::integer AS settlements,
                (SELECT count(*) FROM ledger_entries WHERE reference = $1 AND kind = 'capture')::integer AS captures,
                (SELECT count(*) FROM callback_attempts WHERE task_id = $1)::integer AS attempts`,
};
