/**
 * Receivers that fail for days, with a whole Darkroom: what their account sees, on its page and with every response,
 * and that the whole schedule is not sent to them forever.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { WireAccount } from '@darkroom/api/tasks/account';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const OVER_AND_DONE = ['delivered', 'exhausted', 'stopped'];
const HEADER = 'x-darkroom-callback-failing';
/** Above the default of CALLBACK_DISABLE_AFTER_DAYS, and below the age at which failures are reset. */
const DAYS = 6;

describe('an account whose receiver fails', () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  /** Delivers the callback of a task. @returns its id, and how many attempts it took. */
  async function deliver(
    account: TestAccount,
    path: string,
  ): Promise<{ taskId: string; state: string; attempts: number }> {
    const taskId = await outside.create(account, {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      callback: { url: `${outside.receiver.url}${path}` },
    });
    const task = await account.client.waitFor(taskId, ({ callback }) => OVER_AND_DONE.includes(callback?.state ?? ''));
    const { state = '', attempts = 0 } = task.callback ?? {};
    return { taskId, state, attempts };
  }

  async function problemsOf(account: TestAccount): Promise<NonNullable<WireAccount['callbackProblems']>> {
    const { body } = await account.client.send('GET', '/v1/account');
    return (body.data as unknown as WireAccount).callbackProblems ?? assert.fail('the account has no callbackProblems');
  }

  /** The header in a response to another request; a key is cached for a second. */
  const waitForProblemCount = (account: TestAccount, value: string | undefined): Promise<void> =>
    waitFor(`responses report ${value}`, async () => {
      const { headers } = await account.client.send('GET', '/v1/tasks');
      return (headers.get(HEADER) ?? undefined) === value;
    });

  async function failForDays(account: TestAccount): Promise<void> {
    assert.deepEqual((await deliver(account, '/status/500/always')).attempts, 3);
    await outside.darkroom.testDatabase.database.query(
      {
        name: 'test_fail_for_days',
        text: `UPDATE callback_receivers SET failing_since = failing_since - make_interval(days => $2) WHERE account_id = $1`,
      },
      [account.id, DAYS],
    );
  }

  it('is notified from the first callback that was given up until one is delivered', async () => {
    const account = await outside.darkroom.createAccount();
    const other = await outside.darkroom.createAccount();
    assert.deepEqual(await problemsOf(account), []);

    assert.equal((await deliver(account, '/status/503/always')).state, 'exhausted');

    const [problem, ...more] = await problemsOf(account);
    assert.deepEqual(more, []);
    assert.ok(problem !== undefined && Math.abs(problem.failingSince - Date.now() / 1000) < 600);
    const { failingSince, lastFailed, ...rest } = problem;
    assert.equal(lastFailed, failingSince);
    assert.deepEqual(rest, { origin: outside.receiver.url, lastStatus: 503, givenUp: 1, isReduced: false });
    await waitForProblemCount(account, '1');
    const rejected = await account.client.send('GET', '/v1/tasks/tk-svc-00000000000000000000000000');
    assert.equal(rejected.status, 404);
    assert.equal(rejected.headers.get(HEADER), '1');
    assert.deepEqual(await problemsOf(other), []);
    assert.equal((await other.client.send('GET', '/v1/tasks')).headers.get(HEADER), null);

    assert.equal((await deliver(account, '/ok/again')).state, 'delivered');
    assert.deepEqual(await problemsOf(account), []);
    await waitForProblemCount(account, undefined);
  });

  it('is not notified of a receiver that recovers within the schedule, nor of one that unsubscribes with 410', async () => {
    const account = await outside.darkroom.createAccount();

    assert.deepEqual((await deliver(account, '/fail/2/recovering')).attempts, 3);
    assert.equal((await deliver(account, '/gone')).state, 'stopped');

    assert.deepEqual(await problemsOf(account), []);
  });

  it('for days gets one attempt per callback, also for a redelivery, until one is delivered', async () => {
    const account = await outside.darkroom.createAccount();
    await failForDays(account);
    const [failing] = await problemsOf(account);
    assert.equal(failing?.isReduced, true);

    const { taskId, state, attempts } = await deliver(account, '/status/500/always');
    assert.deepEqual({ state, attempts }, { state: 'exhausted', attempts: 1 });
    assert.equal((await problemsOf(account))[0]?.givenUp, 2);

    const again = await account.client.send('POST', `/v1/tasks/${taskId}/callback/redeliver`);
    assert.equal(again.status, 200);
    await account.client.waitFor(taskId, ({ callback }) => callback?.state === 'exhausted' && callback.attempts === 2);
    assert.equal((await outside.callbacksOf(taskId)).length, 2);

    assert.equal((await deliver(account, '/ok/again')).attempts, 1);
    assert.equal((await deliver(account, '/status/500/always')).attempts, 3);
    assert.equal((await problemsOf(account))[0]?.isReduced, false);
  });

  it('gets the whole schedule again once a test delivery succeeds, and not when that fails too', async () => {
    const account = await outside.darkroom.createAccount();
    await failForDays(account);
    const test = (path: string) =>
      account.client.send('POST', '/v1/account/webhook-key/test', { url: `${outside.receiver.url}${path}` });

    assert.equal((await test('/status/500/test')).status, 200);
    assert.equal((await problemsOf(account)).length, 1);
    assert.equal((await test('/ok/test')).status, 200);
    assert.deepEqual(await problemsOf(account), []);

    assert.equal((await deliver(account, '/status/500/always')).attempts, 3);
  });
});
