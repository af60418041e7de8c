/** Invalid input from operators: rejected with the reason, never a 500, and nothing is changed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/domain/ids.ts';
import { serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';

let admin: ServedAdmin;
let accountId: string;
before(async () => {
  admin = await serveAdmin();
  const { body } = await admin.ask<{ accountId: string }>('POST', '/admin/accounts', { name: 'studio', usd: '10' });
  ({ accountId } = body.data);
});
after(() => admin.close());

/** Bodies that are invalid for every route. */
const NO_OBJECTS = [null, [], 'text', 1, true, [{ name: 'x' }]];
const NAMES = ['', 'x'.repeat(101), 'two\nlines', 'nul\0', '\ud800', 1, null, {}, []];
const ACCOUNT_NAMES = [...NAMES, '  ', '\u00a0\u3000'];
const AMOUNTS = ['', ' 1', '1 ', '+1', '1e3', '.5', '1.', '0.0000001', '1'.repeat(13), 'NaN', '١', 1, null, {}, ['1']];
const REFERENCES = ['', 'with blank', 'x'.repeat(201), 'ümlaut', 'nul\0', 1, null];
const LIMITS: readonly unknown[] = [
  { createsPerMinute: 0 },
  { createsPerMinute: 1.5 },
  { createsPerMinute: '60' },
  { createsPerMinute: null },
  { readsPerMinute: -1 },
  { readsPerMinute: 1e300 },
  { runningTasks: -1 },
  { runningTasks: 1_000_001 },
  { queuedTasks: Number.MAX_SAFE_INTEGER },
  { persistentBytes: -1 },
  { persistentBytes: 1e16 },
  { textRequestsPerMinute: 0 },
  { textTokensPerMinute: 1_000_000_001 },
  { textStreams: -1 },
  { textStreamsCap: 1 },
  { runningCap: 1 },
  { constructor: 1 },
  [],
  null,
  1,
];

function wrongBodies(good: Record<string, unknown>, fields: Record<string, readonly unknown[]>): unknown[] {
  const strange = ['other', 'constructor', '__proto__'].map((name) => ({ ...good, [name]: 1 }));
  const wrong: unknown[] = [...NO_OBJECTS, ...strange];
  for (const [field, values] of Object.entries(fields)) {
    for (const value of values) wrong.push({ ...good, [field]: value });
  }
  return wrong;
}

async function assertRejected(method: string, path: string, bodies: readonly unknown[]): Promise<void> {
  for (const body of bodies) {
    const { status, body: answer } = await admin.ask(method, path, body);
    assert.equal(status, 400, `${method} ${path} ${JSON.stringify(body)}`);
    assert.equal(answer.error_code, 'INVALID_REQUEST');
    assert.match(answer.message, /^(invalid request: |additional properties not allowed: )/, JSON.stringify(body));
  }
}

async function countAccounts(): Promise<number | undefined> {
  const [row] = await admin.served.room.rows<{ accounts: number }>(
    'SELECT count(*)::integer AS accounts FROM accounts',
  );
  return row?.accounts;
}

describe('an invalid body', () => {
  it('creates no account', async () => {
    const before = await countAccounts();

    await assertRejected('POST', '/admin/accounts', [
      ...wrongBodies({ name: 'x' }, { name: ACCOUNT_NAMES, usd: [...AMOUNTS, '-1'], limits: LIMITS }),
      {},
      { usd: '1' },
    ]);

    assert.equal(await countAccounts(), before);
  });

  it('changes no account', async () => {
    const path = `/admin/accounts/${accountId}`;
    const before = (await admin.ask('GET', path)).body;

    await assertRejected('PATCH', path, [...wrongBodies({}, { name: ACCOUNT_NAMES, limits: LIMITS }), {}]);
    // The valid half of a request is not executed without the other.
    await assertRejected('PATCH', path, [{ name: 'new', limits: { runningTasks: -1 } }]);

    assert.deepEqual((await admin.ask('GET', path)).body, before);
  });

  it('charges nothing', async () => {
    const path = `/admin/accounts/${accountId}`;
    const before = (await admin.ask('GET', path)).body;
    const good = { usd: '1' };

    const topUps = wrongBodies(good, { usd: [...AMOUNTS, '-1', '0', '0.000000'], reference: REFERENCES });
    await assertRejected('POST', `${path}/top-up`, [...topUps, {}]);
    const adjustments = wrongBodies(good, {
      usd: [...AMOUNTS, '--1', '- 1', '0', '-0', '-0.0'],
      reference: REFERENCES,
      reason: ['', 'x'.repeat(501), 'two\nlines', 1, null],
    });
    await assertRejected('POST', `${path}/adjust`, [...adjustments, {}]);

    assert.deepEqual((await admin.ask('GET', path)).body, before);
  });

  it('suspends no account', async () => {
    const path = `/admin/accounts/${accountId}`;
    const before = (await admin.ask('GET', path)).body;

    const reasons = [
      '',
      '  ',
      'x'.repeat(501),
      'two\nlines',
      'tab\t',
      'nul\0',
      '\u2028',
      '\ud800',
      1,
      null,
      {},
      ['why'],
    ];
    await assertRejected('POST', `${path}/suspend`, wrongBodies({}, { reason: reasons }));

    assert.deepEqual((await admin.ask('GET', path)).body, before);
  });

  it('creates no key', async () => {
    const path = `/admin/accounts/${accountId}/keys`;
    const good = { name: 'x', scopes: ['tasks:read'] };

    await assertRejected('POST', path, [
      ...wrongBodies(good, {
        name: NAMES,
        scopes: [[], ['all'], ['tasks:read', 'tasks:read'], 'tasks:read', null, [1]],
        models: [[], ['no/such-model'], [''], 'acme/images', null],
        expiresAt: [1, -1, 1.5, '1', null, 1e300],
        spendCaps: [{}, { day: '-1' }, { day: 1 }, { week: '1' }, [], null],
      }),
      {},
    ]);

    const { body } = await admin.ask<{ keys: unknown[] }>('GET', path);
    assert.deepEqual(body.data.keys, []);
  });
});

