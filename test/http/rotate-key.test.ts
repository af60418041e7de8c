/** `POST /v1/account/keys/{keyId}/rotate`, and the spend caps that continue to count through it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ApiClient } from '../support/api-client.ts';
import { PRICE, body } from '../tasks/task-room.ts';
import { KEYS, ask, list, openKeyRoom, works } from './keys-client.ts';

const { served, account, clock, make } = await openKeyRoom();
after(() => served.close());

describe('rotating a key', () => {
  // Proves C7-24.
  it('keeps both valid during the overlap, and only the new one after it', async () => {
    const old = await make(account.client, { models: ['acme/images'] });

    const made = await ask(account.client, 'POST', `${KEYS}/${old.id}/rotate`, { overlapSeconds: 120 });

    const fresh = new ApiClient([served.url], made.data.key);
    assert.deepEqual(
      [made.data.name, made.data.scopes, made.data.models, made.data.expiresAt],
      [old.name, old.scopes, old.models, 0],
    );
    const shown = (await list(account.client)).find(({ id }) => id === old.id);
    assert.deepEqual([shown?.replacedBy, shown?.expiresAt], [made.data.id, Math.floor((clock.nowMs + 120_000) / 1000)]);
    clock.nowMs += 119_999;
    assert.deepEqual([await works(old.client), await works(fresh)], [true, true]);
    clock.nowMs += 1;
    assert.deepEqual([await works(old.client), await works(fresh)], [false, true]);
  });

  it('takes a day when no overlap is given, and expires the old one immediately with 0', async () => {
    const [one, other] = [await make(account.client), await make(account.client)];
    assert.ok(await works(other.client));

    await ask(account.client, 'POST', `${KEYS}/${one.id}/rotate`);
    await ask(account.client, 'POST', `${KEYS}/${other.id}/rotate`, { overlapSeconds: 0 });

    assert.ok(!(await works(other.client)));
    clock.nowMs += 86_399_999;
    assert.ok(await works(one.client));
    clock.nowMs += 1;
    assert.ok(!(await works(one.client)));
  });

  it('of one key by several concurrent requests creates exactly one; the others are rejected', async () => {
    const old = await make(account.client);

    const answers = await Promise.all(
      Array.from({ length: 4 }, () => ask(account.client, 'POST', `${KEYS}/${old.id}/rotate`)),
    );

    const made = answers.filter(({ status }) => status === 200);
    assert.equal(made.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST']);
      assert.equal(answer.message, `the key ${old.id} was replaced already, by ${made[0]?.data.id}`);
    }
  });

  it('keeps counting toward the caps that were already used', async () => {
    const owner = await served.newAccount();
    const old = await make(owner.client, { spendCaps: { total: '0.025' } });
    assert.equal((await old.client.create(body())).status, 200);

    const made = await ask(owner.client, 'POST', `${KEYS}/${old.id}/rotate`);

    const fresh = new ApiClient([served.url], made.data.key);
    assert.deepEqual(
      [made.data.spendCaps, made.data.spent?.total, made.data.cappedBy],
      [{ day: null, total: '0.025' }, '0.01', [old.id]],
    );
    assert.equal((await fresh.create(body())).status, 200);
    for (const client of [fresh, old.client]) {
      const answer = await client.create(body());
      assert.deepEqual([answer.status, answer.body.error_code], [402, 'INSUFFICIENT_BALANCE']);
    }
    assert.equal(PRICE, 10_000n);
  });

  it('is rejected for an invalid overlap, and for a revoked key', async () => {
    const old = await make(account.client);
    for (const [overlapSeconds, message] of [
      [-1, /^invalid request: overlapSeconds: minimum: got -1, want 0$/],
      [604_801, /^invalid request: overlapSeconds: maximum: got 604801, want 604800$/],
      ['60', /^invalid request: overlapSeconds: type: got string, want integer$/],
      [null, /^invalid request: overlapSeconds: type: got null, want integer$/],
      [0.5, /^invalid request: overlapSeconds: type: got number, want integer$/],
    ] as const) {
      const answer = await ask(account.client, 'POST', `${KEYS}/${old.id}/rotate`, { overlapSeconds });
      assert.equal(answer.status, 400);
      assert.match(answer.message, message);
    }
    await ask(account.client, 'DELETE', `${KEYS}/${old.id}`);

    const answer = await ask(account.client, 'POST', `${KEYS}/${old.id}/rotate`);

    assert.deepEqual([answer.status, answer.message], [400, `the key ${old.id} was revoked`]);
  });
});

describe('spend caps', () => {
  it('apply to every key that was created with a capped one, and count their holds together', async () => {
    const owner = await served.newAccount();
    const above = await make(owner.client, {
      scopes: ['keys:manage', 'tasks:write', 'tasks:read'],
      spendCaps: { total: '0.02' },
    });
    const below = await make(above.client);
    assert.equal((await below.client.create(body())).status, 200);
    assert.equal((await above.client.create(body())).status, 200);

    const answers = [await below.client.create(body()), await above.client.create(body())];

    for (const { status, body: envelope } of answers) {
      assert.deepEqual([status, envelope.error_code], [402, 'INSUFFICIENT_BALANCE']);
    }
    const shown = await list(owner.client);
    assert.equal(shown.find(({ id }) => id === above.id)?.spent?.total, '0.02');
    assert.equal(shown.find(({ id }) => id === below.id)?.spent, null);
  });

  it('are nested at most ten deep, and an eleventh key is still bound', async () => {
    const owner = await served.newAccount();
    const rights = { scopes: ['keys:manage'], spendCaps: { day: '1' } };
    let last = await make(owner.client, rights);
    for (let depth = 1; depth < 10; depth++) last = await make(last.client, rights);

    const answer = await ask(last.client, 'POST', KEYS, { name: 'x', ...rights });

    assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST']);
    assert.equal((await make(last.client, { scopes: ['keys:manage'] })).cappedBy.length, 10);
  });
});
