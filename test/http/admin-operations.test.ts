/** What operators inspect when something is wrong: upstreams, a task, and the accounts by name. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { acquireSlot } from '../../src/upstreams/slots.ts';
import { countUpstreamFailure, forgetUpstreamFailures, pauseUpstream } from '../../src/upstreams/states.ts';
import { definition } from '../catalogue/definitions.ts';
import { newTask } from './route-requests.ts';
import { serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';

const UI = 'https://temporal.example.com/ui';

/** Two models of one upstream, under caps of their own, and one with an additional upstream without a cap. */
const MODELS = [
  [{ id: 'quiet', protocol: 'replicate', model: 'one', concurrency: 5 }],
  [
    { id: 'quiet', protocol: 'replicate', model: 'two', concurrency: 2 },
    { protocol: 'openai', baseUrl: 'https://images.example.com/v1', model: 'three' },
  ],
].map((upstreams, index) => definition({ name: `acme/remote-${index}`, routes: { default: { upstreams } } }));

let admin: ServedAdmin;
before(async () => {
  admin = await serveAdmin({ models: MODELS, environment: { TEMPORAL_UI_URL: UI, TEMPORAL_NAMESPACE: 'north' } });
});
after(() => admin.close());

interface Upstream {
  readonly upstream: string;
  readonly state: string;
  readonly pausedUntil: number;
  readonly pauseReason?: string;
  readonly drainedSince: number;
  readonly failingSince: number;
  readonly retryAt: number;
  readonly failures: number;
  readonly slotsTaken: number;
  readonly caps: readonly number[];
}

async function upstreamNamed(name: string): Promise<Upstream | undefined> {
  const { body } = await admin.ask<{ upstreams: Upstream[] }>('GET', '/admin/upstreams');
  return body.data.upstreams.find(({ upstream }) => upstream === name);
}

describe('upstreams', () => {
  it('are listed with their caps, including those without failures', async () => {
    const quiet = await upstreamNamed('quiet');
    assert.deepEqual(
      [quiet?.state, quiet?.failures, quiet?.slotsTaken, quiet?.caps],
      ['open', 0, 0, [2, 5]],
      'as the models that go there say',
    );
    const { database } = admin.served.room;
    assert.ok(await acquireSlot(database, 'quiet', { taskId: 'tk-svc-1', accountId: 'acct' }, 2));
    assert.equal((await upstreamNamed('quiet'))?.slotsTaken, 1);
    assert.deepEqual((await upstreamNamed('openai:images.example.com'))?.caps, [], 'no cap');
    assert.equal(await upstreamNamed('embedded'), undefined, 'an engine of our own is no upstream');
  });

  it('are listed with their pauses', async () => {
    await pauseUpstream(admin.served.room.database, 'slow', 600_000);

    const current = await upstreamNamed('slow');

    assert.equal(current?.state, 'paused');
    const seconds = current.pausedUntil - Date.now() / 1000;
    assert.ok(seconds > 500 && seconds <= 600, String(seconds));
  });

  it('are listed with their failures, until they recover', async () => {
    const { database } = admin.served.room;
    await countUpstreamFailure(database, 'broken');
    assert.equal((await upstreamNamed('broken'))?.state, 'open', 'one failure opens no breaker');
    for (let index = 0; index < 4; index++) await countUpstreamFailure(database, 'broken');

    const current = await upstreamNamed('broken');
    assert.deepEqual([current?.state, current?.failures], ['failing', 5]);
    assert.ok(current !== undefined && current.retryAt > current.failingSince && current.failingSince > 0);

    await forgetUpstreamFailures(database, 'broken');
    const again = await upstreamNamed('broken');
    assert.deepEqual([again?.state, again?.failures, again?.retryAt, again?.failingSince], ['open', 0, 0, 0]);
  });
});

