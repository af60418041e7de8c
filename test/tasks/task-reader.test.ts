/** Reads of tasks that share a statement: each gets exactly what it would get by itself. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { DatabaseUnavailableError, openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { TaskNotFoundError, readTask, createTaskReader } from '../../src/tasks/record/read.ts';
import type { TaskDetail, TaskReader } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { programConfig } from '../support/pooled-run.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
let caller: Caller;
let stranger: Caller;
let database: Database;
let reader: TaskReader;
/** The names of the statements that the reader ran. */
const statements: string[] = [];
before(async () => {
  room = await openTaskRoom();
  [caller, stranger] = await Promise.all([room.newCaller({ queueCap: 1_000 }), room.newCaller()]);
  database = openDatabase({ ...programConfig(room.url), poolSize: 2 }, silentLogger(), (name) => statements.push(name));
  reader = createTaskReader(database);
});
after(async () => {
  await database.close();
  await room.close();
});

function newTasks(count: number): Promise<TaskId[]> {
  return Promise.all(
    Array.from({ length: count }, async () => (await room.creator.create(caller, body(), undefined)).taskId),
  );
}

/** The statements that were run meanwhile. */
async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  statements.length = 0;
  await work();
  return [...statements];
}

/** Without the ages, which grow from one read to the next. */
function lasting({ idleSeconds, ageSeconds, ...detail }: TaskDetail): unknown {
  assert.ok(idleSeconds >= 0 && ageSeconds >= idleSeconds);
  return detail;
}

describe('reading tasks together', () => {
  it('returns to each read of one turn what it would get by itself, from one statement', async () => {
    const ids = await newTasks(20);
    let details: readonly TaskDetail[] = [];

    const ran = await statementsOf(async () => {
      details = await Promise.all([...ids, ...ids].map((taskId) => reader.read(taskId, caller.accountId)));
    });

    assert.deepEqual(ran, ['select_task_details']);
    const alone = await Promise.all([...ids, ...ids].map((taskId) => readTask(database, taskId, caller.accountId)));
    assert.deepEqual(details.map(lasting), alone.map(lasting));
  });

  it('runs the statement of one task for a lone read', async () => {
    const [taskId] = await newTasks(1);
    assert.ok(taskId !== undefined);

    const ran = await statementsOf(() => reader.read(taskId, caller.accountId));

    assert.deepEqual(ran, ['select_task_detail']);
  });

  it('runs several statements for more tasks than one may have', async () => {
    const ids = await newTasks(65);
    let found: readonly string[] = [];

    const ran = await statementsOf(async () => {
      const details = await Promise.all(ids.map((taskId) => reader.read(taskId, caller.accountId)));
      found = details.map(({ id }) => id);
    });

    assert.deepEqual(ran, ['select_task_details', 'select_task_detail']);
    assert.deepEqual(found, ids);
  });

  it('does not show the task of another account, though it was read for its owner in the same statement', async () => {
    const [taskId] = await newTasks(1);
    assert.ok(taskId !== undefined);

    const [own, foreign, missing] = await Promise.allSettled([
      reader.read(taskId, caller.accountId),
      reader.read(taskId, stranger.accountId),
      reader.read(newTaskId(), caller.accountId),
    ]);

    assert.equal(own.status === 'fulfilled' && own.value.id, taskId);
    for (const each of [foreign, missing]) {
      assert.ok(each.status === 'rejected' && each.reason instanceof TaskNotFoundError);
    }
  });

  it('fails every read of a statement that fails, and reads again afterwards', async () => {
    const ids = await newTasks(3);
    const closed = openDatabase(
      { ...programConfig('postgresql://darkroom:x@127.0.0.1:1/none'), poolSize: 1 },
      silentLogger(),
    );
    const unavailable = createTaskReader(closed);

    const failed = await Promise.allSettled(ids.map((taskId) => unavailable.read(taskId, caller.accountId)));
    await closed.close();

    for (const each of failed) {
      assert.ok(each.status === 'rejected' && each.reason instanceof DatabaseUnavailableError);
    }
    assert.equal((await reader.read(ids[0] ?? newTaskId(), caller.accountId)).id, ids[0]);
  });
});
