/** Actions of operators on the admin listener, and what the accounts' owners see of them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminRoutes, publicRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { ApiClient } from '../support/api-client.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { PRICE, body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';

interface Account {
  readonly accountId: string;
  readonly name: string;
  readonly status: string;
  readonly suspensionReason?: string;
  readonly organisationId: string;
  readonly walletId: string;
  readonly available: string;
  readonly held: string;
  readonly limits: Readonly<Record<string, number>>;
  /** In the response to a create. */
  readonly webhookKey?: { readonly secret: string; readonly whsec: string };
}

const DEFAULTS = {
  createsPerMinute: 60,
  readsPerMinute: 1_200,
  runningTasks: 10,
  queuedTasks: 1_000,
  persistentBytes: 100_000_000_000,
  textRequestsPerMinute: 600,
  textTokensPerMinute: 1_000_000,
  textStreams: 100,
};

/** Both listeners serve the dashboard, with pages of its own at each (test/web/admin.test.ts). */
const PAGES: readonly string[] = ['/', '/assets/{fileName...}'];

let clock = Date.now();
let admin: ServedAdmin;
before(async () => {
  admin = await serveAdmin({ now: () => clock });
});
after(() => admin.close());

async function newAccount(changes: Record<string, unknown> = {}): Promise<Account> {
  const { status, body: made } = await admin.ask<Account>('POST', '/admin/accounts', { name: 'studio', ...changes });
  assert.equal(status, 200, made.message);
  return made.data;
}

async function newKey(accountId: string, changes: Record<string, unknown> = {}): Promise<{ id: string; key: string }> {
  const path = `/admin/accounts/${accountId}/keys`;
  const { status, body: made } = await admin.ask<{ id: string; key: string }>('POST', path, {
    name: 'first',
    scopes: ['tasks:read', 'tasks:write', 'billing:read'],
    ...changes,
  });
  assert.equal(status, 200, made.message);
  return made.data;
}

function clientOf(key: string): ApiClient {
  return new ApiClient([admin.served.url], key);
}

