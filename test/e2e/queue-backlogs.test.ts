/**
 * The age of the task queues, by which workers are scaled: as a scraped api reports it while no worker serves a queue,
 * for workers without a version and with one.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';
import type { QueueName } from '../../src/domain/workflow-ids.ts';
import { WorkerVersions } from '../deploy/released-worker.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { scrape } from '../telemetry/exposition.ts';
import '../support/quiet-temporal.ts';

const QUEUES = Object.keys(TASK_QUEUES) as QueueName[];
const BODY = { model: 'darkroom/scene', input: { prompt: 'a lighthouse', resolution: '1k' } };
const WAITING_TASKS = 3;
/** Workers of this entry have one version more than the others, and the same queues. */
const BUILD_ID = '1.0.0';

for (const buildId of [undefined, BUILD_ID]) {
  describe(`the age of a queue, for workers ${buildId === undefined ? 'without a version' : 'with one'}`, () => {
    let darkroom: Darkroom;
    let account: TestAccount;
    before(async () => {
      darkroom = await startDarkroom({
        hasMetrics: true,
        environment: {
          WORKER_QUEUES: QUEUES.filter((queue) => queue !== 'generation').join(','),
          ...(buildId === undefined ? {} : { WORKER_BUILD_ID: buildId }),
        },
      });
      if (buildId !== undefined) await new WorkerVersions(darkroom).promote(buildId);
      account = await darkroom.createAccount();
    });
    after(() => darkroom?.stop());

    const read = async (queue: QueueName) => {
      const seen = await scrape(darkroom.metricsUrls[0] ?? '');
      const of = (name: string) => seen.value(name, { queue });
      return { age: of('darkroom_queue_age_seconds'), backlog: of('darkroom_queue_backlog') };
    };

    it('grows while no worker takes its work, and is 0 when one has', async () => {
      await waitFor('the queues are known', async () => (await read('generation')).age === 0, 500);
      const created = await Promise.all(Array.from({ length: WAITING_TASKS }, () => account.client.create(BODY)));

      await waitFor(
        'the backlog has an age',
        async () => {
          const { age = 0, backlog = 0 } = await read('generation');
          return backlog >= WAITING_TASKS && age > 5;
        },
        500,
      );
      for (const queue of ['media', 'archiving', 'callbacks'] as const) {
        assert.equal((await read(queue)).age, 0, queue);
      }

      await darkroom.addWorker({ WORKER_QUEUES: 'generation', METRICS_PORT: undefined });
      for (const { body } of created) {
        assert.equal((await account.client.waitForTerminal(body.data.taskId)).status, 'success');
      }
      await waitFor('the backlog is gone', async () => (await read('generation')).age === 0, 500);
    });
  });
}