describe('an unknown id', () => {
  const ids = [
    'acc_none',
    newId('acc'),
    '%00',
    'a%2Fb',
    '..%2F..',
    '%F0%9F%98%80',
    'x'.repeat(300),
    '__proto__',
    "';--",
  ];

  it('is 404 on every route, with the same body', async () => {
    for (const id of ids) {
      const requests: [string, string, unknown?][] = [
        ['GET', `/admin/accounts/${id}`],
        ['PATCH', `/admin/accounts/${id}`, { name: 'x' }],
        ['PATCH', `/admin/accounts/${id}`, { limits: { runningTasks: 1 } }],
        ['POST', `/admin/accounts/${id}/top-up`, { usd: '1' }],
        ['POST', `/admin/accounts/${id}/adjust`, { usd: '1' }],
        ['POST', `/admin/accounts/${id}/suspend`],
        ['POST', `/admin/accounts/${id}/resume`],
        ['GET', `/admin/accounts/${id}/keys`],
        ['POST', `/admin/accounts/${id}/keys`, { name: 'x', scopes: ['tasks:read'] }],
        ['GET', `/admin/accounts/${id}/ledger`],
        ['GET', `/admin/accounts/${id}/usage`],
        ['POST', `/admin/keys/${id}/rotate`],
        ['DELETE', `/admin/keys/${id}`],
      ];
      for (const [method, path, body] of requests) {
        const answer = await admin.ask(method, path, body);
        assert.deepEqual(
          answer.body,
          { code: 404, message: 'not found', data: null, error_code: 'NOT_FOUND' },
          `${method} ${path}`,
        );
      }
    }
  });
});

describe('an invalid query', () => {
  // The walk (admin-walk.test.ts) sends unknown parameters.
  it('is 400, and a size out of range is clamped', async () => {
    for (const path of [
      '/admin/accounts?size=x',
      '/admin/accounts?size=1.5',
      '/admin/accounts?size=1&size=2',
      '/admin/accounts?cursor=',
      '/admin/accounts?cursor=%00',
      '/admin/repairs?size=x',
      '/admin/repairs?kind=broken',
      '/admin/repairs?kind=',
      '/admin/repairs?cursor=x',
      `/admin/repairs?cursor=${Buffer.from('1763700000000000 acc_none').toString('base64url')}`,
      `/admin/repairs?cursor=${Buffer.from(`1763700000000000 ${'9'.repeat(19)}`).toString('base64url')}`,
      `/admin/accounts/${accountId}/ledger?kind=gift`,
      `/admin/accounts/${accountId}/ledger?cursor=x`,
      `/admin/accounts/${accountId}/usage?groupBy=week`,
      `/admin/accounts/${accountId}/usage?from=yesterday`,
      '/admin/margins?groupBy=week',
      '/admin/margins?format=xml',
    ]) {
      const { status, body } = await admin.ask('GET', path);
      assert.equal(status, 400, path);
      assert.equal(body.error_code, 'INVALID_REQUEST');
    }
    const days = 'from=2026-11-02&to=2026-11-01';
    for (const [path, from, to] of [
      [`/admin/accounts/${accountId}/usage?${days}`, '2026-11-02', '2026-11-01'],
      [`/admin/costs?${days}`, '2026-11-02', '2026-11-01'],
      [`/admin/margins?${days}`, '2026-11-02', '2026-11-01'],
      [`/admin/accounts/${accountId}/ledger?from=2&to=1`, '2', '1'],
    ] as const) {
      const { status, body } = await admin.ask('GET', path);
      const message = `invalid request: from: maximum: got ${from}, want ${to}, the value of to`;
      assert.deepEqual([status, body.message], [400, message], path);
    }
    for (const [size, used] of [
      ['0', 1],
      ['-5', 1],
      ['1000', 100],
    ] as const) {
      const { body } = await admin.ask<{ size: number }>('GET', `/admin/accounts?size=${size}`);
      assert.equal(body.data.size, used);
    }
    const { body } = await admin.ask<{ accounts: unknown[] }>('GET', '/admin/accounts?cursor=acc_none');
    assert.deepEqual(body.data.accounts, []);
  });
});