describe('the admin listener', () => {
  // Proves C0-8.
  it('serves only requests with the token', async () => {
    const paths = ['/admin/accounts', '/admin/queues', '/admin/ledger/verify'];
    const { key } = await newKey((await newAccount()).accountId);
    const wrong = [
      {},
      { Authorization: '' },
      { Authorization: 'Bearer' },
      { Authorization: `Basic ${ADMIN_TOKEN}` },
      { Authorization: ADMIN_TOKEN },
      { Authorization: `Bearer ${ADMIN_TOKEN}x` },
      { Authorization: `Bearer ${ADMIN_TOKEN.slice(0, -1)}` },
      { Authorization: `Bearer ${ADMIN_TOKEN.toUpperCase()}` },
      { Authorization: `Bearer ${key}` },
      { Authorization: [`Bearer ${ADMIN_TOKEN}`, `Bearer ${ADMIN_TOKEN}`] },
    ];
    for (const path of paths) {
      assert.equal((await admin.ask('GET', path)).status, 200, path);
      for (const headers of wrong) {
        const answer = await raw(admin.url, 'GET', path, headers);
        assert.deepEqual(errorOf(answer), { status: 401, code: 'UNAUTHORIZED' }, JSON.stringify(headers));
        assert.equal(answer.headers['www-authenticate'], 'Bearer');
        assert.ok(!answer.text.includes(ADMIN_TOKEN));
      }
    }
  });

  // The walk (admin-walk.test.ts) has what the other routes answer without it.
  it('requires the token on every route except the sign-in pages', () => {
    const open = adminRoutes(admin.served.http).filter(({ access }) => access !== 'operator');
    assert.deepEqual(
      open.map(({ path }) => path),
      PAGES,
    );
  });

  it('limits attempts without the token from one address, and still serves the operator there', async () => {
    const limited = await serveAdmin({ now: () => clock });
    try {
      const answers = [];
      for (let attempt = 0; attempt < 70; attempt++) answers.push(await raw(limited.url, 'GET', '/admin/accounts'));

      assert.equal(answers.filter(({ status }) => status === 401).length, 60);
      const rejected = answers.at(-1);
      assert.ok(rejected !== undefined);
      assert.deepEqual(errorOf(rejected), { status: 429, code: 'RATE_LIMITED' });
      assert.equal(rejected.headers['retry-after'], '1');
      assert.equal((await limited.ask('GET', '/admin/accounts')).status, 200);
    } finally {
      await limited.close();
    }
  });

  // Proves C0-8.
  it('serves no public route, and the public listener no admin route', async () => {
    const isApi = ({ path }: Route): boolean => !PAGES.includes(path);
    for (const { path, method } of adminRoutes(admin.served.http).filter(isApi)) {
      const answer = await raw(admin.served.url, method, path, { Authorization: `Bearer ${ADMIN_TOKEN}` });
      assert.equal(answer.status, 404, path);
    }
    for (const { path, method } of publicRoutes(admin.served.http).filter(isApi)) {
      const answer = await raw(admin.url, method, path, { Authorization: `Bearer ${ADMIN_TOKEN}` });
      assert.equal(answer.status, 404, path);
    }
  });

  it('requires HTTPS by a trusted proxy when it listens beyond loopback', async () => {
    const strict = await serveAdmin({ environment: { ADMIN_HOST: '0.0.0.0', TRUSTED_PROXIES: '127.0.0.0/8' } });
    try {
      const url = strict.url.replace('0.0.0.0', '127.0.0.1');
      const authorization = { Authorization: `Bearer ${ADMIN_TOKEN}` };
      assert.equal((await raw(url, 'GET', '/admin/accounts', authorization)).status, 400);
      const forwarded = { ...authorization, 'X-Forwarded-Proto': 'https' };
      assert.equal((await raw(url, 'GET', '/admin/accounts', forwarded)).status, 200);
    } finally {
      await strict.close();
    }
  });

  it('responds in the same envelope, with the same errors', async () => {
    const answer = await raw(admin.url, 'PUT', '/admin/accounts', { Authorization: `Bearer ${ADMIN_TOKEN}` });
    assert.deepEqual(errorOf(answer), { status: 405, code: 'METHOD_NOT_ALLOWED' });
    assert.deepEqual(String(answer.headers.allow).split(', ').toSorted(), ['GET', 'HEAD', 'OPTIONS', 'POST']);
    const unknown = await admin.ask('GET', '/admin/nothing');
    assert.deepEqual(unknown.body, { code: 404, message: 'not found', data: null, error_code: 'NOT_FOUND' });
    assert.match(unknown.headers.get('X-Request-Id') ?? '', /^req_/);
  });
});

