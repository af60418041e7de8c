/** Creating keys with a key, revoking them, and never with more rights than that key has itself. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { body } from '../tasks/task-room.ts';
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

  it('without the scope keys:manage sees and changes no key, not even itself', async () => {
    const other = await make(account.client, { scopes: SCOPES.filter((scope) => scope !== 'keys:manage') });

    for (const [method, path] of [
      ['GET', KEYS],
      ['POST', KEYS],
      ['DELETE', `${KEYS}/${other.id}`],
      ['POST', `${KEYS}/${other.id}/rotate`],
    ] as const) {
      const answer = await ask(other.client, method, path, method === 'POST' ? {} : undefined);
      assert.deepEqual([answer.status, answer.message], [403, 'this key lacks the scope keys:manage']);
    }
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
