/**
 * The transitions between a task's states (contract §3): whichever action occurs in whichever state, a status never
 * goes back, and a terminal task stays as it is.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { beginAttempt, finishAttempt } from '../../src/callbacks/attempts.ts';
import { TASK_STATUSES, isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { WorkflowState } from '../../src/domain/task-status.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { redeliverCallback } from '../../src/tasks/lifecycle/callback.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginArchiving, beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { presentTask } from '../../src/presenters/task.ts';
import { createStorageRoom } from '../objects/stored-outputs.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const RETENTION = { retentionDays: 7 };

let room: TaskRoom;
let caller: Caller;
before(async () => {
  room = await openTaskRoom();
  caller = await room.newCaller({ runningCap: 1_000 });
});
after(() => room.close());

type Move = (taskId: TaskId) => Promise<unknown>;

async function repair(taskId: TaskId, condition: WorkflowState, isPastDeadline: boolean): Promise<unknown> {
  const status = await statusOf(taskId);
  const dependencies = {
    database: room.database,
    describe: async (): Promise<WorkflowState> => condition,
    retentionDays: 7,
    metrics: createMetrics().tasks,
    logger: silentLogger(),
  };
  return repairTask({ id: taskId, status, isPastDeadline, hasStart: false }, dependencies);
}

/** Everything that the program does to the status of a task. */
const MOVES: Readonly<Record<string, Move>> = {
  handle: (taskId) => beginHandling(room.database, taskId, 60),
  archive: (taskId) => beginArchiving(room.database, taskId),
  succeed: (taskId) =>
    settleTask(
      room.database,
      taskId,
      { status: 'success', outputs: [output(taskId)], capturedMicroUsd: PRICE },
      RETENTION,
    ),
  fail: (taskId) => settleTask(room.database, taskId, { status: 'fail', reason: 'provider_error' }, RETENTION),
  cancel: (taskId) => cancelTask(room.database, caller.accountId, taskId, 7),
  'find it past its deadline': (taskId) => repair(taskId, 'running', true),
  'find its workflow ended': (taskId) => repair(taskId, 'abnormal', false),
  'find its workflow missing': (taskId) => repair(taskId, 'missing', false),
};

function output(taskId: TaskId) {
  return { type: 'image', objectKey: `outputs/${taskId}`, mimeType: 'image/png', sizeBytes: 5, sha256: '0'.repeat(64) };
}

/** How a task gets from its launch into a status, by the transitions of its own workflow. */
const WAYS: Readonly<Record<TaskStatus, readonly string[]>> = {
  queued: [],
  handling: ['handle'],
  archiving: ['handle', 'archive'],
  success: ['handle', 'archive', 'succeed'],
  fail: ['handle', 'fail'],
};

async function taskIn(status: TaskStatus): Promise<TaskId> {
  const sent = body({ callback: { url: 'https://example.com/hook' }, metadata: { order: '7' } });
  const { taskId } = await room.creator.create(caller, sent, undefined);
  await claimOutbox(room.database, 1_000);
  for (const move of WAYS[status]) await MOVES[move]?.(taskId);
  assert.equal(await statusOf(taskId), status);
  return taskId;
}

async function statusOf(taskId: TaskId): Promise<TaskStatus> {
  return (await readTask(room.database, taskId)).status;
}

/** `fail` ends a task like `success` does. */
function rank(status: TaskStatus): number {
  return isTerminal(status) ? TASK_STATUSES.indexOf('success') : TASK_STATUSES.indexOf(status);
}

/** The transitions of the contract, and those that change nothing. */
function isAllowed(from: TaskStatus, to: TaskStatus): boolean {
  if (isTerminal(from) || from === to) return from === to;
  if (to === 'fail') return true;
  return rank(to) === rank(from) + 1;
}

/** A detail without what may still change: URLs, the delivery of the callback and where outputs are stored. */
async function lasting(taskId: TaskId): Promise<unknown> {
  const { urlSigner } = room.creatorDependencies;
  const {
    callback: _,
    output: outputs,
    ...rest
  } = presentTask(await readTask(room.database, taskId), urlSigner, Date.now());
  const kept = outputs?.map(({ url: _url, expireAt: _at, storage: _storage, retainUntil: _until, ...facts }) => facts);
  return { ...rest, output: kept };
}

