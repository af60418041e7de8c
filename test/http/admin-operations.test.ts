/**
 * What operators inspect when something is wrong: upstreams, a task, the accounts by name, and the repair: what is
 * pending, and all that it has done, whichever process did it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { openDatabase } from '../../src/database/database.ts';
import { acquireSlot } from '../../src/upstreams/slots.ts';
import {
  countUpstreamFailure,
  forgetUpstreamFailures,
  pauseUpstream,
  recordCredentialProblem,
} from '../../src/upstreams/states.ts';
import { definition, textDefinition } from '../catalogue/definitions.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { programConfig } from '../support/pooled-run.ts';
import { newTask } from './route-requests.ts';
import { serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';
import type { ServedAccount } from './serve.ts';

const UI = 'https://temporal.example.com/ui';

/** Two models of one upstream, under caps of their own, and one with an additional upstream without a cap. */
const MODELS = [
  [{ id: 'quiet', protocol: 'replicate', model: 'one', concurrency: 5 }],
  [
    { id: 'quiet', protocol: 'replicate', model: 'two', concurrency: 2 },
    { protocol: 'openai', baseUrl: 'https://images.example.com/v1', model: 'three' },
  ],
].map((upstreams, index) => definition({ name: `acme/remote-${index}`, routes: { default: { upstreams } } }));

const WORDS = textDefinition({
  name: 'acme/words',
  upstreams: [{ id: 'words', protocol: 'openai', baseUrl: 'https://words.example.com/v1', model: 'w' }],
});

