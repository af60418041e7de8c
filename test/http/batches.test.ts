/** Batches over HTTP: what creating, reading, listing and cancelling accept. No workflow runs here. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import type { ApiClient } from '../support/api-client.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';
import { fileForm } from './route-requests.ts';
import { raw } from './raw-request.ts';

interface Batch {
  readonly id: string;
  readonly status: string;
}
interface Failure {
  readonly error: { readonly message: string; readonly type: string; readonly param: string | null };
}

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

async function upload(
  { client }: ServedAccount,
  purpose: string | undefined,
  text = '{"custom_id":"a"}\n',
): Promise<string> {
  const form = await fileForm(purpose === undefined ? {} : { purpose }, text, 'lines.jsonl');
  const headers = { ...form.headers, Authorization: `Bearer ${client.key}` };
  const answer = await raw(served.url, 'POST', '/v1/files', headers, form.body);
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { id: string }).id;
}

async function create(of: ServedAccount, changes: Readonly<Record<string, unknown>> = {}) {
  const file = 'input_file_id' in changes ? {} : { input_file_id: await upload(of, 'batch') };
  const body = { ...file, endpoint: '/v1/tasks', completion_window: '24h', ...changes };
  const answer = await of.client.send('POST', '/v1/batches', body);
  return { status: answer.status, body: answer.body as unknown as Batch & Failure };
}

/** The body of a batch of a file of its own. */
const bodyOf = async (of: ServedAccount) => ({
  input_file_id: await upload(of, 'batch'),
  endpoint: '/v1/tasks',
  completion_window: '24h',
  metadata: { order: '7', a: 'b' },
});

async function batchesOf({ id }: ServedAccount): Promise<number> {
  const select = { name: 'batches_of_account', text: 'SELECT 1 FROM batches WHERE account_id = $1' };
  return (await served.room.database.query(select, [id])).length;
}

