/** `GET /v1/tasks`: pages, filters and cursors as a client sends them, and what is rejected (contract §3). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { encodeCursor } from '../../src/http/app/cursor.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { TaskListSchema } from '@darkroom/api/tasks/task-list';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
/** Of an account without tasks. */
let reader: ApiClient;
before(async () => {
  served = await serveApp();
  reader = (await served.newAccount()).client;
});
after(() => served.close());

const checkList = compileCheck(TaskListSchema, 'invalid request');

/** Lists, and validates the response against its documented schema. */
async function list(client: ApiClient, query = ''): Promise<WireTaskList> {
  const answer = await client.send('GET', `/v1/tasks?${query}`);
  assert.equal(answer.status, 200, `${query}: ${JSON.stringify(answer.body)}`);
  const data = answer.body.data as unknown as WireTaskList;
  assert.equal(checkList(data), undefined);
  return data;
}

async function listIds(client: ApiClient, query = ''): Promise<string[]> {
  return (await list(client, query)).tasks.map(({ taskId }) => taskId);
}

/** As invalid, with this message. */
async function assertRejected(query: string, message: string | RegExp): Promise<void> {
  const { status, body: answer } = await reader.send('GET', `/v1/tasks?${query}`);
  assert.deepEqual([status, answer.error_code], [400, 'INVALID_REQUEST'], `${query}: ${JSON.stringify(answer)}`);
  if (typeof message === 'string') assert.equal(answer.message, message);
  else assert.match(answer.message, message);
}

async function createTask(client: ApiClient, changes: Record<string, unknown> = {}): Promise<TaskId> {
  const answer: ApiAnswer = await client.create(body(changes));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.data.taskId as TaskId;
}

/** Newest first, like a list. */
async function createTasks(client: ApiClient, count: number): Promise<TaskId[]> {
  const ids: TaskId[] = [];
  for (let index = 0; index < count; index++) ids.unshift(await createTask(client));
  return ids;
}

/** An account that no other test uses. */
const newAccount = (): Promise<ServedAccount> => served.newAccount();

describe('a list of tasks', () => {
  // Proves C3-24, C4-13.
  it('returns the newest ten, each as its detail does, and never an input', async () => {
    const { client } = await newAccount();
    const ids = await createTasks(client, 11);
    const [newest = ''] = ids;
    await served.succeed(newest, Buffer.from('an image'));

    const { page, size, total, totalIsCapped, tasks, nextCursor } = await list(client);

    assert.deepEqual({ page, size, total, totalIsCapped }, { page: 1, size: 10, total: 11, totalIsCapped: undefined });
    assert.equal(typeof nextCursor, 'string');
    assert.deepEqual(
      tasks.map(({ taskId }) => taskId),
      ids.slice(0, 10),
    );
    for (const task of tasks) assert.deepEqual(task, (await client.get(task.taskId)).body.data);
    assert.equal(tasks[0]?.output?.length, 1);
    assert.ok(!JSON.stringify(tasks).includes('a fox'));
  });

  it('of an account without tasks is empty', async () => {
    const { client } = await newAccount();

    assert.deepEqual(await list(client), { page: 1, size: 10, total: 0, tasks: [] });
    assert.deepEqual(await list(client, 'status=fail&page=7&size=3'), { page: 7, size: 3, total: 0, tasks: [] });
  });

  it('continues page by page to the last task, and is empty after it', async () => {
    const { client } = await newAccount();
    const ids = await createTasks(client, 5);

    assert.deepEqual(await listIds(client, 'size=2'), ids.slice(0, 2));
    assert.deepEqual(await listIds(client, 'size=2&page=2'), ids.slice(2, 4));
    const last = await list(client, 'size=2&page=3');
    assert.deepEqual([last.tasks[0]?.taskId, last.tasks.length, last.total], [ids[4], 1, 5]);
    assert.equal(last.nextCursor, undefined);
    assert.deepEqual(await listIds(client, 'size=2&page=4'), []);
  });

  // Proves C3-25.
  it('clamps a page and a size that are out of range', async () => {
    const { client } = await newAccount();
    await createTask(client);

    for (const [query, page, size] of [
      ['page=0&size=0', 1, 1],
      ['page=-3&size=-1', 1, 1],
      ['size=101', 1, 100],
      [`size=${'9'.repeat(300)}`, 1, 100],
      [`page=-${'9'.repeat(400)}`, 1, 10],
      ['page=007&size=010', 7, 10],
    ] as const) {
      const answer = await list(client, query);
      assert.deepEqual([answer.page, answer.size], [page, size], query);
    }
  });

  // Proves C1-5.
  it('rejects a page or a size that is not an integer', async () => {
    for (const text of ['', 'abc', '1.5', '1e2', '0x10', 'NaN', 'Infinity', 'null', 'true', ' 1', '１', '[1]', '1,2']) {
      for (const name of ['page', 'size']) {
        const query = `${name}=${encodeURIComponent(text)}`;
        await assertRejected(query, `invalid request: ${name}: type: got string, want integer`);
      }
    }
    await assertRejected('page=1&page=1', 'invalid request: page: given more than once');
  });

  // Proves C3-26.
  it('limits pages to the first 10,000 tasks, and names the cursor as the alternative', async () => {
    const { client } = await newAccount();

    for (const query of ['page=101&size=100', 'page=1001', 'page=10001&size=1', `page=${'9'.repeat(400)}`]) {
      await assertRejected(query, /^invalid request: page: .*cursor/);
    }
    assert.deepEqual((await list(client, 'page=100&size=100')).tasks, []);
    assert.deepEqual((await list(client, 'page=10000&size=1')).tasks, []);
  });

  // Proves C3-20.
  it('is private to its client, and sent again once it has changed', async () => {
    const { client } = await newAccount();
    await createTask(client);
    const first = await client.send('GET', '/v1/tasks');

    assert.equal(first.headers.get('cache-control'), 'private, no-cache');
    assert.equal(first.headers.get('retry-after'), null);
    await createTask(client);
    const known = { 'If-None-Match': first.headers.get('etag') ?? '' };
    assert.equal((await client.send('GET', '/v1/tasks', undefined, known)).status, 200);
  });
});

