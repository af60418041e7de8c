/** What accounts with locked rows do, and the other accounts meanwhile: through an account's share of the pool. */
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { REQUESTS_WAIT, createAccountDatabase } from '../../src/limits/row-databases.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import type { TaskCreator } from '../../src/tasks/create/create.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { body } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

/** As test/support/test-database.ts opens it. */
const POOL_SIZE = 10;
const RETENTION = { retentionDays: 7 };

export interface AccountWork {
  readonly creator: TaskCreator;
  /** Creates the given number of tasks at once. */
  create(caller: Caller, count: number): Promise<readonly TaskId[]>;
  settle(caller: Caller, taskId: TaskId): Promise<unknown>;
  cancel(caller: Caller, taskId: TaskId): Promise<unknown>;
}

export async function openAccountWork(room: TaskRoom): Promise<AccountWork> {
  await createPinnedDefinitions(room.database).pin(room.catalogue.models);
  const accountDatabase = createAccountDatabase(room.database, POOL_SIZE, REQUESTS_WAIT);
  const creator = createTaskCreator({ ...room.creatorDependencies, accountDatabase });
  return {
    creator,
    async create(caller, count) {
      const creates = Array.from({ length: count }, () => creator.create(caller, body(), undefined));
      return (await Promise.all(creates)).map(({ taskId }) => taskId);
    },
    settle: ({ accountId }, taskId) =>
      settleTask(accountDatabase(accountId), taskId, { status: 'fail', reason: 'no_output' }, RETENTION),
    cancel: ({ accountId }, taskId) =>
      cancelTask(accountDatabase(accountId), accountId, taskId, RETENTION.retentionDays),
  };
}
