/**
 * What workers share of an upstream: two gates on one database are two workers. Times are moved back in the database
 * where a test would have to wait.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { newId, newTaskId } from '../../src/domain/ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createUpstreamGate } from '../../src/upstreams/gate.ts';
import type { Entry, GatedUpstream, UpstreamGate } from '../../src/upstreams/gate.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import { drainUpstream, resumeUpstream } from '../../src/upstreams/states.ts';
import { unreachableDatabase } from '../http/serve.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { endTask, jobsAt, taskOf } from './workers-at.ts';

const ACCOUNT = 'acct_gate';
const someone = (): Admission => taskOf(ACCOUNT);

describe('the gate of an upstream', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  /** A worker whose clock jumps past its cached knowledge with each call, unless `remembers`. */
  function worker(remembers = false, database: Database = room.database): UpstreamGate {
    let clock = 0;
    const now = (): number => (remembers ? clock : (clock += 2_000));
    return createUpstreamGate({ database, logger: silentLogger(), now });
  }

  const upstream = (concurrency?: number): GatedUpstream => ({ name: newId('req'), concurrency });
  const kindOf = async (entering: Promise<Entry>): Promise<string> => (await entering).kind;
  /** Moves its times back as if this much time had passed. */
  const letPass = (seconds: number, { name }: GatedUpstream) =>
    room.rows(
      `UPDATE upstream_states SET paused_until = paused_until - make_interval(secs => $2),
              open_until = open_until - make_interval(secs => $2),
              failing_since = failing_since - make_interval(secs => $2) WHERE upstream = $1`,
      name,
      seconds,
    );
  const slotsOf = (there: GatedUpstream): Promise<unknown> => jobsAt(room, there);

  it('admits every task, and queries the database once, when the upstream is healthy', async () => {
    const gate = worker(true);
    const there = upstream();
    await Promise.all([gate.enter(there, someone()), gate.enter(there, someone())]);
    room.forgetStatements();

    for (let times = 0; times < 5; times++) {
      assert.equal(await kindOf(gate.enter(there, someone())), 'open');
      await gate.report(there, 'answered');
      await gate.release(there, newTaskId());
    }

    assert.deepEqual(room.statements, ['close_upstream_breaker'], 'that it answers is recorded once a minute');
  });

  it('admits no more tasks than the cap, however many workers, and the next when one leaves', async () => {
    const workers = [worker(), worker(), worker()];
    const there = upstream(3);
    const tasks = Array.from({ length: 24 }, newTaskId);
    const entries = await Promise.all(
      tasks.map(async (taskId, index) => {
        const gate = workers[index % workers.length] ?? assert.fail();
        return { taskId, kind: await kindOf(gate.enter(there, { taskId, accountId: ACCOUNT })) };
      }),
    );
    const inside = entries.filter(({ kind }) => kind === 'open');
    assert.equal(inside.length, 3);
    assert.equal(entries.filter(({ kind }) => kind === 'full').length, 21);
    assert.deepEqual(await slotsOf(there), { counted: 3, rows: 3 });

    // A slot that is released goes to the next one only.
    const [first] = inside;
    assert.ok(first);
    await Promise.all(workers.map((gate) => gate.release(there, first.taskId)));
    assert.deepEqual(await slotsOf(there), { counted: 3, rows: 3 });
    assert.equal(await kindOf(worker().enter(there, someone())), 'full');
    const again = await Promise.all(
      entries.map(({ taskId }) => kindOf(worker().enter(there, { taskId, accountId: ACCOUNT }))),
    );
    assert.equal(again.filter((kind) => kind === 'open').length, 3);
  });

  it('lets a task keep its slot when another worker continues it', async () => {
    const there = upstream(1);
    const taskId = newTaskId();

    assert.equal(await kindOf(worker().enter(there, { taskId, accountId: ACCOUNT })), 'open');
    assert.equal(await kindOf(worker().enter(there, { taskId, accountId: ACCOUNT })), 'open');
    assert.deepEqual(await slotsOf(there), { counted: 1, rows: 1 });
  });

  it('frees the slot that a worker left behind when its task has ended for a while, and not before', async () => {
    const there = upstream(1);
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    await worker().enter(there, { taskId, accountId: ACCOUNT });
    const next = someone();
    assert.equal(await kindOf(worker().enter(there, next)), 'full');
    await endTask(room, taskId, 1);
    assert.equal(await kindOf(worker().enter(there, next)), 'full');
    await endTask(room, taskId, 120);
    assert.equal(await kindOf(worker().enter(there, next)), 'open');
    assert.deepEqual(await slotsOf(there), { counted: 1, rows: 1 });
  });

  it('is closed to every worker for as long as one got Retry-After', async () => {
    const there = upstream();
    await worker().report(there, { pauseMs: 20_000 });
    await worker().report(there, { pauseMs: 1_000 });

    const gate = worker();
    const entry = await gate.enter(there, someone());
    assert.ok(entry.kind === 'closed' && entry.waitMs > 10_000 && entry.waitMs <= 20_000, JSON.stringify(entry));
    assert.ok((await gate.pausedMs(there)) > 10_000);
    assert.equal(await gate.pausedMs(upstream()), 0);

    await letPass(20, there);
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');
    assert.equal(await worker().pausedMs(there), 0);
  });

  it('knows of a pause immediately when this worker got it, and counts it down', async () => {
    let clock = 0;
    const gate = createUpstreamGate({ database: room.database, logger: silentLogger(), now: () => clock });
    const there = upstream();
    assert.equal(await kindOf(gate.enter(there, someone())), 'open');

    await gate.report(there, { pauseMs: 5_000 });
    assert.equal(await kindOf(gate.enter(there, someone())), 'closed');

    const before = await gate.pausedMs(there);
    clock += 700;
    assert.equal(await gate.pausedMs(there), before - 700);
  });

  it('waits no longer when the machine’s clock is set back meanwhile', async (t) => {
    const gate = createUpstreamGate({ database: room.database, logger: silentLogger() });
    const there = upstream();
    assert.equal(await kindOf(gate.enter(there, someone())), 'open');
    await gate.report(there, { pauseMs: 5_000 });

    const { now } = Date;
    t.mock.method(Date, 'now', () => now() - 3_600_000);

    const pausedMs = await gate.pausedMs(there);
    assert.ok(pausedMs > 0 && pausedMs <= 5_000, String(pausedMs));
  });

  it('opens its breaker after five failures in a row within a minute, and not after four', async () => {
    const there = upstream();
    for (let times = 0; times < 4; times++) await worker().report(there, 'failed');
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');

    await worker().report(there, 'failed');
    for (const gate of [worker(), worker()]) {
      const entry = await gate.enter(there, someone());
      assert.ok(entry.kind === 'closed' && entry.waitMs > 0 && entry.waitMs <= 30_000, JSON.stringify(entry));
    }
  });

  it('forgets failures that are over a minute old, and all of them when the upstream succeeds', async () => {
    const there = upstream();
    for (let times = 0; times < 4; times++) await worker().report(there, 'failed');
    await letPass(61, there);
    await worker().report(there, 'failed');
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');

    for (let times = 0; times < 3; times++) await worker().report(there, 'failed');
    await worker().report(there, 'answered');
    await worker().report(there, 'failed');
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');
  });

  it('admits exactly one task when the breaker has been open for its time, and all when that one succeeds', async () => {
    const there = upstream(50);
    for (let times = 0; times < 5; times++) await worker().report(there, 'failed');
    await letPass(30, there);

    const kinds = await Promise.all(Array.from({ length: 8 }, () => kindOf(worker().enter(there, someone()))));
    assert.equal(kinds.filter((kind) => kind === 'open').length, 1, kinds.join());
    // A task that may not try holds no slot.
    assert.deepEqual(await slotsOf(there), { counted: 1, rows: 1 });

    await worker().report(there, 'answered');
    const after = await Promise.all(Array.from({ length: 4 }, () => kindOf(worker().enter(there, someone()))));
    assert.deepEqual(after, ['open', 'open', 'open', 'open']);
  });

  it('opens the breaker again immediately when the probe fails', async () => {
    const there = upstream();
    for (let times = 0; times < 5; times++) await worker().report(there, 'failed');
    await letPass(30, there);
    const gate = worker();
    assert.equal(await kindOf(gate.enter(there, someone())), 'open');

    await gate.report(there, 'failed');

    assert.equal(await kindOf(worker().enter(there, someone())), 'closed');
    await letPass(30, there);
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');
  });

  it('closes the breaker for an upstream that returns 429, and follows its Retry-After instead', async () => {
    const there = upstream();
    for (let times = 0; times < 5; times++) await worker().report(there, 'failed');
    await letPass(30, there);
    const gate = worker();
    await gate.enter(there, someone());

    await gate.report(there, { pauseMs: 10_000 });

    assert.equal(await kindOf(worker().enter(there, someone())), 'closed');
    await letPass(10, there);
    const kinds = await Promise.all([1, 2, 3].map(() => kindOf(worker().enter(there, someone()))));
    assert.deepEqual(kinds, ['open', 'open', 'open']);
  });

  it('is closed while an operator has drained it, and a task keeps the slot of its job', async () => {
    const there = upstream(1);
    const task = someone();
    assert.equal(await kindOf(worker().enter(there, task)), 'open');
    await drainUpstream(room.database, there.name);

    const entry = await worker().enter(there, someone());
    assert.deepEqual([entry.kind, entry.kind === 'closed' && entry.pauseReason], ['closed', null]);
    assert.deepEqual(await slotsOf(there), { counted: 1, rows: 1 });

    await worker().release(there, task.taskId);
    await resumeUpstream(room.database, there.name);
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');
  });

  it('is paused for its credential once, whoever reports it, and says why', async () => {
    const there = upstream();
    const entries: object[] = [];
    const logger = { ...silentLogger(), error: (entry: object) => entries.push(entry) };
    const gates = [1, 2, 3].map(() => createUpstreamGate({ database: room.database, logger }));
    await Promise.all(gates.map((gate) => gate.report(there, { pauseMs: 300_000, reason: 'unauthorized' })));
    await worker().report(there, { pauseMs: 1_000 });

    assert.deepEqual(entries, [{ upstream: there.name, pauseMs: 300_000, reason: 'unauthorized' }]);
    const entry = await worker().enter(there, someone());
    assert.equal(entry.kind === 'closed' && entry.pauseReason, 'unauthorized');

    // A longer pause for another reason counts.
    await worker().report(there, { pauseMs: 900_000, reason: 'out_of_credit' });
    const next = await worker().enter(there, someone());
    assert.equal(next.kind === 'closed' && next.pauseReason, 'out_of_credit');
    await letPass(900, there);
    assert.equal(await kindOf(worker().enter(there, someone())), 'open');
  });

  it('counts jobs without a cap where that is wanted, and frees those of ended tasks', async () => {
    const there = { ...upstream(), isCounted: true };
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    const tasks = [{ taskId, accountId: ACCOUNT }, someone(), someone()];
    for (const task of tasks) assert.equal(await kindOf(worker().enter(there, task)), 'open');
    assert.deepEqual(await slotsOf(there), { counted: 3, rows: 3 });

    await worker().release(there, tasks[1]?.taskId ?? taskId);
    assert.deepEqual(await slotsOf(there), { counted: 2, rows: 2 });
    await endTask(room, taskId, 120);
    await worker().tidyQueues();
    assert.deepEqual(await slotsOf(there), { counted: 1, rows: 1 });
  });

  it('costs two statements per task when there is a cap, and none otherwise', async () => {
    const gate = worker(true);
    const there = upstream(10);
    await gate.enter(there, someone());
    room.forgetStatements();

    await gate.enter(there, someone());

    assert.deepEqual(room.statements, ['find_upstream_slot', 'take_upstream_slot']);
  });

  it('never fails while reporting a result, also when the database is unavailable', async () => {
    const gate = worker(false, unreachableDatabase());
    const there = upstream(1);

    for (const health of ['answered', 'failed', { pauseMs: 1_000 }] as const) await gate.report(there, health);
    await gate.release(there, newTaskId());
    assert.equal(await gate.pausedMs(there), 0);
    await assert.rejects(gate.enter(there, someone()), { name: 'DatabaseUnavailableError' });
  });
});