describe('a cursor', () => {
  // Proves C3-28.
  it('leads from any page to the last task, and its total is that of the whole list', async () => {
    const { client } = await newAccount();
    const ids = await createTasks(client, 7);
    const first = await list(client, 'size=2&page=2');
    assert.ok(first.nextCursor !== undefined);

    const second = await list(client, `size=2&cursor=${first.nextCursor}`);
    assert.ok(second.nextCursor !== undefined);
    const third = await list(client, `size=2&page=1&cursor=${second.nextCursor}`);

    assert.deepEqual(
      [...second.tasks, ...third.tasks].map(({ taskId }) => taskId),
      ids.slice(4),
    );
    assert.deepEqual([second.total, second.page, third.total, third.nextCursor], [7, 1, 7, undefined]);
  });

  it('is rejected together with a later page', async () => {
    const cursor = encodeCursor({ createdMicros: 1n, id: 'x' });

    await assertRejected(`cursor=${cursor}&page=2`, /^invalid request: page: .*cursor/);
  });

  it('is rejected when no list returned it', async () => {
    const { client } = await newAccount();
    const base64url = (text: string): string => Buffer.from(text, 'latin1').toString('base64url');
    const good = encodeCursor({ createdMicros: 1_700_000_000_000_000n, id: 'tk-svc-00000000000000000000000000' });

    for (const text of [
      'abc',
      '%00',
      '__proto__',
      '🦊',
      `${good}=`,
      `${good}A`,
      good.slice(1),
      good.toLowerCase(),
      base64url('1 '),
      base64url('-1 a'),
      base64url('99999999999999999 a'),
      base64url('01 a'),
      base64url("1 a'"),
      base64url('1  a'),
      base64url('NaN a'),
      base64url('1700000000000000'),
      base64url('infinity tk'),
    ]) {
      const query = `cursor=${text.startsWith('%') ? text : encodeURIComponent(text)}`;
      await assertRejected(query, /^invalid request: cursor: /);
    }
    await assertRejected('cursor=', 'invalid request: cursor: minLength: got 0, want 1');
    await assertRejected(`cursor=${'a'.repeat(201)}`, 'invalid request: cursor: maxLength: got 201, want 200');
    for (const micros of [0n, 9_999_999_999_999_999n])
      await list(client, `cursor=${encodeCursor({ createdMicros: micros, id: '0' })}`);
  });

  it("of another account returns only the caller's tasks", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    const mine = await createTasks(one.client, 2);
    const theirs = await createTasks(other.client, 2);
    const { nextCursor } = await list(other.client, 'size=1');

    const seen = await listIds(one.client, `cursor=${nextCursor}`);

    assert.deepEqual(seen, mine);
    assert.ok(theirs.every((id) => !seen.includes(id)));
  });

  // Proves C3-28.
  it('neither skips nor repeats a task while others are created and end', async () => {
    const { client } = await newAccount();
    const existing = await createTasks(client, 30);
    const seen: string[] = [];
    let isWalking = true;
    const creating = (async () => {
      while (isWalking) {
        const taskId = await createTask(client);
        await client.send('POST', `/v1/tasks/${taskId}/cancel`);
      }
    })();

    let query = 'size=3';
    for (;;) {
      const page = await list(client, query);
      seen.push(...page.tasks.map(({ taskId }) => taskId));
      if (page.nextCursor === undefined) break;
      query = `size=3&cursor=${page.nextCursor}`;
    }
    isWalking = false;
    await creating;

    assert.deepEqual(
      seen.filter((id) => existing.includes(id as TaskId)),
      existing,
    );
    assert.equal(new Set(seen).size, seen.length);
  });
});

