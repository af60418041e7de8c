/**
 * A task that is cancelled while it is `handling`, although its upstream has finished: its owner pays what the model
 * file specifies (`pricing.lateCancel`), and what the upstream may bill beyond that is the operator's cost.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { MODEL_PRICE } from '../support/model-files.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const BILLS = '[bills 0.004]';
/** It is polled once while it works, and not again before the cancel. */
const FINISHES_UNSEEN = '[hold] [poll-after 600]';

interface Case {
  readonly lateCancel: 'billed' | 'full' | 'free';
  readonly behaviour: string;
  /** Decimal USD. */
  readonly captured: string;
  /** The recorded operator's cost, in micro-USD; undefined: none. */
  readonly cost?: bigint;
}

/** The price of every model is 0.03, which is the hold. */
const CASES: readonly Case[] = [
  { lateCancel: 'billed', behaviour: BILLS, captured: '0.004' },
  { lateCancel: 'billed', behaviour: '', captured: '0', cost: 30_000n },
  { lateCancel: 'full', behaviour: BILLS, captured: MODEL_PRICE },
  { lateCancel: 'full', behaviour: '', captured: MODEL_PRICE },
  { lateCancel: 'full', behaviour: '[bills 0.05]', captured: MODEL_PRICE, cost: 20_000n },
  { lateCancel: 'free', behaviour: BILLS, captured: '0', cost: 4_000n },
  { lateCancel: 'free', behaviour: '', captured: '0', cost: 30_000n },
];

describe('a cancel that comes after the upstream has finished', { concurrency: CASES.length }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams({}, [], {
      'late-billed': [{ protocol: 'tasks' }],
      'late-full': [{ protocol: 'tasks' }],
      'late-free': [{ protocol: 'tasks' }],
    });
    const { client } = await outside.darkroom.createAccount();
    for (const lateCancel of ['full', 'free']) {
      await outside.changePricing(`late-${lateCancel}`, { lateCancel });
      await waitFor(`${lateCancel} is in force`, async () => {
        const { body } = await client.send('GET', '/v1/models');
        return JSON.stringify(body).includes(`"lateCancel":"${lateCancel}"`);
      });
    }
  });
  after(() => outside.stop());

  for (const { lateCancel, behaviour, captured, cost } of CASES) {
    const upstream = behaviour === '' ? 'says nothing' : `says ${behaviour}`;
    it(`costs ${captured} where the model says ${lateCancel} and the upstream ${upstream}`, async () => {
      const account = await outside.darkroom.createAccount();
      const marker = `marker-${randomUUID()}`;
      const input = { prompt: `${marker} ${FINISHES_UNSEEN} ${behaviour}` };
      const taskId = await outside.create(account, { model: `test/late-${lateCancel}`, input });
      await outside.waitForProvider(marker, 'poll');
      await outside.provider.release(marker);
      await outside.waitForProvider(marker, 'finished');
      assert.equal((await account.client.get(taskId)).body.data.status, 'handling');

      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.error?.code, 'TASK_CANCELLED');
      assert.equal(task.billing.captured, captured);
      const costs = await outside.darkroom.testDatabase.database.query<{ atMost: bigint }>(SELECT_COST, [taskId]);
      assert.deepEqual(
        costs.map(({ atMost }) => atMost),
        cost === undefined ? [] : [cost],
      );
      await outside.assertSettled(account);
    });
  }
});

const SELECT_COST = {
  name: 'test_cost',
  text: `SELECT at_most_micro_usd AS "atMost" FROM operator_costs WHERE task_id = $1 AND reason = 'cancelled'`,
};