describe('accounts', () => {
  it('are created with the limits of the contract, or others, and money', async () => {
    const plain = await newAccount();
    assert.deepEqual(plain.limits, DEFAULTS);
    assert.equal(plain.available, '0');

    const limits = {
      createsPerMinute: 5,
      readsPerMinute: 6,
      runningTasks: 0,
      queuedTasks: 8,
      persistentBytes: 9,
      textRequestsPerMinute: 10,
      textTokensPerMinute: 11,
      textStreams: 0,
    };
    const rich = await newAccount({ usd: '25.000001', limits });
    assert.deepEqual(rich.limits, limits);
    assert.equal(rich.available, '25.000001');
    const { webhookKey, ...read } = rich;
    assert.ok(webhookKey !== undefined);
    assert.deepEqual((await admin.ask('GET', `/admin/accounts/${rich.accountId}`)).body.data, read);
  });

  it('share the wallet of the organisation that they are created in', async () => {
    const first = await newAccount({ usd: '3' });
    const project = await newAccount({ usd: '2', organisationId: first.accountId });

    const read = async (accountId: string): Promise<Account> =>
      (await admin.ask<Account>('GET', `/admin/accounts/${accountId}`)).body.data;
    const [own, shared] = [await read(first.accountId), await read(project.accountId)];
    assert.deepEqual(
      [own, shared].map(({ organisationId, walletId, available }) => [organisationId, walletId, available]),
      Array.from({ length: 2 }, () => [first.accountId, first.accountId, '5']),
    );
    const { key } = await newKey(project.accountId);
    const { body: seen } = await clientOf(key).send('GET', '/v1/account');
    const { accountId, available } = seen.data as unknown as Account;
    assert.deepEqual([accountId, available], [project.accountId, '5']);
    assert.ok(!('walletId' in seen.data), 'the owner of an account is shown no ids of others');
  });

  it('are not created in an organisation that does not exist, or with an id of another form', async () => {
    const project = await newAccount({ organisationId: (await newAccount()).accountId });
    for (const organisationId of ['acc_none', project.accountId, '', 'a b', 'x'.repeat(65), 7, null, [], {}]) {
      const { status, body: answer } = await admin.ask('POST', '/admin/accounts', { name: 'studio', organisationId });
      assert.equal(status, 400, JSON.stringify(organisationId));
      assert.match(answer.message, /organisation/);
    }
  });

  it('have a signing secret from the beginning, which the create returns', async () => {
    const { accountId, webhookKey } = await newAccount();
    const { key } = await newKey(accountId, { scopes: ['webhooks:manage'] });

    const { body } = await clientOf(key).send('GET', '/v1/account/webhook-key');

    const { secret, whsec } = body.data as unknown as Record<string, unknown>;
    assert.deepEqual({ secret, whsec }, webhookKey);
  });

  it('change their name and limits; omitted fields stay unchanged', async () => {
    const { accountId } = await newAccount();
    const path = `/admin/accounts/${accountId}`;

    const renamed = await admin.ask<Account>('PATCH', path, { name: 'née Ωmega 🎬' });
    assert.equal(renamed.body.data.name, 'née Ωmega 🎬');
    assert.deepEqual(renamed.body.data.limits, DEFAULTS);
    const limited = await admin.ask<Account>('PATCH', path, { limits: { runningTasks: 3, textStreams: 4 } });
    assert.deepEqual(limited.body.data.limits, { ...DEFAULTS, runningTasks: 3, textStreams: 4 });
    assert.equal(limited.body.data.name, 'née Ωmega 🎬');
  });

  it('are listed a page at a time, each once, oldest first', async () => {
    for (let index = 0; index < 5; index++) await newAccount({ name: `listed ${index}` });
    const seen: string[] = [];
    let cursor = '';
    do {
      const query = cursor === '' ? '?size=3' : `?size=3&cursor=${cursor}`;
      const { body: page } = await admin.ask<{ accounts: Account[]; size: number; nextCursor?: string }>(
        'GET',
        `/admin/accounts${query}`,
      );
      assert.equal(page.data.size, 3);
      assert.ok(page.data.accounts.length <= 3);
      seen.push(...page.data.accounts.map(({ accountId }) => accountId));
      cursor = page.data.nextCursor ?? '';
    } while (cursor !== '');

    const rows = await admin.served.room.rows<{ id: string }>('SELECT id FROM accounts ORDER BY created_at, id');
    assert.deepEqual(
      seen,
      rows.map(({ id }) => id),
    );
  });

  it('are suspended, for a reason that operators read and the account does not, until they are resumed', async () => {
    const { accountId } = await newAccount();
    const client = clientOf((await newKey(accountId)).key);
    const path = `/admin/accounts/${accountId}`;
    const reasonOf = async () => (await admin.ask<Account>('GET', path)).body.data.suspensionReason;
    assert.equal(await reasonOf(), undefined);
    await waitForStatus(client, 200);

    const { body: suspended } = await admin.ask<Account>('POST', `${path}/suspend`, {
      reason: '  charged back twice ',
    });

    assert.deepEqual([suspended.data.status, suspended.data.suspensionReason], ['suspended', 'charged back twice']);
    assert.equal((await admin.ask<Account>('POST', `${path}/suspend`)).body.data.status, 'suspended');
    assert.equal(await reasonOf(), 'charged back twice', 'suspending it again without a word keeps it');
    const { body: page } = await admin.ask<{ accounts: Account[] }>('GET', `/admin/accounts?search=${accountId}`);
    assert.equal(page.data.accounts[0]?.suspensionReason, 'charged back twice');
    await waitForStatus(client, 403);
    const rejected = await client.send('GET', '/v1/account');
    assert.doesNotMatch(JSON.stringify(rejected.body), /charged|twice|reason/i);
    await admin.ask('POST', `${path}/suspend`, { reason: 'and once more' });
    assert.equal(await reasonOf(), 'and once more');

    const { data: resumed } = (await admin.ask<Account>('POST', `${path}/resume`)).body;
    assert.deepEqual([resumed.status, 'suspensionReason' in resumed], ['active', false]);
    await waitForStatus(client, 200);
    assert.ok(!JSON.stringify((await client.send('GET', '/v1/account')).body).includes('suspensionReason'));
    await admin.ask('POST', `${path}/suspend`);
    assert.equal(await reasonOf(), undefined, 'an old reason does not come back');
  });
});