let admin: ServedAdmin;
before(async () => {
  admin = await serveAdmin({
    models: [...MODELS, WORDS],
    environment: { TEMPORAL_UI_URL: UI, TEMPORAL_NAMESPACE: 'north' },
  });
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
  readonly answeredAt: number;
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
      ['unknown', 0, 0, [2, 5]],
      'as the models that go there say; nobody has used it yet',
    );
    const { database } = admin.served.room;
    assert.ok(await acquireSlot(database, 'quiet', { taskId: 'tk-svc-1', accountId: 'acct' }, 2));
    assert.equal((await upstreamNamed('quiet'))?.slotsTaken, 1);
    assert.deepEqual((await upstreamNamed('openai:images.example.com'))?.caps, [], 'no cap');
    assert.equal(await upstreamNamed('embedded'), undefined, 'an engine of our own is no upstream');
  });

  it('of text are listed too, with their health, and are drained', async () => {
    const { database } = admin.served.room;
    assert.equal((await upstreamNamed('text:words'))?.state, 'unknown', 'nobody has used it yet');
    for (let index = 0; index < 5; index++) await countUpstreamFailure(database, 'text:words');
    assert.equal((await upstreamNamed('text:words'))?.state, 'failing');
    await forgetUpstreamFailures(database, 'text:words');
    const answering = await upstreamNamed('text:words');
    assert.deepEqual([answering?.state, answering?.failures], ['open', 0]);
    assert.ok(Math.abs((answering?.answeredAt ?? 0) - Date.now() / 1000) < 60);

    await admin.ask('POST', '/admin/upstreams/text%3Awords/drain');
    assert.equal((await upstreamNamed('text:words'))?.state, 'drained');
    await admin.ask('POST', '/admin/upstreams/text%3Awords/resume');
  });

  it('are unknown when nothing has used them for a while, whatever they did before', async () => {
    const { database, rows } = admin.served.room;
    await forgetUpstreamFailures(database, 'answered-once');
    await rows(`UPDATE upstream_states SET answered_at = now() - interval '2 hours' WHERE upstream = 'answered-once'`);
    for (let index = 0; index < 5; index++) await countUpstreamFailure(database, 'failed-once');
    await rows(`UPDATE upstream_states SET open_until = now() WHERE upstream = 'failed-once'`);

    for (const name of ['answered-once', 'failed-once']) assert.equal((await upstreamNamed(name))?.state, 'unknown');
  });

  it('are failing while their credential is rejected', async () => {
    const { database } = admin.served.room;
    await recordCredentialProblem(database, 'refused', 'unauthorized');
    const refused = await upstreamNamed('refused');
    assert.deepEqual([refused?.state, refused?.pauseReason, refused?.pausedUntil], ['failing', 'unauthorized', 0]);

    await forgetUpstreamFailures(database, 'refused');
    assert.deepEqual((await upstreamNamed('refused'))?.state, 'open');
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
    assert.equal((await upstreamNamed('broken'))?.state, 'unknown', 'one failure opens no breaker');
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
      ['unknown', 0, 0, undefined],
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

interface Work {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly accountId: string;
  readonly model: string;
  readonly reason?: string;
  readonly upstream?: string;
  readonly held: string;
}

describe('the work of all accounts', () => {
  const found = async (query: string): Promise<{ readonly work: readonly Work[]; readonly nextCursor?: string }> => {
    const { status, body } = await admin.ask<{ work: Work[]; nextCursor?: string }>('GET', `/admin/tasks?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  };

  it('is found by status, account, model, reason and upstream, without inputs', async () => {
    const [one, other] = [await admin.served.newAccount(), await admin.served.newAccount()];
    const { database } = admin.served.room;
    const open = await newTask(one, { metadata: { project: 'a secret project' } });
    const failed = await newTask(other);
    await database.transaction(async (transaction) => {
      await transaction.query(
        {
          name: 'note_rejection',
          text: `INSERT INTO task_events (task_id, seq, type, detail)
        VALUES ($1, 99, 'provider_refused', '{"upstream": "quiet", "reason": "provider_error"}')`,
        },
        [failed],
      );
    });
    await settleTask(database, failed as TaskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });

    const failures = await found(`status=fail&accountId=${other.id}`);
    assert.deepEqual(
      failures.work.map(({ id, status, reason, upstream, accountId, held }) => [
        id,
        status,
        reason,
        upstream,
        accountId,
        held,
      ]),
      [[failed, 'fail', 'provider_error', 'quiet', other.id, '0']],
    );
    const ids = async (query: string): Promise<readonly string[]> => (await found(query)).work.map(({ id }) => id);
    assert.ok((await ids('status=fail')).includes(failed));
    assert.ok((await ids('reason=provider_error&upstream=quiet')).includes(failed));
    assert.deepEqual(await ids('reason=timed_out'), []);
    assert.ok((await ids('status=queued,handling')).includes(open));
    assert.deepEqual(await ids(`accountId=${one.id}&model=acme/none`), []);
    assert.deepEqual(await ids(`accountId=${one.id}`), [open]);
    assert.deepEqual(await ids(`accountId=${one.id}&created_before=1000`), []);
    assert.doesNotMatch(JSON.stringify(await found('')), /secret project|prompt/);
  });

  it('is found by the key that created it, and by its end user', async () => {
    const account = await admin.served.newAccount();
    const ofAda = await newTask(account, { metadata: { user: 'ada' } });
    const ofBob = await newTask(account, { metadata: { user: 'bob', project: 'ada' } });
    await newTask(await admin.served.newAccount(), { metadata: { user: 'ada' } });
    const { rows } = admin.served.room;
    const [{ keyId } = { keyId: '' }] = await rows<{ keyId: string }>(
      'SELECT key_id AS "keyId" FROM tasks WHERE id = $1',
      ofAda,
    );
    const ids = async (query: string): Promise<readonly string[]> => (await found(query)).work.map(({ id }) => id);

    assert.deepEqual(await ids(`keyId=${keyId}`), [ofBob, ofAda]);
    assert.deepEqual(await ids(`keyId=${keyId}&accountId=${account.id}&user=ada`), [ofAda]);
    assert.deepEqual(await ids('keyId=key_that_is_none'), []);
    assert.deepEqual(await ids(`keyId=${keyId}&user=eve`), []);
  });

  it('is listed a page at a time, newest first', async () => {
    const account = await admin.served.newAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.unshift(await newTask(account));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await found(`accountId=${account.id}&size=2${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      seen.push(...page.work.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(seen, ids);
  });

  it('includes text calls, with their upstream and why they failed', async () => {
    const { rows } = admin.served.room;
    const { id: accountId } = await admin.served.newAccount();
    const call = (id: string, outcome: string | null, reason: string | null) =>
      rows(
        `INSERT INTO text_calls (id, account_id, key_id, model, held_micro_usd, floor_micro_usd, captured_micro_usd,
                                 process_id, input_tokens, is_stored, settled_at, outcome, error_reason, upstream)
         VALUES ($1, $2, 'key', 'acme/words', 10, 0, $3::bigint, gen_random_uuid(), 1, false,
                 CASE WHEN $3::bigint IS NOT NULL THEN now() END, $4, $5, 'text:words')`,
        id,
        accountId,
        outcome === null ? null : 0,
        outcome,
        reason,
      );
    await call('chatcmpl-failed', 'failed', 'upstream_timeout');
    await call('chatcmpl-answered', 'answered', null);
    await call('chatcmpl-open', null, null);

    const of = async (query: string) =>
      (await found(`kind=text_call&accountId=${accountId}&${query}`)).work.map((each) => [
        each.id,
        each.status,
        each.reason,
        each.upstream,
      ]);
    assert.deepEqual(await of('status=failed'), [['chatcmpl-failed', 'failed', 'upstream_timeout', 'text:words']]);
    assert.deepEqual(await of('reason=upstream_timeout'), await of('status=failed'));
    assert.deepEqual(await of('status=in_progress'), [['chatcmpl-open', 'in_progress', undefined, 'text:words']]);
    assert.equal((await of('upstream=text:words&model=acme/words')).length, 3);
    const { status, body } = await admin.ask('GET', '/admin/tasks?kind=text_call&status=success');
    assert.equal(status, 400);
    assert.match(body.message, /status: of kind text_call, want/);
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
  async function pageOf(search: string, rest = '&size=100') {
    const query = new URLSearchParams({ search }).toString() + rest;
    const { body } = await admin.ask<{ accounts: { name: string }[]; nextCursor?: string }>(
      'GET',
      `/admin/accounts?${query}`,
    );
    const { accounts, nextCursor } = body.data;
    return { names: accounts.map(({ name }) => name), nextCursor };
  }
  const found = async (search: string): Promise<readonly string[]> => (await pageOf(search)).names;

  it('are found by a part of their name in any case, or by their whole id, also a page at a time', async () => {
    const ids: string[] = [];
    for (const name of ['Harbour One', 'harbour two', 'Quay 100%', 'HARBOUR 3']) {
      const { body } = await admin.ask<{ accountId: string }>('POST', '/admin/accounts', { name });
      ids.push(body.data.accountId);
    }

    assert.deepEqual(await found('HARBOUR'), ['Harbour One', 'harbour two', 'HARBOUR 3']);
    assert.deepEqual(await found('100%'), ['Quay 100%'], 'what means something to LIKE is plain text');
    assert.deepEqual(await found('%'), ['Quay 100%']);
    assert.deepEqual(await found(ids[1] ?? ''), ['harbour two']);
    assert.deepEqual(await found('no account has this name'), []);
    const first = await pageOf('harbour', '&size=2');
    assert.deepEqual(first.names, ['Harbour One', 'harbour two']);
    const second = await pageOf('harbour', `&size=2&cursor=${first.nextCursor}`);
    assert.deepEqual(second, { names: ['HARBOUR 3'], nextCursor: undefined });
  });
});

interface Summary {
  readonly overdue: readonly { taskId: string; accountId: string; status: string; at: number }[];
  readonly restarted: readonly { taskId: string; at: number }[];
  readonly done: readonly { kind: string; day: number; month: number }[];
}

async function readSummary(): Promise<Summary> {
  return (await admin.ask<Summary>('GET', '/admin/repairs/summary')).body.data;
}

function doneOf({ done }: Summary, kind: string) {
  return done.find((count) => count.kind === kind) ?? assert.fail(`${kind} is not reported`);
}

/** @param database of the process that repairs; default: that of the process that serves requests. */
function repair(taskId: string, isPastDeadline: boolean, database = admin.served.room.database) {
  const { http } = admin.served;
  return repairTask(
    { id: taskId as TaskId, status: 'queued', isPastDeadline, hasStart: false },
    {
      database,
      describe: async () => 'missing',
      retentionDays: 7,
      metrics: http.metrics.tasks,
      logger: http.logger,
    },
  );
}

/** A task without a workflow. */
async function lostTask(account: ServedAccount): Promise<string> {
  const taskId = await newTask(account);
  await admin.served.room.rows("DELETE FROM outbox WHERE subject_id = $1 AND kind = 'start_task'", taskId);
  return taskId;
}

describe('the repair', () => {
  it('is reported with what is overdue, and what was done about it', async () => {
    const account = await admin.served.newAccount();
    const taskId = await newTask(account);
    assert.ok(!(await readSummary()).overdue.some((task) => task.taskId === taskId));
    await admin.served.room.rows(
      "UPDATE tasks SET queue_deadline_at = now() - interval '90 seconds' WHERE id = $1",
      taskId,
    );

    const before = await readSummary();
    const overdueTask = before.overdue.find((task) => task.taskId === taskId);
    assert.deepEqual([overdueTask?.accountId, overdueTask?.status], [account.id, 'queued']);
    assert.ok(Date.now() / 1000 - (overdueTask?.at ?? 0) >= 89);
    assert.equal(await repair(taskId, true), 'settled');

    const later = await readSummary();
    assert.ok(!later.overdue.some((task) => task.taskId === taskId));
    const { day, month } = doneOf(before, 'timed_out');
    assert.deepEqual(doneOf(later, 'timed_out'), { kind: 'timed_out', day: day + 1, month: month + 1 });
  });

  it('names the tasks that were started again, while they are running', async () => {
    const taskId = await lostTask(await admin.served.newAccount());
    assert.equal(await repair(taskId, false), 'restarted');

    const summary = await readSummary();
    assert.ok(summary.restarted.some((task) => task.taskId === taskId && task.at > 0));
    assert.ok(doneOf(summary, 'restarted').day >= 1);
  });

  it('counts the last 24 hours and the last 30 days apart', async () => {
    const taskId = await newTask(await admin.served.newAccount());
    const before = doneOf(await readSummary(), 'callback');
    for (const days of [0, 2, 29, 31]) {
      await admin.served.room.rows(
        "INSERT INTO repairs (at, kind, task_id) VALUES (now() - make_interval(days => $1), 'callback', $2)",
        days,
        taskId,
      );
    }

    const { day, month } = doneOf(await readSummary(), 'callback');
    assert.deepEqual([day - before.day, month - before.month], [1, 3]);
  });
});

interface RepairPage {
  readonly repairs: readonly {
    readonly id: string;
    readonly at: number;
    readonly kind: string;
    readonly taskId: string;
    readonly found?: string;
    readonly accountId?: string;
    readonly model?: string;
  }[];
  readonly nextCursor?: string;
}

async function readRepairs(query: string): Promise<RepairPage> {
  const { status, body } = await admin.ask<RepairPage>('GET', `/admin/repairs${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.data;
}

describe('repairs', () => {
  it('are one list, whichever process made them', async () => {
    const account = await admin.served.newAccount();
    const tasks = [await lostTask(account), await lostTask(account), await lostTask(account)];
    const another = openDatabase({ ...programConfig(admin.served.room.url), poolSize: 2 }, silentLogger());
    try {
      for (const [index, taskId] of tasks.entries()) {
        await repair(taskId, false, index % 2 === 0 ? another : admin.served.room.database);
      }
    } finally {
      await another.close();
    }

    const { repairs } = await readRepairs('?size=3');

    assert.deepEqual(
      repairs.map(({ taskId, kind, found, accountId, model }) => [taskId, kind, found, accountId, model]),
      tasks.toReversed().map((taskId) => [taskId, 'restarted', 'queued', account.id, 'acme/images']),
    );
    assert.ok(repairs.every(({ at }) => Math.abs(Date.now() / 1000 - at) < 600));
  });

  it('are read a page at a time, by kind, although others are made meanwhile', async () => {
    const account = await admin.served.newAccount();
    const [first, ...others] = [await lostTask(account), await newTask(account), await lostTask(account)];
    await repair(first ?? '', false);
    await repair(others[0] ?? '', true);
    await repair(others[1] ?? '', false);

    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await readRepairs(`?size=1&kind=restarted${cursor}`);
      assert.ok(page.repairs.length === 1 && page.repairs[0]?.kind === 'restarted');
      seen.push(page.repairs[0].taskId);
      if (page.nextCursor === undefined) break;
      cursor = `&cursor=${page.nextCursor}`;
      if (seen.length === 1) await repair(await lostTask(account), false);
    }
    assert.deepEqual(seen.slice(0, 2), [others[1], first]);
    assert.equal(new Set(seen).size, seen.length);

    const both = await readRepairs('?kind=restarted,timed_out&size=3');
    assert.equal(new Set(both.repairs.map(({ kind }) => kind)).size, 2);
    assert.deepEqual((await readRepairs('?kind=settled')).repairs, []);
  });

  it('of a task that no longer exists are marked as such', async () => {
    const taskId = 'tk-svc-00000000000000000000000000';
    await admin.served.room.rows("INSERT INTO repairs (kind, task_id) VALUES ('callback', $1)", taskId);

    const [newest] = (await readRepairs('?size=1')).repairs;
    assert.deepEqual(Object.keys(newest ?? {}).toSorted(), ['at', 'id', 'kind', 'taskId']);
    assert.equal(newest?.taskId, taskId);
  });
});