describe('POST /v1/batches', () => {
  const rejected: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
    ['an endpoint that has no batches', { endpoint: '/v1/embeddings' }, 'endpoint'],
    ['another window', { completion_window: '1h' }, 'completion_window'],
    ['a file that does not exist', { input_file_id: 'file-01JZ3V5W8Q4Y7N2K9M6B1C0D3F' }, 'input_file_id'],
    ['a text that is no id', { input_file_id: '../etc' }, 'input_file_id'],
    [
      '17 members of metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, 'v'])) },
      'metadata',
    ],
    ['metadata that is no text', { metadata: { k: 7 } }, 'metadata.k'],
    ['a name in metadata of 65 characters', { metadata: { ['k'.repeat(65)]: 'v' } }, 'metadata'],
    ['metadata without a name', { metadata: { '': 'v' } }, 'metadata'],
    ['metadata with U+0000, which cannot be stored', { metadata: { order: '\u0000' } }, 'metadata.order'],
    ['metadata with half of a surrogate pair', { metadata: { order: '\ud800' } }, 'metadata.order'],
    [
      'results that are kept too long',
      { output_expires_after: { anchor: 'created_at', seconds: 2_592_001 } },
      'output_expires_after.seconds',
    ],
    ['an unknown field', { priority: 'high' }, 'priority'],
  ];
  for (const [what, changes, param] of rejected) {
    it(`rejects ${what}, and names the field`, async () => {
      const { status, body } = await create(account, changes);
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(body.error.type, 'invalid_request_error');
      assert.equal(body.error.param, param);
    });
  }

  // Proves C10-19.
  it('rejects a file with another purpose', async () => {
    const { status, body } = await create(account, { input_file_id: await upload(account, 'user_data') });
    assert.equal(status, 400);
    assert.match(body.error.message, /purpose user_data/);
  });

  it('rejects the file of another account as one that does not exist', async () => {
    const stranger = await served.newAccount();
    const { status, body } = await create(account, { input_file_id: await upload(stranger, 'batch') });
    assert.equal(status, 400);
    assert.match(body.error.message, /there is no such file/);
  });

  // Proves C10-19.
  it('is denied to short-lived tokens and to keys that may not create tasks', async () => {
    const token = await account.client.send('POST', '/v1/tokens', { scopes: ['tasks:write', 'storage:write'] });
    assert.equal(token.status, 200, JSON.stringify(token.body));
    const body = await bodyOf(account);
    const { token: secret } = token.body.data as unknown as { token: string };
    const reader = await account.newKey({ scopes: ['tasks:read'] });
    for (const key of [secret, reader.client.key]) {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const answer = await raw(served.url, 'POST', '/v1/batches', headers, JSON.stringify(body));
      assert.equal(answer.status, 403, answer.text);
    }
  });

  describe('with an Idempotency-Key', () => {
    const keyed = async ({ client }: { client: ApiClient }, sent: object, key: string, retryCount = '0') => {
      const headers = { 'Idempotency-Key': key, 'X-Stainless-Retry-Count': retryCount };
      const answer = await client.send('POST', '/v1/batches', sent, headers);
      return { status: answer.status, body: answer.body as unknown as Batch & Failure & { error_code: string } };
    };

    it('creates one batch, also for several requests at the same moment', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      const repeated = { ...body, metadata: { a: 'b', order: '7' } };
      const answers = await Promise.all([body, repeated, body].map((sent) => keyed(own, sent, 'night-1')));

      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
      );
      assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1);
      assert.equal(await batchesOf(own), 1);
    });

    it('returns its batch days later, when the input is gone, and to another key of the account', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      const first = await keyed(own, body, 'night-1');
      const age = `UPDATE batches SET created_at = created_at - interval '20 days' WHERE account_id = $1`;
      await served.room.database.query({ name: 'age_keyed_batches', text: age }, [own.id]);
      await own.client.send('DELETE', `/v1/files/${body.input_file_id}`);
      const again = await keyed(await own.newKey(), body, '"night-1"', '1');

      assert.equal(again.status, 200, JSON.stringify(again.body));
      assert.equal(again.body.id, first.body.id);
      assert.equal(await batchesOf(own), 1);
    });

    it('creates a batch for each key and account, also where a request is an automatic retry', async () => {
      const own = await served.newAccount();
      const stranger = await served.newAccount();
      const body = await bodyOf(own);
      const ids = [
        await keyed(own, body, 'night-1'),
        await keyed(own, body, 'night-2', '1'),
        await keyed(stranger, await bodyOf(stranger), 'night-1'),
      ].map((answer) => answer.body.id);

      assert.equal(new Set(ids).size, 3);
      assert.ok(ids.every((id) => /^batch_Z[0-9A-Z]{25}$/.test(id)));
    });

    it('rejects another request with the same key', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      await keyed(own, body, 'night-1');
      for (const change of [
        { metadata: null },
        { endpoint: '/v1/videos' },
        { output_expires_after: { anchor: 'created_at', seconds: 3_600 } },
        { input_file_id: await upload(own, 'batch') },
      ]) {
        const answer = await keyed(own, { ...body, ...change }, 'night-1');
        assert.equal(answer.status, 422, JSON.stringify(answer.body));
        assert.equal(answer.body.error_code, 'IDEMPOTENCY_KEY_MISMATCH');
      }
      assert.equal(await batchesOf(own), 1);
    });

    it('rejects a key that is none', async () => {
      const body = await bodyOf(account);
      for (const key of ['', 'a b', 'k'.repeat(256)]) {
        const { status } = await keyed(account, body, key);
        assert.equal(status, 400, key);
      }
    });
  });

  describe('as an automatic retry', () => {
    const retryOf = async ({ client }: { client: ApiClient }, sent: object, count = '1'): Promise<string> => {
      const answer = await client.send('POST', '/v1/batches', sent, { 'X-Stainless-Retry-Count': count });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return (answer.body as unknown as Batch).id;
    };

    it('returns the batch of the attempt before, also of several at the same moment', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      const first = await retryOf(own, body, '0');
      const retried = { ...body, metadata: { a: 'b', order: '7' } };
      const ids = await Promise.all(['1', '2', '3'].map((count) => retryOf(own, retried, count)));

      assert.deepEqual(ids, [first, first, first]);
      assert.equal(await batchesOf(own), 1);
    });

    it('creates the batch once if the attempt before has not', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      const ids = await Promise.all(['1', '1', '1'].map((count) => retryOf(own, body, count)));

      assert.equal(new Set(ids).size, 1);
      assert.equal(await batchesOf(own), 1);
    });

    it('creates a batch for another request, another key, and after ten minutes', async () => {
      const own = await served.newAccount();
      const body = await bodyOf(own);
      const first = await retryOf(own, body, '0');
      const others = [
        await retryOf(own, body, '0'),
        await retryOf(own, { ...body, metadata: null }),
        await retryOf(own, { ...body, endpoint: '/v1/videos' }),
        await retryOf(own, { ...body, output_expires_after: { anchor: 'created_at', seconds: 3_600 } }),
        await retryOf(own, { ...body, input_file_id: await upload(own, 'batch') }),
        await retryOf(await own.newKey(), body),
      ];
      const age = `UPDATE batches SET created_at = created_at - interval '601 seconds' WHERE account_id = $1`;
      await served.room.database.query({ name: 'age_batches', text: age }, [own.id]);
      others.push(await retryOf(own, body));

      assert.equal(new Set([first, ...others]).size, 8);
    });

    it("is what OpenAI's client sends when a response is lost", async () => {
      const own = await served.newAccount();
      const counts: (string | null)[] = [];
      const client = new OpenAI({
        apiKey: own.client.key,
        baseURL: `${served.url}/v1`,
        async fetch(url, init) {
          const response = await fetch(url, init);
          counts.push(new Headers(init?.headers).get('x-stainless-retry-count'));
          if (counts.length > 1) return response;
          await response.text();
          throw new TypeError('the connection broke');
        },
      });
      const { input_file_id: input } = await bodyOf(own);
      const request = { input_file_id: input, endpoint: '/v1/videos', completion_window: '24h' } as const;
      const { id } = await client.batches.create(request);

      assert.deepEqual(counts, ['0', '1']);
      assert.equal(await batchesOf(own), 1);
      assert.equal((await client.batches.retrieve(id)).status, 'validating');
    });
  });

  // Proves C10-19.
  it('rejects the 101st batch in progress, also of several at the same moment', async () => {
    const own = await served.newAccount();
    const input = await upload(own, 'batch');
    const created = await Promise.all(
      Array.from({ length: 103 }, () => create(own, { input_file_id: input }).then(({ status }) => status)),
    );
    assert.equal(created.filter((status) => status === 200).length, 100);
    assert.equal(created.filter((status) => status === 429).length, 3);
    assert.equal(await batchesOf(own), 100);
  });
});

