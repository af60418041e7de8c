/** `Idempotency-Key` as a client experiences it (spec §4.1, contract §2). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { revokeKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newId } from '../../src/domain/ids.ts';
import { body } from '../tasks/task-room.ts';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(async () => {
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
});

/** Creates with the header exactly as given, as often as it is given. */
async function createWith(...keys: string[]): Promise<{ status: number; taskId: string | undefined }> {
  const headers = {
    Authorization: `Bearer ${account.client.key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': keys,
  };
  const { status, text } = await raw(served.url, 'POST', '/v1/tasks', headers, JSON.stringify(body()));
  const { data } = JSON.parse(text) as { data: { taskId: string } | null };
  return { status, taskId: data?.taskId };
}

describe('64 creates at once with one key over HTTP', () => {
  // Proves S4.1-2, C1-14, C2-24.
  it('are one task and 63 answers marked as replays', async () => {
    const own = await served.newAccount({ microUsd: 10_000n });

    const answers = await Promise.all(Array.from({ length: 64 }, () => own.client.create(body(), 'order-7')));

    for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(new Set(answers.map((answer) => answer.body.data.taskId)).size, 1);
    assert.equal(answers.filter((answer) => answer.headers.get('idempotent-replay') === 'true').length, 63);
  });
});

describe('a key', () => {
  // Proves C2-17.
  it('is the same quoted and bare, with blanks around it or without', async () => {
    const key = newId('req');
    const { taskId } = await createWith(key);

    for (const spelling of [`"${key}"`, ` ${key} `, ` "${key}"`]) {
      assert.deepEqual(await createWith(spelling), { status: 200, taskId });
    }
  });

  it('is distinct in another case, or with another visible character', async () => {
    const ids = new Set<string | undefined>();
    for (const key of ['key-a', 'KEY-A', 'key-a"', 'key-a,', '!', '~', 'x'.repeat(255)]) {
      const { status, taskId } = await createWith(key);
      assert.equal(status, 200, key);
      ids.add(taskId);
    }
    assert.equal(ids.size, 7);
  });

  // Proves C2-17.
  it('is rejected when it is empty, too long, not visible ASCII, or sent twice', async () => {
    const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
    for (const key of [
      '',
      '""',
      ' ',
      'x'.repeat(256),
      `"${'x'.repeat(256)}"`,
      'a b',
      '"a b"',
      'a\tb',
      latin1('é'),
      latin1('🦊'),
    ]) {
      assert.equal((await createWith(key)).status, 400, JSON.stringify(key));
    }
    for (const keys of [
      ['a', 'b'],
      ['a', 'a'],
      ['"a"', '"a"'],
    ]) {
      assert.equal((await createWith(...keys)).status, 400, keys.join());
    }
  });
});

describe('a replay', () => {
  // Proves C2-21.
  it('precedes validation, model and money: it returns its task whatever they would be now', async () => {
    const own = await served.newAccount({ microUsd: 10_000n, runningCap: 1, queueCap: 0 });
    const { body: created } = await own.client.create(body(), 'order-8');
    // No balance and no space in the queue are left; the key below may use no model at all.
    const narrow = await own.newKey({ models: ['acme/none'] });

    const answer = await narrow.client.create(body(), 'order-8');

    assert.equal(answer.status, 200);
    assert.equal(answer.body.data.taskId, created.data.taskId);
    assert.equal(answer.headers.get('idempotent-replay'), 'true');
    assert.equal((await own.client.create(body(), 'order-9')).status, 402);
  });

  // Proves C2-18.
  it('outlives the API key that created the task', async () => {
    const own = await served.newAccount();
    const first = await own.newKey();
    const { body: created } = await first.client.create(body(), 'order-10');
    await revokeKey(served.room.database, first.id);

    const answer = await own.client.create(body(), 'order-10');

    assert.equal(answer.body.data.taskId, created.data.taskId);
    assert.equal(answer.headers.get('idempotent-replay'), 'true');
  });

  // Proves S7-12, C3-14.
  it('returns the failed task of a key, and wakes no process', async () => {
    const { body: created } = await account.client.create(body(), 'order-11');
    await account.client.send('POST', `/v1/tasks/${created.data.taskId}/cancel`);
    const { wakes } = served.notified;

    const answer = await account.client.create(body(), 'order-11');

    assert.equal(answer.body.data.taskId, created.data.taskId);
    assert.equal(served.notified.wakes, wakes);
  });

  // Proves C1-19.
  it('of another body is rejected with 422, even one that is invalid', async () => {
    await account.client.create(body(), 'order-12');

    for (const changes of [{ input: { prompt: 'a hare' } }, { size: 1 }, { model: 'acme/none' }, { storage: 'temp' }]) {
      const answer = await account.client.create(body(changes), 'order-12');
      assert.equal(answer.status, 422);
      assert.equal(answer.body.error_code, 'IDEMPOTENCY_KEY_MISMATCH');
    }
  });

  // Proves C2-21.
  it('still has to authenticate and to be JSON', async () => {
    await account.client.create(body(), 'order-13');
    const key = { 'Idempotency-Key': 'order-13' };

    assert.equal(
      (await account.client.send('POST', '/v1/tasks', body(), { ...key, Authorization: 'Bearer x' })).status,
      401,
    );
    assert.equal((await account.client.send('POST', '/v1/tasks', '{', key)).status, 400);
  });
});

describe('a rejected request', () => {
  // Proves C2-23.
  it('does not use its key up', async () => {
    const own = await served.newAccount({ microUsd: 0n });

    assert.equal((await own.client.create(body({ size: 1 }), 'order-14')).status, 400);
    assert.equal((await own.client.create(body(), 'order-14')).status, 402);
    assert.equal((await account.client.create(body(), 'order-14')).status, 200);
  });
});
