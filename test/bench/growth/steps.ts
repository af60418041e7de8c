/** The way of one task through the database, statement by statement, as the api and the worker send them. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../src/database/database.ts';
import type { TaskId } from '../../../src/domain/workflow-ids.ts';
import { createAcceptor } from '../../../src/tasks/create/accept-queue.ts';
import { beginArchiving, beginHandling } from '../../../src/tasks/lifecycle/transitions.ts';
import { recordFiles } from '../../../src/tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../../../src/tasks/lifecycle/transitions.ts';
import { settleTask } from '../../../src/tasks/lifecycle/settle.ts';
import { createTaskLister } from '../../../src/tasks/listing/list.ts';
import { claimOutbox, removeOutbox } from '../../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../../src/tasks/record/read.ts';
import { newTask } from '../../tasks/new-task.ts';

const UPSTREAM = { upstreamName: 'bench', upstreamIndex: 0, label: 1 };
const PRICE = 10_000n;
const SHA256 = 'ab'.repeat(32);

/** One step; the time that it takes is measured. */
export interface Step {
  readonly name: string;
  run(): Promise<unknown>;
}

/** The steps of a task that does not exist yet, in their order. */
export function stepsOf(database: Database, accountId: string): readonly Step[] {
  const acceptor = createAcceptor(
    () => database,
    () => false,
  );
  const lister = createTaskLister(database, Date.now);
  const task = newTask(accountId, { idempotencyKey: `bench-${randomBytes(8).toString('hex')}`, holdMicroUsd: PRICE });
  const { id: taskId } = task;
  let working: WorkingTask | undefined;
  const stored = { key: `outputs/${taskId}`, sizeBytes: 300_000, sha256: SHA256 };
  const output = {
    type: 'image',
    objectKey: stored.key,
    mimeType: 'image/png',
    sizeBytes: 300_000,
    sha256: SHA256,
  } as const;
  return [
    { name: 'create', run: () => acceptor.accept(task) },
    { name: 'launch', run: () => launch(database, taskId) },
    {
      name: 'begin',
      run: async () => {
        ({ task: working } = await beginHandling(database, taskId, 600));
      },
    },
    {
      name: 'record files',
      run: async () => {
        if (working === undefined) throw new Error('the task has not begun');
        await recordFiles(database, working, UPSTREAM, [stored]);
      },
    },
    { name: 'begin archiving', run: () => beginArchiving(database, taskId) },
    {
      name: 'settle',
      run: () =>
        settleTask(
          database,
          taskId,
          { status: 'success', outputs: [output], capturedMicroUsd: PRICE },
          { retentionDays: 7 },
        ),
    },
    { name: 'read', run: () => readTask(database, taskId, accountId) },
    { name: 'list', run: () => lister.list({ accountId, filter: {}, offset: 0, size: 10 }) },
    {
      name: 'create again',
      run: () => acceptor.accept(task),
    },
  ];
}

async function launch(database: Database, taskId: TaskId): Promise<void> {
  const items = await claimOutbox(database, 10);
  if (!items.some(({ subjectId }) => subjectId === taskId)) throw new Error('the task was not launched');
  await removeOutbox(
    database,
    items.map(({ id }) => id),
  );
}