describe('GET /v1/batches', () => {
  // Proves C10-24.
  it('lists the newest first, page by page', async () => {
    const own = await served.newAccount();
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift((await create(own)).body.id);
    const page = async (query: string) => {
      const { body } = await own.client.send('GET', `/v1/batches?${query}`);
      const { data, has_more: hasMore } = body as unknown as { data: Batch[]; has_more: boolean };
      return { ids: data.map(({ id }) => id), hasMore };
    };
    assert.deepEqual(await page('limit=2'), { ids: ids.slice(0, 2), hasMore: true });
    assert.deepEqual(await page(`limit=2&after=${ids[1]}`), { ids: ids.slice(2), hasMore: false });
    assert.equal((await own.client.send('GET', '/v1/batches?limit=101')).status, 400);
    assert.equal((await account.client.send('GET', `/v1/batches?after=${ids[0]}`)).status, 400, 'of another account');
  });
});

describe('POST /v1/batches/{batchId}/cancel', () => {
  // Proves C10-24.
  it('may be repeated, and has no effect by another account', async () => {
    const { body } = await create(account);
    const stranger = await served.newAccount();
    assert.equal((await stranger.client.send('POST', `/v1/batches/${body.id}/cancel`)).status, 404);
    const read = await account.client.send('GET', `/v1/batches/${body.id}`);
    assert.equal((read.body as unknown as Batch).status, 'validating');
    for (let count = 0; count < 2; count++) {
      const answer = await account.client.send('POST', `/v1/batches/${body.id}/cancel`);
      assert.equal(answer.status, 200);
      assert.equal((answer.body as unknown as Batch).status, 'cancelling');
    }
  });
});
