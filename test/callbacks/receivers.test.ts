/**
 * Receivers of callbacks, with a whole Darkroom. Those that fail for days: what their account sees, on its page and with
 * every response, and that the whole schedule is not sent to them forever. And what they get, checked with the verifier
 * that the authors of Standard Webhooks publish: it accepts ours, and rejects those that were altered, replayed or signed
 * with another key.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { WireAccount } from '@darkroom/api/tasks/account';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { ReceivedCallback } from '../support/callback-receiver.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const OVER_AND_DONE = ['delivered', 'exhausted', 'stopped'];
const HEADER = 'x-darkroom-callback-failing';
/** Above the default of CALLBACK_DISABLE_AFTER_DAYS, and below the age at which failures are reset. */
const DAYS = 6;
/** How old or how far in the future a timestamp may be for the verifier. */
const TOLERANCE_MS = 5 * 60_000;

let outside: DarkroomWithUpstreams;
before(async () => {
  outside = await startDarkroomWithUpstreams();
});
after(() => outside.stop());

describe('an account whose receiver fails', () => {
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

describe('the published verifier of Standard Webhooks', () => {
  let account: TestAccount;
  before(async () => {
    account = await outside.darkroom.createAccount();
  });

  const PATH = '/v1/account/webhook-key';
  async function key(method: 'POST' | 'PUT', path: string, body?: unknown): Promise<string> {
    const answer = await account.client.send(method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return (answer.body.data as unknown as WireWebhookKey).whsec ?? assert.fail('no key');
  }

  async function called(): Promise<{ callback: ReceivedCallback; headers: Record<string, string>; taskId: string }> {
    const taskId = await outside.create(account, {
      model: 'test/openai',
      // Not ASCII, so that signing characters instead of bytes is detected.
      input: { prompt: 'a boat' },
      metadata: { note: 'grün ✓' },
      callback: { url: `${outside.receiver.url}/ok/verified` },
    });
    const [callback] = await outside.waitForCalledBack(taskId);
    assert.ok(callback);
    return { callback, headers: callback.headers as Record<string, string>, taskId };
  }

  const assertRejected = (secret: string, body: string, headers: Record<string, string>, why: RegExp): void =>
    assert.throws(() => new Webhook(secret).verify(body, headers), { name: 'WebhookVerificationError', message: why });

  it('accepts our deliveries, signed with a generated secret and with one of the account’s own', async () => {
    for (const secret of [
      await key('POST', `${PATH}/rotate`),
      await key('PUT', PATH, { secret: 'a secret of the receiver, with ü' }),
    ]) {
      const { callback, headers, taskId } = await called();

      const verified = new Webhook(secret).verify(callback.body, headers) as { taskId: string };

      assert.equal(verified.taskId, taskId);
    }
  });

  it('accepts them with the old secret and the new one during a rotation', async () => {
    const before = await key('POST', `${PATH}/rotate`);
    const replaced = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();

    for (const secret of [before, replaced]) new Webhook(secret).verify(callback.body, headers);
  });

  it('rejects an altered body, id or time, a wrong secret, and a missing signature', async () => {
    const secret = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();
    const { body } = callback;
    const later = String(Number(headers['webhook-timestamp']) + 1);
    const other = new Webhook(`whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`);

    assertRejected(secret, body.replace('success', 'suckess'), headers, /No matching signature/);
    assertRejected(secret, `${body} `, headers, /No matching signature/);
    assertRejected(secret, body, { ...headers, 'webhook-id': `${headers['webhook-id']}0` }, /No matching signature/);
    assertRejected(secret, body, { ...headers, 'webhook-timestamp': later }, /No matching signature/);
    assert.throws(() => other.verify(body, headers), /No matching signature/);
    const { 'webhook-signature': _, ...unsigned } = headers;
    assertRejected(secret, body, unsigned, /Missing required headers/);
    new Webhook(secret).verify(body, headers);
  });

  it('rejects a delivery that is replayed later, and one from the future', async (t) => {
    const secret = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();
    const sentAt = Number(headers['webhook-timestamp']) * 1000;

    t.mock.timers.enable({ apis: ['Date'], now: sentAt + TOLERANCE_MS - 1_000 });
    new Webhook(secret).verify(callback.body, headers);
    t.mock.timers.setTime(sentAt + TOLERANCE_MS + 2_000);
    assertRejected(secret, callback.body, headers, /timestamp too old/);
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ['Date'], now: sentAt - TOLERANCE_MS - 2_000 });
    assertRejected(secret, callback.body, headers, /timestamp too new/);
  });
});