/** A key's rights are cached for a second. */
function waitForStatus(client: ApiClient, status: number): Promise<void> {
  return waitFor(`the answer is ${status}`, async () => (await client.send('GET', '/v1/account')).status === status);
}

describe('money', () => {
  interface BookedEntry {
    readonly reference: string;
    readonly amount: string;
    readonly account: Account;
  }

  it('is added once under a reference, however often and at the same moment', async () => {
    const { accountId } = await newAccount();
    const path = `/admin/accounts/${accountId}/top-up`;
    const reference = `invoice-${accountId}`;

    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin.ask<BookedEntry>('POST', path, { usd: '12.5', reference })),
    );

    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const { status, body: rejected } of answers.filter((answer) => answer.status !== 200)) {
      assert.equal(status, 400);
      assert.match(rejected.message, /reference invoice-acc_\w+ was used before; nothing was booked/);
    }
    const { body: read } = await admin.ask<Account>('GET', `/admin/accounts/${accountId}`);
    assert.equal(read.data.available, '12.5');
  });

  it('is corrected up and down, and never below zero', async () => {
    const { accountId } = await newAccount({ usd: '2' });
    const path = `/admin/accounts/${accountId}/adjust`;

    const up = await admin.ask<BookedEntry>('POST', path, { usd: '0.5', reason: 'an image that came late' });
    assert.equal(up.body.data.account.available, '2.5');
    assert.equal(up.body.data.amount, '0.5');
    assert.match(up.body.data.reference, /^adjustment_/);
    const down = await admin.ask<BookedEntry>('POST', path, { usd: '-2.5' });
    assert.equal(down.body.data.account.available, '0');
    const tooMuch = await admin.ask('POST', path, { usd: '-0.000001' });
    assert.equal(tooMuch.status, 400);
    assert.match(tooMuch.body.message, /cannot take more than is available/);
  });

  it('cannot exceed the maximum of the ledger', async () => {
    const { accountId } = await newAccount({ usd: '999999999999.999999' });
    const path = `/admin/accounts/${accountId}`;

    const answer = await admin.ask('POST', `${path}/top-up`, { usd: '999999999999.999999' });
    assert.equal(answer.status, 400);
    assert.equal((await admin.ask('POST', `${path}/adjust`, { usd: '999999999999' })).status, 400);
    assert.equal((await admin.ask<Account>('GET', path)).body.data.available, '999999999999.999999');
  });

  it('is listed and summed up for any account, as its owner sees it', async () => {
    const { accountId } = await newAccount({ usd: '1' });
    const { id: keyId, key } = await newKey(accountId);
    const client = clientOf(key);
    const { body: created } = await client.create(body());
    await claimOutbox(admin.served.room.database, 100);
    const verdict = { status: 'success', outputs: [], capturedMicroUsd: PRICE } as const;
    await settleTask(admin.served.room.database, created.data.taskId as TaskId, verdict, { retentionDays: 7 });

    const ledger = await admin.ask<{ entries: { kind: string; keyId: string | null }[] }>(
      'GET',
      `/admin/accounts/${accountId}/ledger?size=2`,
    );
    assert.deepEqual(
      ledger.body.data.entries.map(({ kind, keyId: by }) => [kind, by]),
      [
        ['capture', keyId],
        ['hold', keyId],
      ],
    );
    assert.deepEqual(ledger.body, (await client.send('GET', '/v1/account/ledger?size=2')).body);
    const usage = await admin.ask<{ rows: unknown[]; total: { captured: string } }>(
      'GET',
      `/admin/accounts/${accountId}/usage?groupBy=keyId`,
    );
    assert.deepEqual(usage.body.data.rows, [{ keyId, captured: '0.01', count: 1 }]);
    const own = await client.send('GET', '/v1/account/usage?groupBy=keyId');
    const exceeded = { holdsExceeded: { calls: 0, amount: '0' } };
    assert.deepEqual(usage.body.data, { ...(own.body['data'] as object), ...exceeded });
  });

  it('is verified to add up, or not', async () => {
    const proof = await admin.ask<{ holds: boolean; violations: unknown[] }>('GET', '/admin/ledger/verify');
    assert.deepEqual(proof.body.data, { holds: true, violations: [] });

    const { accountId } = await newAccount({ usd: '1' });
    const change = 'UPDATE account_counters SET available_micro_usd = available_micro_usd + $2 WHERE account_id = $1';
    await admin.served.room.rows(change, accountId, 1);
    const broken = await admin.ask<{ holds: boolean; violations: { subject: string }[] }>(
      'GET',
      '/admin/ledger/verify',
    );
    await admin.served.room.rows(change, accountId, -1);
    assert.equal(broken.status, 200);
    assert.equal(broken.body.data.holds, false);
    assert.ok(broken.body.data.violations.every(({ subject }) => subject === accountId));
  });
});