describe('a status', () => {
  for (const from of TASK_STATUSES) {
    // Proves S3-5, C3-30.
    it(`moves from ${from} as the contract defines, whatever is done to the task`, async () => {
      for (const [name, move] of Object.entries(MOVES)) {
        // The workflow settles a success only after it has archived.
        if (name === 'succeed' && rank(from) < rank('archiving')) continue;
        const taskId = await taskIn(from);
        await move(taskId);
        const to = await statusOf(taskId);
        assert.ok(isAllowed(from, to), `${name}: ${from} → ${to}`);
      }
    });
  }

  // Proves C3-31.
  it('never goes back while everything happens to a task concurrently', async () => {
    for (let round = 0; round < 8; round++) {
      const taskId = await taskIn('queued');
      const seen: TaskStatus[] = [];
      let isOver = false;
      const watching = (async () => {
        while (!isOver) seen.push(await statusOf(taskId));
      })();
      const workflow = (async () => {
        for (const name of ['handle', 'archive', 'succeed']) await MOVES[name]?.(taskId);
      })();
      const { cancel, fail } = MOVES;
      await Promise.all([
        workflow,
        round % 2 === 0 ? cancel?.(taskId) : undefined,
        round % 3 === 0 ? fail?.(taskId) : undefined,
      ]);
      isOver = true;
      await watching;
      seen.push(await statusOf(taskId));

      assert.ok(isTerminal(seen.at(-1) ?? 'queued'));
      for (const [index, status] of seen.entries()) {
        const before = seen[index - 1] ?? 'queued';
        assert.ok(isTerminal(before) ? status === before : rank(status) >= rank(before), seen.join(' '));
      }
    }
  });
});

describe('an ended task', () => {
  for (const end of ['success', 'fail'] as const) {
    // Proves S3-2, C3-32, C6-19.
    it(`as ${end} never changes, except its URLs, its callback and the storage of its outputs`, async () => {
      const taskId = await taskIn(end);
      const before = await lasting(taskId);

      for (const move of Object.values(MOVES)) await move(taskId);
      await beginAttempt(room.database, taskId, 4);
      await finishAttempt(room.database, taskId, 1, { httpStatus: 204 }, 'delivered', undefined);
      await redeliverCallback(room.database, caller.accountId, taskId);
      const { outputs } = await readTask(room.database, taskId);
      for (const { id } of outputs) await createStorageRoom(room).promoteAt(caller, [id], Date.now());

      assert.deepEqual(await lasting(taskId), before);
      const [kept] = (await readTask(room.database, taskId)).outputs;
      if (end === 'success') assert.equal(kept?.storageTier, 'persistent');
    });
  }
});

describe('the signing key of the URLs that a task’s providers get', () => {
  it('is that of the attempt which begins it, also when two begin it concurrently', async () => {
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await claimOutbox(room.database, 1_000);

    const [one, other] = await Promise.all([
      beginHandling(room.database, taskId, 60, 'old'),
      beginHandling(room.database, taskId, 60, 'new'),
    ]);
    const later = await beginHandling(room.database, taskId, 60, 'newest');

    assert.match(one.task.urlKeyId ?? '', /^(old|new)$/);
    assert.deepEqual([other.task.urlKeyId, later.task.urlKeyId], [one.task.urlKeyId, one.task.urlKeyId]);
  });
});

describe('the timeout of a task', () => {
  // Proves C2-6.
  it('is counted from the start of handling, not from its creation', async () => {
    const { taskId } = await room.creator.create(caller, body({ timeoutSeconds: 30 }), undefined);
    await room.rows(`UPDATE tasks SET created_at = now() - interval '50 minutes' WHERE id = $1`, taskId);
    await claimOutbox(room.database, 1_000);

    const { task } = await beginHandling(room.database, taskId, 600);

    const left = ((task.deadlineAt ?? 0) - performance.now()) / 1000;
    assert.ok(left > 25 && left <= 31, `${left} s`);
  });

  it('never exceeds the limit of the model', async () => {
    const { taskId } = await room.creator.create(caller, body({ timeoutSeconds: 600 }), undefined);
    await claimOutbox(room.database, 1_000);

    const { task } = await beginHandling(room.database, taskId, 5);

    assert.ok(((task.deadlineAt ?? 0) - performance.now()) / 1000 <= 6);
  });
});
