/**
 * Deliveries that run without progress: the repair, which requests overdue ones each minute, leaves them as they are.
 * On a real Temporal server, whose histories have a limit.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WrongEncryptionKeyError } from '../../src/accounts/secret-cipher.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { listFailingItems } from '../../src/database/failing-items.ts';
import { callbackWorkflowId } from '../../src/domain/workflow-ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createDelivery } from '../../src/processes/outbox-delivery.ts';
import { claimOutbox, removeOutbox, requestStalledCallbacks } from '../../src/tasks/outbox/outbox.ts';
import { redeliverCallback } from '../../src/tasks/lifecycle/callback.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { answerOf } from '../support/busy-server.ts';
import { startMaintenanceWorker } from '../support/maintenance-worker.ts';
import type { MaintenanceWorker } from '../support/maintenance-worker.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import '../support/quiet-temporal.ts';

describe('a running delivery', () => {
  let served: ServedApp;
  before(async () => {
    served = await serveApp();
  });
  after(() => served.close());

  /** A finished task whose callback has been overdue for a long time. */
  async function overdueTask(account: ServedAccount): Promise<TaskId> {
    const created = await account.client.create(body({ callback: { url: 'https://example.com/hook' } }));
    const taskId = created.body.data.taskId as TaskId;
    await settleTask(served.room.database, taskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });
    await served.room.rows(
      `UPDATE callbacks SET next_attempt_at = now() - interval '10 minutes' WHERE task_id = $1`,
      taskId,
    );
    return taskId;
  }

  /** Notifies Temporal of every requested callback. */
  async function deliverOutbox({ gateway }: MaintenanceWorker): Promise<void> {
    const { database } = served.room;
    const definitions = createPinnedDefinitions(database);
    const deliver = createDelivery({ database, gateway, definitions, tracing: NO_TRACES });
    const items = await claimOutbox(database, 100);
    for (const item of items) if (item.kind === 'deliver_callback') assert.equal(await deliver(item), true);
    await removeOutbox(
      database,
      items.map(({ id }) => id),
    );
  }

  it('without a key to sign with is rescheduled, and not presumed lost', async (t) => {
    const webhookKeys = {
      ...served.http.webhookKeys,
      activeSecrets: () => Promise.reject(new WrongEncryptionKeyError('the key of another installation')),
    };
    const worker = await startMaintenanceWorker(served, { webhookKeys }, ['callbacks']);
    t.after(() => worker.close());
    const account = await served.newAccount();
    const taskId = await overdueTask(account);

    await deliverOutbox(worker);

    await waitFor('the account is listed', async () => {
      const items = await listFailingItems(served.room.database, { kind: 'webhook_key', limit: 10 });
      return items.some(({ id }) => id === account.id);
    });
    const delivery = worker.client.workflow.getHandle(callbackWorkflowId(taskId));
    const { pendingActivities = [] } = (await answerOf(() => delivery.describe())).raw;
    assert.equal(pendingActivities?.length, 1);
    await waitFor('the next attempt is planned', async () => {
      const [row] = await served.room.rows<{ inSeconds: number }>(
        `SELECT extract(epoch FROM next_attempt_at - now())::float8 AS "inSeconds" FROM callbacks WHERE task_id = $1`,
        taskId,
      );
      return (row?.inSeconds ?? 0) > 30;
    });
    assert.deepEqual(await requestStalledCallbacks(served.room.database), []);
  });

  it('is polled by the repair without a trace, and checks again when its owner requests it', async (t) => {
    // No worker delivers callbacks here.
    const worker = await startMaintenanceWorker(served);
    t.after(() => worker.close());
    const account = await served.newAccount();
    const taskId = await overdueTask(account);
    await deliverOutbox(worker);
    const signals = async (): Promise<number> => {
      const history = await worker.client.workflow.getHandle(callbackWorkflowId(taskId)).fetchHistory();
      return (history.events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null).length;
    };

    for (let pass = 0; pass < 3; pass++) {
      assert.deepEqual(await requestStalledCallbacks(served.room.database), [taskId]);
      await deliverOutbox(worker);
    }
    assert.equal(await signals(), 0);

    await served.room.rows(`UPDATE callbacks SET state = 'delivered' WHERE task_id = $1`, taskId);
    assert.equal(await redeliverCallback(served.room.database, account.id, taskId), true);
    await deliverOutbox(worker);
    assert.equal(await signals(), 1);
  });
});