describe('a filter', () => {
  // Proves C3-27.
  it('by status accepts one or several, repeated or comma-separated', async () => {
    const { client } = await newAccount();
    const [queued = '', failed, succeeded = ''] = await createTasks(client, 3);
    await claimOutbox(served.room.database, 10_000);
    await settleTask(
      served.room.database,
      failed as TaskId,
      { status: 'fail', reason: 'timed_out' },
      { retentionDays: 7 },
    );
    await served.succeed(succeeded, Buffer.from('an image'));

    assert.deepEqual(await listIds(client, 'status=success'), [succeeded]);
    assert.deepEqual(await listIds(client, 'status=fail'), [failed]);
    assert.deepEqual(await listIds(client, 'status=queued'), [queued]);
    assert.deepEqual(await listIds(client, 'status=handling'), []);
    assert.deepEqual(await listIds(client, 'status=success,queued'), [queued, succeeded]);
    assert.deepEqual(await listIds(client, 'status=fail&status=success&status=fail'), [failed, succeeded]);
    assert.equal((await list(client, 'status=queued,handling,archiving,success,fail')).total, 3);
  });

  // Proves S3-4, C3-23.
  it('by status rejects unknown ones, including the labels of the troubleshooting guide', async () => {
    const statuses = '"queued", "handling", "archiving", "success", "fail"';

    for (const text of ['pending', 'timeout', 'Success', '', '__proto__', 'success ']) {
      const message = `invalid request: status.0: enum: got "${text}", want one of ${statuses}`;
      await assertRejected(`status=${encodeURIComponent(text)}`, message);
    }
    await assertRejected('status=fail,,queued', /^invalid request: status\.1: enum: got ""/);
    await assertRejected(`status=${'fail,'.repeat(5)}fail`, 'invalid request: status: maxItems: got 6, want 5');
  });

  // Proves C3-27.
  it('by model matches the full name as the detail shows it, and nothing similar', async () => {
    const { client } = await newAccount();
    const plain = await createTask(client);
    const fast = await createTask(client, { model: 'acme/routed', route: 'fast' });
    const slow = await createTask(client, { model: 'acme/routed' });

    assert.deepEqual(await listIds(client, 'model=acme/images'), [plain]);
    assert.deepEqual(await listIds(client, 'model=acme/routed@fast'), [fast]);
    assert.deepEqual(await listIds(client, 'model=acme%2Frouted'), [slow]);
    for (const name of ['Acme/images', 'acme/image_', 'acme/%25', '__proto__', '%F0%9F%A6%8A']) {
      assert.deepEqual(await listIds(client, `model=${name}`), []);
    }
    await assertRejected('model=', /^invalid request: model: minLength/);
    await assertRejected(`model=${'m'.repeat(401)}`, /^invalid request: model: maxLength/);
    await assertRejected('model=a%00b', /^invalid request: model: must not contain U\+0000/);
  });

  // Proves C3-27.
  it('by key finds what was created with that key of the account', async () => {
    const account = await newAccount();
    const second = await account.newKey();
    await createTask(account.client);
    const taskId = await createTask(second.client);
    const stranger = await (await newAccount()).newKey();
    await createTask(stranger.client);

    assert.deepEqual(await listIds(account.client, `keyId=${second.id}`), [taskId]);
    assert.deepEqual(await listIds(account.client, `keyId=${stranger.id}`), []);
    await assertRejected('keyId=', /^invalid request: keyId: minLength/);
    await assertRejected('keyId=%00', /^invalid request: keyId: must not contain/);
  });

  // Proves C3-27.
  it('by ids finds those of the account, newest first, and omits all others', async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [newest, , oldest] = await createTasks(account.client, 3);
    const stranger = await createTask(other.client);
    const unknown = 'tk-svc-00000000000000000000000000';

    assert.deepEqual(
      await listIds(account.client, `ids=${oldest},${stranger},${newest}&ids=${newest}&ids=${unknown},constructor`),
      [newest, oldest],
    );
    assert.equal((await list(account.client, `ids=${stranger}`)).total, 0);
    assert.deepEqual(await listIds(account.client, `ids=${oldest},${newest}&status=success`), []);
    assert.equal((await list(account.client, `ids=${Array(100).fill(oldest).join()}`)).total, 1);
    await assertRejected(`ids=${Array(101).fill(oldest).join()}`, 'invalid request: ids: maxItems: got 101, want 100');
    await assertRejected('ids=', /^invalid request: ids\.0: minLength/);
    await assertRejected(`ids=${'x'.repeat(65)}`, /^invalid request: ids\.0: maxLength/);
    await assertRejected(`ids=${newest},%00`, /^invalid request: ids\.1: must not contain/);
  });

  // Proves C3-27.
  it('by metadata matches whole pairs, all of them', async () => {
    const { client } = await newAccount();
    const odd = JSON.parse('{"__proto__":"yes","clé é":"🦊,a"}') as Record<string, string>;
    const one = await createTask(client, { metadata: { order: '7', shop: 'north' } });
    const two = await createTask(client, { metadata: { order: '7', shop: 'south', note: '' } });
    const three = await createTask(client, { metadata: odd });
    const get = (pairs: Record<string, string>): Promise<string[]> =>
      listIds(client, new URLSearchParams(pairs).toString());

    assert.deepEqual(await get({ 'metadata.order': '7' }), [two, one]);
    assert.deepEqual(await get({ 'metadata.order': '7', 'metadata.shop': 'north' }), [one]);
    assert.deepEqual(await get({ 'metadata.order': '7', 'metadata.shop': 'west' }), []);
    assert.deepEqual(await get({ 'metadata.note': '' }), [two]);
    assert.deepEqual(await get({ 'metadata.__proto__': 'yes' }), [three]);
    assert.deepEqual(await get({ 'metadata.clé é': '🦊,a' }), [three]);
    for (const near of ['7 ', ' 7', '07', '8', '']) assert.deepEqual(await get({ 'metadata.order': near }), []);
    assert.deepEqual(await get({ 'metadata.Order': '7' }), []);
    assert.deepEqual(await get({ 'metadata.constructor': '' }), []);
    assert.deepEqual(await get({ 'metadata.order': '7', status: 'queued', model: 'acme/images' }), [two, one]);
    assert.deepEqual(await get({ 'metadata.order': '7', status: 'success' }), []);
  });

  it('by metadata distinguishes names and values that no task can have', async () => {
    const { client } = await newAccount();
    // Names and values are the same when concatenated: only the boundary between them differs.
    const one = await createTask(client, { metadata: { 'a\u001f': 'b' } });
    const two = await createTask(client, { metadata: { a: '\u001fb' } });

    assert.deepEqual(await listIds(client, 'metadata.a%1F=b'), [one]);
    assert.deepEqual(await listIds(client, 'metadata.a=%1Fb'), [two]);
    await assertRejected('metadata.=x', 'additional properties not allowed: metadata.');
    await assertRejected('metadata=x', 'additional properties not allowed: metadata');
    await assertRejected('metadata.a=1&metadata.a=2', 'invalid request: metadata.a: given more than once');
    await assertRejected(`metadata.a=${'x'.repeat(513)}`, /^invalid request: metadata\.a: maxLength/);
    await assertRejected(`metadata.${'x'.repeat(65)}=a`, /^invalid request: metadata/);
    await assertRejected('metadata.a=%00', /^invalid request: metadata\.a: must not contain/);
    await assertRejected('metadata.%00=a', /^invalid request: metadata: must not contain/);
    const many = Array.from({ length: 17 }, (_, index) => `metadata.k${index}=v`).join('&');
    await assertRejected(many, 'invalid request: metadata: maxProperties: got 17, want 16');
  });

  // Proves C3-27.
  it("by time excludes the tasks of the bound's own second", async () => {
    const { client } = await newAccount();
    const taskId = await createTask(client);
    const { created } = (await client.get(taskId)).body.data;

    assert.deepEqual(await listIds(client, `created_after=${created - 1}&created_before=${created + 1}`), [taskId]);
    assert.deepEqual(await listIds(client, `created_after=${created}`), []);
    assert.deepEqual(await listIds(client, `created_before=${created}`), []);
    assert.deepEqual(await listIds(client, 'created_after=9999999999'), []);
    assert.deepEqual(await listIds(client, 'created_before=9999999999&created_after=0'), [taskId]);
    assert.deepEqual(await listIds(client, 'created_before=0'), []);
  });

  it('by time rejects bounds in the wrong order, as every range does', async () => {
    const { client } = await newAccount();

    await assertRejected(
      'created_after=1803902401&created_before=1803902400',
      'invalid request: created_after: maximum: got 1803902401, want 1803902400, the value of created_before',
    );
    assert.deepEqual(await listIds(client, 'created_after=1803902400&created_before=1803902400'), []);
  });

  it('by time rejects what is not a time in Unix seconds', async () => {
    for (const name of ['created_after', 'created_before']) {
      for (const text of ['', '1.5', '2026-11-21', 'NaN', '1e9', 'infinity']) {
        await assertRejected(`${name}=${text}`, `invalid request: ${name}: type: got string, want integer`);
      }
      await assertRejected(`${name}=-1`, new RegExp(`^invalid request: ${name}: minimum`));
      await assertRejected(`${name}=1795275000000`, new RegExp(`^invalid request: ${name}: maximum`));
      await assertRejected(`${name}=${'9'.repeat(400)}`, new RegExp(`^invalid request: ${name}: `));
      await assertRejected(`${name}=1&${name}=2`, /given more than once/);
    }
  });

  it('that does not exist is rejected by name', async () => {
    for (const name of ['limit', 'Page', 'Status', 'key_id', 'createdAfter', '__proto__', 'constructor', 'status[]']) {
      await assertRejected(`${encodeURIComponent(name)}=1`, `additional properties not allowed: ${name}`);
    }
    await assertRejected(`${'x'.repeat(500)}=1`, /^additional properties not allowed: x{64}…$/);
  });

  it('of any text is answered with 200 or 400', async () => {
    const { client } = await newAccount();
    await createTask(client, { metadata: { a: 'b' } });
    const edge = fc.oneof(
      fc.constantFrom(
        '',
        '0',
        '-1',
        '1',
        '99',
        'success',
        'success,fail',
        '\0',
        '\ud800',
        '%',
        '__proto__',
        "';--",
        '$1',
      ),
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.bigInt().map(String),
    );
    const names = ['page', 'size', 'cursor', 'status', 'model', 'keyId', 'ids', 'created_after', 'created_before'];
    const name = fc.oneof(
      fc.constantFrom(...names, 'metadata.a', 'metadata.__proto__'),
      fc.string({ maxLength: 12 }),
      edge.map((text) => `metadata.${text}`),
    );

    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, edge), { maxLength: 4 }), async (pairs) => {
        const query = pairs
          .map((pair) => pair.map((text) => encodeURIComponent(Buffer.from(text).toString())).join('='))
          .join('&');
        const { status, body: answer } = await client.send('GET', `/v1/tasks?${query}`);
        assert.ok(status === 200 || status === 400, `${query}: ${JSON.stringify(answer)}`);
        if (status === 200) assert.equal(checkList(answer.data), undefined);
      }),
      { numRuns: 200 },
    );
  });
});
