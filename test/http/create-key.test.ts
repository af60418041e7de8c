/** `POST /v1/account/keys`: what it creates, and what it rejects. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { KEYS, START, ask, list, openKeyRoom, works } from './keys-client.ts';

const { served, account, clock, make } = await openKeyRoom();
after(() => served.close());

describe('creating a key', () => {
  // Proves C7-1, C7-6.
  it('returns it once; it works immediately, and is listed without its secret', async () => {
    const owner = await served.newAccount();
    const expiresAt = START / 1000 + 3_600;

    const made = await make(owner.client, {
      name: 'Büro 🦊',
      models: ['acme/images'],
      expiresAt,
      spendCaps: { day: '0.5', total: '12.000001' },
    });

    const { client, key, ...shown } = made;
    assert.match(key, /^dk_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
    assert.deepEqual(shown, {
      id: key.split('_')[2],
      name: 'Büro 🦊',
      scopes: ['tasks:read', 'tasks:write'],
      models: ['acme/images'],
      expiresAt,
      spendCaps: { day: '0.5', total: '12.000001' },
      spent: { day: '0', total: '0' },
      cappedBy: [made.id],
      created: shown.created,
      lastUsed: 0,
      revoked: 0,
      replacedBy: null,
    });
    assert.ok(await works(client));
    assert.deepEqual(
      (await list(owner.client)).find(({ id }) => id === made.id),
      shown,
    );
  });

  it('with the fewest fields creates one for every model, without expiry and caps', async () => {
    const { models, expiresAt, spendCaps, spent, cappedBy } = await make(account.client, { expiresAt: 0 });

    assert.deepEqual([models, expiresAt, spendCaps, spent, cappedBy], [null, 0, null, null, []]);
  });

  // Operators create keys by the same schema, whose every field is in admin-bad-input.test.ts.
  const good = { name: 'x', scopes: ['tasks:read'] };
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{ name: 'x' }, /^invalid request: missing property: scopes$/],
    [{ ...good, scopes: ['Tasks:read'] }, /^invalid request: scopes\.0: enum: got "Tasks:read", want one of /],
    [{ ...good, scopes: ['__proto__'] }, /^invalid request: scopes\.0: enum: /],
    [{ ...good, models: ['acme/images', 'acme/nothing'] }, /^invalid request: models\.1: got "acme\/nothing", want /],
    [{ ...good, models: ['acme/routed@fast'] }, /^invalid request: models\.0: got "acme\/routed@fast", want /],
    [{ ...good, models: ['Acme/images'] }, /^invalid request: models\.0: /],
    [{ ...good, models: ['toString'] }, /^invalid request: models\.0: /],
    [
      { ...good, models: Array.from({ length: 101 }, (_, n) => `m${n}`) },
      /^invalid request: models: maxItems: got 101/,
    ],
    [{ ...good, expiresAt: START / 1000 }, /^invalid request: expiresAt: got 1803902400, want a time in the future$/],
    [{ ...good, spendCaps: { day: '1e3' } }, /^invalid request: spendCaps\.day: pattern: /],
    [{ ...good, spendCaps: { total: '0.0000001' } }, /^invalid request: spendCaps\.total: pattern: /],
    [{ ...good, spendCaps: { total: '9'.repeat(13) } }, /^invalid request: spendCaps\.total: pattern: /],
    [{ ...good, spendCaps: { week: '1' } }, /^additional properties not allowed: spendCaps\.week$/],
    [{ ...good, id: 'mine' }, /^additional properties not allowed: id$/],
    ['{"name":"x","scopes":["tasks:read"],"__proto__":{}}', /^additional properties not allowed: __proto__$/],
  ];
  // Proves C7-6.
  it('is rejected with the invalid field, and creates nothing', async () => {
    const owner = await served.newAccount();
    for (const [sent, message] of bad) {
      const answer = await ask(owner.client, 'POST', KEYS, sent);
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST'], JSON.stringify(sent));
      assert.match(answer.message, message);
    }
    assert.equal((await list(owner.client)).length, 1);
  });

  it('is limited to 100 active keys under concurrency; replaced, expired and revoked ones do not count', async () => {
    const owner = await served.newAccount();
    const ended = await make(owner.client, { expiresAt: clock.nowMs / 1000 + 1 });
    clock.nowMs += 1_000;
    const [revoked, replaced] = [await make(owner.client), await make(owner.client)];
    await ask(owner.client, 'DELETE', `${KEYS}/${revoked.id}`);
    await ask(owner.client, 'POST', `${KEYS}/${replaced.id}/rotate`);
    assert.ok(!(await works(ended.client)));

    const sent = { name: 'x', scopes: ['tasks:read'] };
    const answers = await Promise.all(Array.from({ length: 104 }, () => ask(owner.client, 'POST', KEYS, sent)));

    // Two existed already: the first one, and the replacement.
    assert.equal(answers.filter(({ status }) => status === 200).length, 98);
    const rejected = answers.find(({ status }) => status !== 200);
    assert.deepEqual([rejected?.status, rejected?.code], [400, 'INVALID_REQUEST']);
    assert.match(rejected?.message ?? '', /has 100 keys already/);
    // Replacing one is still possible.
    assert.equal((await ask(owner.client, 'POST', `${KEYS}/${answers[0]?.data.id}/rotate`)).status, 200);
  });
});
