/** A workflow whose task the database has lost; another task now has the same Idempotency-Key (docs/decisions/0037). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ActivityContext } from '../../activities/context.ts';
import { createSettleTask } from '../../activities/settle-task.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { fingerprint } from '../../src/tasks/record/fingerprint.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { requestHashOf } from '../../src/tasks/record/request-hash.ts';
import { readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { SettleInput, SettleResult } from '../../workflows/contracts.ts';
import { ONE_OUTPUT } from '../workflows/workflow-lab.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const KEY = 'one key';

describe('a settlement', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
    await createPinnedDefinitions(room.database).pin(room.catalogue.models);
  });
  after(() => room.close());

  async function createTask(key?: string): Promise<TaskId> {
    return (await room.creator.create(await room.newCaller(), body(), key)).taskId;
  }

  async function settle(input: SettleInput): Promise<SettleResult> {
    const context = {
      config: { outputRetentionDays: 7 },
      database: room.database,
      definitions: createPinnedDefinitions(room.database),
      metrics: { tasks: { settled: () => undefined } },
      logger: silentLogger(),
    } as unknown as ActivityContext;
    const result = await createSettleTask(context)(input);
    assert.deepEqual(await verifyLedger(room.database), []);
    return result;
  }

  const success = { status: 'success', outputs: [ONE_OUTPUT] } as const;
  const failure = { status: 'fail', reason: 'content_rejected' } as const;

  for (const verdict of [success, failure]) {
    it(`of one request as ${verdict.status} is not accepted for another request`, async () => {
      const requestHash = requestHashOf(KEY, fingerprint(body({ input: { prompt: 'a hare' } }))) ?? '';

      const outcome = await settle({ taskId: await createTask(KEY), requestHash, ...verdict });

      assert.deepEqual(outcome, { status: 'fail', reason: 'outcome_unknown' });
    });

    it(`of the same request as ${verdict.status} is its own, as is one that does not name its request`, async () => {
      const requestHash = requestHashOf(KEY, fingerprint(body())) ?? '';

      const named = await settle({ taskId: await createTask(KEY), requestHash, ...verdict });
      const unnamed = await settle({ taskId: await createTask(KEY), ...verdict });

      assert.deepEqual([named.status, unnamed.status], [verdict.status, verdict.status]);
    });
  }

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