describe('the verification of the ledger', () => {
  it('runs once for all concurrent requests', async () => {
    const { room } = admin.served;
    const proofs = (): number => room.statements.filter((name) => name === 'verify_balances').length;
    const before = proofs();

    const answers = await Promise.all(Array.from({ length: 20 }, () => admin.ask('GET', '/admin/ledger/verify')));

    assert.ok(answers.every(({ status, body: proof }) => status === 200 && proof.data['holds'] === true));
    assert.ok(proofs() - before < 20, String(proofs() - before));
  });
});

describe('keys', () => {
  it('are created with any scopes, returned once, and listed without the secret', async () => {
    const { accountId } = await newAccount({ usd: '1' });
    const { id, key } = await newKey(accountId, {
      models: ['acme/images'],
      expiresAt: Math.floor(clock / 1000) + 60,
      spendCaps: { day: '0.01' },
    });

    const { body: list } = await admin.ask<{ keys: Record<string, unknown>[] }>(
      'GET',
      `/admin/accounts/${accountId}/keys`,
    );
    assert.equal(list.data.keys.length, 1);
    assert.equal(list.data.keys[0]?.['id'], id);
    assert.deepEqual(list.data.keys[0]['spendCaps'], { day: '0.01', total: null });
    assert.ok(!JSON.stringify(list).includes(key));
    const client = clientOf(key);
    assert.equal((await client.create(body())).status, 200);
    assert.equal((await client.create(body())).status, 402);
    assert.equal((await client.create(body({ model: 'acme/free' }))).status, 403);
  });

  it('are rotated: both work until the old one expires', async () => {
    const { accountId } = await newAccount();
    const old = await newKey(accountId);
    const { body: rotated } = await admin.ask<{ id: string; key: string }>('POST', `/admin/keys/${old.id}/rotate`, {
      overlapSeconds: 100,
    });
    for (const { key } of [old, rotated.data]) {
      assert.equal((await clientOf(key).send('GET', '/v1/account')).status, 200);
    }

    clock += 101_000;
    assert.equal((await clientOf(old.key).send('GET', '/v1/account')).status, 401);
    assert.equal((await clientOf(rotated.data.key).send('GET', '/v1/account')).status, 200);
    assert.equal((await admin.ask('POST', `/admin/keys/${old.id}/rotate`)).status, 400);
  });

  it('are revoked permanently, from the next request on', async () => {
    const { id, key } = await newKey((await newAccount()).accountId);
    assert.equal((await clientOf(key).send('GET', '/v1/account')).status, 200);

    const { body: revoked } = await admin.ask('DELETE', `/admin/keys/${id}`);

    assert.deepEqual(revoked.data, { keyId: id, revoked: true });
    assert.equal((await clientOf(key).send('GET', '/v1/account')).status, 401);
    assert.equal((await admin.ask('DELETE', `/admin/keys/${id}`)).status, 200);
    assert.equal((await admin.ask('POST', `/admin/keys/${id}/rotate`)).status, 400);
  });
});