describe('an upstream', () => {
  const change = async (name: string, operation: 'drain' | 'resume') => {
    const { status, body } = await admin.ask<Upstream>(
      'POST',
      `/admin/upstreams/${encodeURIComponent(name)}/${operation}`,
    );
    return { status, upstream: body.data };
  };

  it('is drained and resumed, which ends its pause too', async () => {
    const { database } = admin.served.room;
    await pauseUpstream(database, 'tired', 600_000, 'out_of_credit');
    assert.equal((await upstreamNamed('tired'))?.pauseReason, 'out_of_credit');

    const drained = await change('tired', 'drain');
    assert.deepEqual([drained.status, drained.upstream.state], [200, 'drained']);
    const { drainedSince } = drained.upstream;
    assert.ok(Math.abs(drainedSince - Date.now() / 1000) < 60, String(drainedSince));
    assert.equal((await change('tired', 'drain')).upstream.drainedSince, drainedSince);

    const { upstream } = await change('tired', 'resume');
    assert.deepEqual(
      [upstream.state, upstream.drainedSince, upstream.pausedUntil, upstream.pauseReason],
      ['open', 0, 0, undefined],
    );
  });

  it('is drained by its protocol and host, before anything is recorded about it', async () => {
    await createPinnedDefinitions(admin.served.room.database).pin(MODELS);

    assert.equal((await change('openai:images.example.com', 'drain')).upstream.state, 'drained');
  });

  it('that no model names is 404', async () => {
    for (const name of ['never', 'embedded', "'; DROP"]) assert.equal((await change(name, 'drain')).status, 404, name);
  });
});

describe('a task', () => {
  it('is found in any account, without its input', async () => {
    const account = await admin.served.newAccount();
    const taskId = await newTask(account, { metadata: { project: 'a secret project' } });

    const { status, body } = await admin.ask('GET', `/admin/tasks/${taskId}`);

    assert.equal(status, 200);
    const { accountId, status: stands, workflowUrl, events } = body.data;
    assert.deepEqual(
      [accountId, stands, workflowUrl],
      [account.id, 'queued', `${UI}/namespaces/north/workflows/${taskId}`],
    );
    assert.ok(Array.isArray(events) && events.length > 0);
    assert.doesNotMatch(JSON.stringify(body), /secret project|prompt|input|https?:\/\/(?!temporal)/);
  });

  it('that does not exist is 404, in any form', async () => {
    for (const id of ['tk-svc-00000000000000000000000000', 'tk-svc-1', 'x', '%00', "'%20OR%201=1"]) {
      assert.equal((await admin.ask('GET', `/admin/tasks/${id}`)).status, 404, id);
    }
  });
});

describe('the service', () => {
  it('lists its URLs and those of the services beside it', async () => {
    const { body } = await admin.ask('GET', '/admin/service');
    const { baseUrl, workflowsUrl } = body.data;
    assert.deepEqual([baseUrl, workflowsUrl], [`${admin.served.url}/v1`, `${UI}/namespaces/north/workflows`]);

    const plain = await serveAdmin();
    try {
      assert.ok(!('workflowsUrl' in (await plain.ask('GET', '/admin/service')).body.data));
      const taskId = await newTask(await plain.served.newAccount());
      assert.ok(!('workflowUrl' in (await plain.ask('GET', `/admin/tasks/${taskId}`)).body.data));
    } finally {
      await plain.close();
    }
  });
});

describe('accounts', () => {
  async function found(search: string): Promise<readonly string[]> {
    const query = new URLSearchParams({ search, size: '100' }).toString();
    const { body } = await admin.ask<{ accounts: { name: string }[] }>('GET', `/admin/accounts?${query}`);
    return body.data.accounts.map(({ name }) => name);
  }

  it('are found by a part of their name in any case, or by their whole id', async () => {
    const ids: string[] = [];
    for (const name of ['Harbour One', 'harbour two', 'Quay 100%']) {
      const { body } = await admin.ask<{ accountId: string }>('POST', '/admin/accounts', { name });
      ids.push(body.data.accountId);
    }

    assert.deepEqual(await found('HARBOUR'), ['Harbour One', 'harbour two']);
    assert.deepEqual(await found('100%'), ['Quay 100%'], 'what means something to LIKE is plain text');
    assert.deepEqual(await found('%'), ['Quay 100%']);
    assert.deepEqual(await found(ids[1] ?? ''), ['harbour two']);
    assert.deepEqual(await found('no account has this name'), []);
  });

  it('are listed a page at a time', async () => {
    for (let index = 0; index < 3; index++) await admin.ask('POST', '/admin/accounts', { name: `pier ${index}` });
    const first = await admin.ask<{ accounts: { name: string }[]; nextCursor: string }>(
      'GET',
      '/admin/accounts?search=pier&size=2',
    );
    const { nextCursor } = first.body.data;
    const second = await admin.ask<{ accounts: { name: string }[]; nextCursor?: string }>(
      'GET',
      `/admin/accounts?search=pier&size=2&cursor=${nextCursor}`,
    );
    const names = [...first.body.data.accounts, ...second.body.data.accounts].map(({ name }) => name);
    assert.deepEqual(names, ['pier 0', 'pier 1', 'pier 2']);
    assert.equal(second.body.data.nextCursor, undefined);
  });
});
