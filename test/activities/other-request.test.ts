/** A workflow whose task the database has lost; another task now has the same Idempotency-Key (docs/decisions/0005). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ActivityContext } from '../../activities/context.ts';
import { createSettleTask, settleAtOnce } from '../../activities/media-task.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { Database, Queryable } from '../../src/database/database.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { fingerprint, requestHashOf } from '../../src/tasks/record/fingerprint.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import type { SettleInput, SettleResult, SettledTask } from '../../workflows/contracts.ts';
import { ONE_OUTPUT } from '../workflows/workflow-lab.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const KEY = 'one key';

/** The names of the statements that are run. */
function countingStatements(database: Database): { readonly names: string[]; readonly database: Database } {
  const names: string[] = [];
  const counted = (queryable: Queryable): Queryable => ({
    query: (statement, values) => {
      names.push(statement.name);
      return queryable.query(statement, values);
    },
  });
  const transaction: Database['transaction'] = (work) => database.transaction((inner) => work(counted(inner)));
  return { names, database: { ...database, ...counted(database), transaction } };
}

describe('a settlement', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
    await createPinnedDefinitions(room.database).pin(room.catalogue.models);
  });
  after(() => room.close());

  async function createTask(key?: string): Promise<TaskId> {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), key);
    owners.set(taskId, caller.accountId);
    return taskId;
  }
  const owners = new Map<TaskId, string>();
  const settled = (taskId: TaskId): SettledTask => ({ taskId, accountId: owners.get(taskId) ?? assert.fail() });

  function contextOf(database: Database): ActivityContext {
    return {
      database,
      settler: createSettler({ accountDatabase: () => database, retentionDays: 7 }),
      definitions: createPinnedDefinitions(room.database),
      logger: silentLogger(),
    } as unknown as ActivityContext;
  }

  async function settle(input: SettleInput): Promise<SettleResult> {
    const result = await createSettleTask(contextOf(room.database))(input);
    assert.deepEqual(await verifyLedger(room.database), []);
    return result;
  }

  const success = { status: 'success', outputs: [ONE_OUTPUT] } as const;
  const failure = { status: 'fail', reason: 'content_rejected' } as const;

  for (const verdict of [success, failure]) {
    it(`of one request as ${verdict.status} is not accepted for another request`, async () => {
      const requestHash = requestHashOf(KEY, fingerprint(body({ input: { prompt: 'a hare' } }))) ?? '';

      const outcome = await settle({ ...settled(await createTask(KEY)), requestHash, ...verdict });

      assert.deepEqual(outcome, { status: 'fail', reason: 'outcome_unknown' });
    });

    it(`of the same request as ${verdict.status} is its own, as is one that does not name its request`, async () => {
      const requestHash = requestHashOf(KEY, fingerprint(body())) ?? '';

      const named = await settle({ ...settled(await createTask(KEY)), requestHash, ...verdict });
      const unnamed = await settle({ ...settled(await createTask(KEY)), ...verdict });

      assert.deepEqual([named.status, unnamed.status], [verdict.status, verdict.status]);
    });
  }

  it('that archives follows the same rule, and reads the task no second time', async () => {
    const hashOf = (prompt: string) => requestHashOf(KEY, fingerprint(body({ input: { prompt } }))) ?? '';
    const [own, other] = await Promise.all([createTask(KEY), createTask(KEY)]);
    const [ownTask, otherTask] = await Promise.all(
      [own, other].map((taskId) => readWorkingTask(room.database, taskId)),
    );
    const { names, database } = countingStatements(room.database);

    const requestHash = requestHashOf(KEY, fingerprint(body())) ?? '';
    const outcomes = [
      await settleAtOnce(contextOf(database), { ...settled(own), requestHash, ...success }, ownTask ?? assert.fail()),
      await settleAtOnce(
        contextOf(database),
        { ...settled(other), requestHash: hashOf('a hare'), ...success },
        otherTask ?? assert.fail(),
      ),
    ];

    assert.deepEqual(outcomes, [
      { status: 'success', reason: null },
      { status: 'fail', reason: 'outcome_unknown' },
    ]);
    assert.ok(!names.includes('select_working_task'), names.join(', '));
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('that archives leaves it to a settlement of its own when the database fails, and the task as it was', async () => {
    const taskId = await createTask(KEY);
    const task = await readWorkingTask(room.database, taskId);
    const database: Database = { ...room.database, transaction: () => Promise.reject(new Error('it is away')) };

    assert.equal(await settleAtOnce(contextOf(database), { ...settled(taskId), ...success }, task), undefined);

    assert.equal((await readWorkingTask(room.database, taskId)).status, 'queued');
    assert.deepEqual(await settle({ ...settled(taskId), ...success }), { status: 'success', reason: null });
    // The second settlement of one task follows the first.
    const later = await settleAtOnce(contextOf(room.database), { ...settled(taskId), ...success }, task);
    assert.deepEqual(later, { status: 'success', reason: null });
    assert.deepEqual(await verifyLedger(room.database), []);
  });

  it('identifies a request by a hash that the database and the process compute alike, and that includes its key', async () => {
    const taskIds = await Promise.all([createTask(KEY), createTask('another key'), createTask()]);

    const rows = await Promise.all(taskIds.map((taskId) => readWorkingTask(room.database, taskId)));
    const items = await claimOutbox(room.database, 1_000);

    const made = [KEY, 'another key', undefined].map((key) => requestHashOf(key, fingerprint(body())));
    assert.deepEqual(
      rows.map((row) => row.requestHash),
      made,
    );
    assert.deepEqual(
      taskIds.map((taskId) => items.find((item) => item.kind === 'start_task' && item.subjectId === taskId)),
      taskIds.map((taskId, index) => ({
        ...items.find((item) => item.subjectId === taskId),
        requestHash: made[index],
      })),
    );
    assert.notEqual(made[0], made[1]);
    assert.equal(made[2], null);
  });
});