describe('the queues', () => {
  it('are listed per account with the age of the oldest, and what is pending for Temporal', async () => {
    const quiet = await newAccount({ usd: '1' });
    const busy = await newAccount({ usd: '1', limits: { runningTasks: 1 } });
    const client = clientOf((await newKey(busy.accountId)).key);
    for (let index = 0; index < 4; index++) assert.equal((await client.create(body())).status, 200);
    await claimOutbox(admin.served.room.database, 1_000);
    clock = Date.now() + 120_000;

    const { body: queues } = await admin.ask<{
      accounts: { accountId: string; queued: number; running: number; oldestQueuedSeconds: number }[];
      outbox: { kind: string; waiting: number; due: number; oldestDueSeconds: number }[];
    }>('GET', '/admin/queues');

    const busyAccount = queues.data.accounts.find(({ accountId }) => accountId === busy.accountId);
    assert.deepEqual([busyAccount?.queued, busyAccount?.running], [3, 1]);
    assert.ok((busyAccount?.oldestQueuedSeconds ?? 0) >= 119 && (busyAccount?.oldestQueuedSeconds ?? 0) < 180);
    assert.ok(!queues.data.accounts.some(({ accountId }) => accountId === quiet.accountId));
    const starts = queues.data.outbox.find(({ kind }) => kind === 'start_task');
    assert.ok(starts !== undefined && starts.waiting >= 1 && starts.due >= 1 && starts.oldestDueSeconds > 60);
  });
});

describe('the margins', () => {
  it('are reported with the warnings of the catalogue, and as a file', async () => {
    const { database } = admin.served.room;
    await database.query({
      name: 'test_cost',
      text: `INSERT INTO task_costs (task_id, account_id, model, upstream, cost_micro_usd, source, captured_micro_usd)
             VALUES ('tk-1', 'acc_1', 'acme/images', '=one', 20000, 'reported', 10000),
                    ('tk-2', 'acc_1', 'acme/images', 'two', NULL, NULL, 30000)`,
    });

    const { status, body: report } = await admin.ask<{ rows: object[]; total: { margin: string } }>(
      'GET',
      '/admin/margins?groupBy=upstream',
    );
    assert.equal(status, 200);
    const [known, unknown = {}] = report.data.rows;
    assert.deepEqual(known, {
      upstream: '=one',
      tasks: 1,
      captured: '0.01',
      cost: '0.02',
      margin: '-0.01',
      tasksBelowCost: 1,
      unknownTasks: 0,
      unknownCaptured: '0',
      textCalls: 0,
      reportedTasks: 1,
      usageTasks: 0,
      ruleTasks: 0,
    });
    // No cost is known, which is not a cost of 0.
    const { upstream, captured, cost, margin, unknownTasks } = unknown as Record<string, unknown>;
    assert.deepEqual([upstream, captured, cost, margin, unknownTasks], ['two', '0.03', null, null, 1]);
    assert.equal(report.data.total.margin, '-0.01');

    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const file = await raw(admin.url, 'GET', '/admin/margins?groupBy=upstream&format=csv', headers);
    assert.equal(file.status, 200);
    assert.equal(file.headers['content-type'], 'text/csv; charset=utf-8');
    assert.match(String(file.headers['content-disposition']), /^attachment; filename="margins-.*\.csv"$/);
    const [head, line, unknownLine] = file.text.replace('\uFEFF', '').split('\r\n');
    assert.equal(
      head,
      'upstream,tasks,textCalls,captured,cost,margin,tasksBelowCost,unknownTasks,unknownCaptured,reportedTasks,usageTasks,ruleTasks',
    );
    assert.equal(line, "'=one,1,0,0.01,0.02,-0.01,1,0,0,1,0,0");
    assert.equal(unknownLine, 'two,1,0,0.03,,,0,1,0.03,0,0,0');
  });
});
