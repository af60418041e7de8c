/**
 * One account with more deliveries to a receiver that hangs than a worker has slots: it holds at most half of them,
 * and another account's deliveries go out while most of the crowd still waits.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CALLBACK_SLOTS } from '../../src/callbacks/delivery-slots.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** A worker that gave them all its slots would need half a minute for them. */
const CROWD = 500;
/** A task that fails at once gets a callback like any other. */
const FAILING = { model: 'test/openai', input: { prompt: 'a boat [content]' } };

describe('a crowd of deliveries to a receiver that hangs', () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams({ CALLBACK_OFFSETS_SECONDS: '0' });
  });
  after(() => outside.stop());

  /**
   * Makes the given number of deliveries due at once: copies of one finished task, as if all had ended at this
   * moment.
   */
  async function gather(account: TestAccount): Promise<void> {
    const taskId = await outside.create(account, FAILING);
    await account.client.waitForTerminal(taskId);
    const url = `${outside.receiver.url}/hang`;
    await outside.darkroom.testDatabase.database.query(
      {
        name: 'test_gather',
        text: `WITH copied AS (
                 INSERT INTO tasks
                 SELECT (jsonb_populate_record(t, jsonb_build_object('id', c.id))).*
                   FROM tasks t, unnest($2::text[]) AS c (id) WHERE t.id = $1
                 RETURNING id, account_id),
               callback AS (
                 INSERT INTO callbacks (task_id, account_id, url, state) SELECT id, account_id, $3, 'pending' FROM copied)
               INSERT INTO outbox (kind, account_id, subject_id, is_ready)
               SELECT 'deliver_callback', account_id, id, true FROM copied`,
      },
      [taskId, Array.from({ length: CROWD }, newTaskId), url],
    );
  }

  async function attemptsOf(accountId: string): Promise<{ begun: number; most: number }> {
    const [row] = await outside.darkroom.testDatabase.database.query<{ begun: number; most: number }>(
      {
        name: 'test_crowd',
        text: `WITH attempts AS (
                 SELECT a.started_at, coalesce(a.finished_at, 'infinity') AS finished_at
                   FROM callback_attempts a JOIN callbacks c USING (task_id) WHERE c.account_id = $1)
               SELECT count(*)::integer AS begun,
                      coalesce(max((SELECT count(*) FROM attempts o
                                     WHERE o.started_at <= a.started_at AND o.finished_at > a.started_at)), 0)::integer AS most
                 FROM attempts a`,
      },
      [accountId],
    );
    return row ?? assert.fail();
  }

  it('holds half of the slots, and another account gets its delivery before a slot becomes free', async () => {
    const { darkroom, receiver } = outside;
    const [crowd, other] = [await darkroom.createAccount(), await darkroom.createAccount()];
    // Another account's finished task, so that only its delivery has to be awaited.
    const taskId = await outside.create(other, { ...FAILING, callback: { url: `${receiver.url}/ok/other` } });
    await other.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
    await gather(crowd);
    const half = CALLBACK_SLOTS / 2;
    await waitFor('the crowd could hold what it may', async () => (await attemptsOf(crowd.id)).begun >= half);

    const again = await other.client.send('POST', `/v1/tasks/${taskId}/callback/redeliver`);
    assert.equal(again.status, 200);
    await other.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered' && callback.attempts === 2);

    const { begun, most } = await attemptsOf(crowd.id);
    assert.ok(begun < CROWD, `all ${begun} of the crowd came first`);
    assert.ok(most <= half, `${most} at once`);
    assert.equal((await outside.callbacksOf(taskId)).length, 2);
    let hasWaited = false;
    await waitFor('a callback waits for a slot, or all have had one', async () => {
      const [waiting] = await darkroom.testDatabase.database.query<{ count: number }>(
        {
          name: 'test_crowd_waiting',
          text: `SELECT count(*)::integer AS count FROM callbacks
                  WHERE account_id = $1 AND state = 'pending' AND attempts = 0 AND next_attempt_at > now()`,
        },
        [crowd.id],
      );
      hasWaited = (waiting?.count ?? 0) > 0;
      return hasWaited || (await attemptsOf(crowd.id)).begun >= CROWD;
    });
    // On a slow machine, attempts end as fast as others begin, and none finds all slots taken.
    assert.ok(hasWaited || (await attemptsOf(crowd.id)).most < half, 'no callback of the crowd waited');
  });
});
