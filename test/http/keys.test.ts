/**
 * Creating keys with a key, never with more rights than that key has itself; revoking and rotating them, and the spend
 * caps that continue to count through a rotation.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ApiClient } from '../support/api-client.ts';
import { PRICE, body } from '../tasks/task-room.ts';
import { raw } from './raw-request.ts';
import { KEYS, ask, list, openKeyRoom, works } from './keys-client.ts';

const { served, account, clock, make } = await openKeyRoom();
after(() => served.close());

describe('a key', () => {
  // Proves C7-9.
  it('creates none with more scopes, models, caps or lifetime than its own', async () => {
    const owner = await served.newAccount();
    const own = await make(owner.client, {
      scopes: ['keys:manage', 'tasks:write'],
      models: ['acme/images'],
      expiresAt: clock.nowMs / 1000 + 100,
      spendCaps: { day: '1', total: '2' },
    });
    const within = {
      name: 'x',
      scopes: ['tasks:write'],
      models: ['acme/images'],
      expiresAt: clock.nowMs / 1000 + 100,
      spendCaps: { day: '1', total: '2' },
    };

    for (const [change, message] of [
      [{ scopes: ['tasks:write', 'billing:read'] }, /lacks the scope billing:read/],
      [{ models: ['acme/images', 'acme/free'] }, /may not use the model acme\/free/],
      [{ models: undefined }, /may not use every model/],
      [{ expiresAt: clock.nowMs / 1000 + 101 }, /cannot grant a later `expiresAt` or none/],
      [{ expiresAt: 0 }, /cannot grant a later `expiresAt` or none/],
      [{ expiresAt: undefined }, /cannot grant a later `expiresAt` or none/],
      [{ spendCaps: { day: '1.000001' } }, /may spend 1 USD a day/],
      [{ spendCaps: { total: '2.000001' } }, /may spend 2 USD in total/],
    ] as const) {
      const answer = await ask(own.client, 'POST', KEYS, { ...within, ...change });
      assert.deepEqual([answer.status, answer.code], [403, 'FORBIDDEN'], JSON.stringify(change));
      assert.match(answer.message, message);
    }
    assert.deepEqual((await make(own.client, within)).cappedBy.length, 2);
    const withoutCaps = await make(own.client, { ...within, spendCaps: undefined });
    assert.deepEqual([withoutCaps.spendCaps, withoutCaps.cappedBy], [null, [own.id]]);
  });

  // Proves C7-9.
  it('changes none with more scopes than its own, but always itself', async () => {
    const owner = await served.newAccount();
    const limits = { models: ['acme/images'], expiresAt: clock.nowMs / 1000 + 1_000, spendCaps: { day: '1' } };
    const scopes = ['keys:manage', 'tasks:read'];
    const more = [
      await make(owner.client, { scopes: ['tasks:write'], ...limits }),
      await make(owner.client, { scopes, ...limits, models: undefined }),
      await make(owner.client, { scopes, ...limits, models: ['acme/free'] }),
      await make(owner.client, { scopes, ...limits, expiresAt: undefined }),
      // It does not count against the caps of the key that creates it.
      await make(owner.client, { scopes, ...limits }),
    ];
    const own = await make(owner.client, { scopes, ...limits });
    const below = await make(own.client, { scopes, ...limits });

    for (const { id, client } of more) {
      const answers = [
        await ask(own.client, 'DELETE', `${KEYS}/${id}`),
        await ask(own.client, 'POST', `${KEYS}/${id}/rotate`),
      ];
      for (const answer of answers) assert.deepEqual([answer.status, answer.code], [403, 'FORBIDDEN']);
      assert.ok(await works(client));
    }
    assert.equal((await ask(below.client, 'DELETE', `${KEYS}/${own.id}`)).status, 403);
    assert.equal((await ask(own.client, 'DELETE', `${KEYS}/${below.id}`)).status, 200);
    const itself = await ask(own.client, 'POST', `${KEYS}/${own.id}/rotate`, { overlapSeconds: 5 });
    assert.deepEqual([itself.status, itself.data.cappedBy], [200, [own.id]]);
    // Its replacement now expires later than it does.
    assert.equal((await ask(own.client, 'DELETE', `${KEYS}/${itself.data.id}`)).status, 403);
    assert.equal((await ask(own.client, 'DELETE', `${KEYS}/${own.id}`)).status, 200);
    assert.ok(!(await works(own.client)));
  });

  // Proves C7-23.
  it('of another account is reported like an unknown one', async () => {
    const [owner, stranger] = [await served.newAccount(), await served.newAccount()];
    const made = await make(owner.client);

    for (const id of [made.id, 'unknownkey', 'x', '__proto__', 'x'.repeat(500), '%00', 'a%2Fb', '%F0%9F%A6%8A']) {
      const answers = [
        await raw(served.url, 'DELETE', `${KEYS}/${id}`, { Authorization: `Bearer ${stranger.client.key}` }),
        await raw(served.url, 'POST', `${KEYS}/${id}/rotate`, { Authorization: `Bearer ${stranger.client.key}` }),
      ];
      for (const { status, text } of answers) {
        assert.deepEqual(
          [status, JSON.parse(text)],
          [404, { code: 404, message: 'not found', data: null, error_code: 'NOT_FOUND' }],
        );
      }
    }
    assert.ok(await works(made.client));
    assert.ok((await list(stranger.client)).every(({ id }) => id !== made.id));
  });

  // Proves C7-6.
  it('that expires is rejected from that second on', async () => {
    const made = await make(account.client, { expiresAt: clock.nowMs / 1000 + 60 });

    clock.nowMs += 59_999;
    assert.ok(await works(made.client));
    clock.nowMs += 1;

    assert.ok(!(await works(made.client)));
  });

  it('shows when it was last used, once that was recorded', async () => {
    const owner = await served.newAccount();
    const made = await make(owner.client);
    assert.equal(made.lastUsed, 0);
    await works(made.client);

    await served.http.keyUse.flush();

    const shown = (await list(owner.client)).find(({ id }) => id === made.id);
    assert.equal(shown?.lastUsed, Math.floor(clock.nowMs / 1000));
  });

  // Proves C7-6.
  it('can use its own models only, each with all of its routes', async () => {
    const made = await make(account.client, { models: ['acme/routed'] });

    assert.equal((await made.client.create(body({ model: 'acme/routed', route: 'fast' }))).status, 200);
    assert.equal((await made.client.create(body({ model: 'acme/routed@fast' }))).status, 200);
    const other = await made.client.create(body());
    assert.deepEqual([other.status, other.body.error_code], [403, 'FORBIDDEN']);
  });
});

describe('revoking a key', () => {
  // Proves S5.2-1, C7-8, C7-23.
  it('applies from the next request on, permanently, and returns its time', async () => {
    const made = await make(account.client);
    assert.ok(await works(made.client));

    const first = await ask(account.client, 'DELETE', `${KEYS}/${made.id}`);

    assert.ok(!(await works(made.client)));
    assert.ok(first.data.revoked > 0);
    assert.ok(!('key' in first.data));
    assert.deepEqual((await ask(account.client, 'DELETE', `${KEYS}/${made.id}`)).data, first.data);
  });

  it('does not revoke the keys that were created with it', async () => {
    const made = await make(account.client, { scopes: ['keys:manage', 'tasks:read'] });
    const below = await make(made.client, { scopes: ['tasks:read'] });

    await ask(account.client, 'DELETE', `${KEYS}/${made.id}`);

    assert.ok(await works(below.client));
  });
});

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
