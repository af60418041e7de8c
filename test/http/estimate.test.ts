/** `POST /v1/tasks/estimate` (contract §4): what a create would cost, and all that is wrong with it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import { definition } from '../catalogue/definitions.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const VIDEO = definition({
  name: 'acme/video',
  modality: 'video',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['prompt'],
    properties: {
      prompt: { type: 'string', maxLength: 100 },
      image_urls: { type: 'array', maxItems: 3, items: { type: 'string', contentMediaType: 'image/*' } },
      duration: { type: 'integer', minimum: 1, maximum: 30 },
      draft: { type: 'boolean' },
    },
  },
  pricing: {
    unit: 'second',
    usd: '0.05',
    duration: { field: 'duration', default: 5 },
    factors: [{ field: 'draft', value: true, factor: '0.25' }],
  },
  limits: {},
});

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({ models: [VIDEO] });
  account = await served.newAccount();
});
after(() => served.close());

const check = compileCheck(EstimateSchema, 'invalid request');

const ask = (request: unknown, client: ApiClient = account.client): Promise<ApiAnswer> =>
  client.send('POST', '/v1/tasks/estimate', request);

async function estimate(request: unknown, client?: ApiClient): Promise<WireEstimate> {
  const answer = await ask(request, client);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(check(answer.body.data), undefined);
  return answer.body.data as unknown as WireEstimate;
}

const video = (input: Record<string, unknown>, changes: object = {}): object => ({
  model: 'acme/video',
  input: { prompt: 'a fox', ...input },
  ...changes,
});

describe('the estimate of a valid request', () => {
  // Proves C4-6.
  it('returns the worst case and how it is computed', async () => {
    assert.deepEqual(await estimate(video({ duration: 7, draft: true })), {
      maxCost: '0.0875',
      currency: 'USD',
      breakdown: [
        {
          unit: 'second',
          quantity: '7',
          unitPrice: '0.05',
          factors: [{ field: 'draft', value: true, factor: '0.25' }],
          amount: '0.0875',
        },
      ],
      model: 'acme/video',
      route: 'default',
      balanceSufficient: true,
      errors: [],
      violations: [],
    });
  });

  // Proves C4-6, C7-34.
  it('equals the hold of a create, for every model of the catalogue', async () => {
    for (const request of [
      body(),
      body({ input: { prompt: 'a', resolution: '2k' } }),
      body({ model: 'acme/free' }),
      body({ model: 'acme/routed@fast' }),
      video({}),
      video({ duration: 30 }, { maxCost: '1.5' }),
    ]) {
      const { maxCost, model, route, errors } = await estimate(request);
      const { body: created } = await account.client.create(request);
      const { data: task } = (await account.client.get(created.data.taskId)).body;
      assert.deepEqual(errors, []);
      assert.equal(task.billing.held, maxCost);
      assert.equal(task.model, model);
      assert.equal((task as unknown as { route?: string }).route ?? 'default', route);
    }
  });

  // Proves C4-6.
  it('changes nothing: no task, no money, no ledger entry', async () => {
    const { id, client } = await served.newAccount();
    const state = (): Promise<readonly unknown[]> =>
      served.room.rows(
        `SELECT c.*, (SELECT count(*) FROM tasks WHERE account_id = $1) AS tasks,
                (SELECT count(*) FROM ledger_entries WHERE account_id = $1) AS entries
           FROM account_counters c WHERE account_id = $1`,
        id,
      );
    const before = await state();

    await Promise.all(Array.from({ length: 5 }, () => estimate(video({ duration: 30 }), client)));

    assert.deepEqual(await state(), before);
  });

  // Proves C4-6.
  it('reports whether the balance covers it, to the micro', async () => {
    const { client } = await served.newAccount({ microUsd: 250_000n });

    assert.equal((await estimate(video({}), client)).balanceSufficient, true);
    assert.equal((await estimate(video({ duration: 6 }), client)).balanceSufficient, false);
    assert.deepEqual((await estimate(video({ duration: 6 }), client)).errors, []);
    const penniless = await served.newAccount({ microUsd: 0n });
    assert.equal((await estimate(video({}), penniless.client)).balanceSufficient, false);
    assert.equal((await estimate(body({ model: 'acme/free' }), penniless.client)).balanceSufficient, true);
  });

  it('includes the spend caps of the key, which a hold has used up in part', async () => {
    const { client } = await account.newKey({ spendCaps: { totalMicroUsd: 300_000n } });
    assert.equal((await estimate(video({ duration: 6 }), client)).balanceSufficient, true);
    assert.equal((await estimate(video({ duration: 7 }), client)).balanceSufficient, false);

    assert.equal((await client.create(video({}))).status, 200);

    assert.equal((await estimate(video({ duration: 1 }), client)).balanceSufficient, true);
    assert.equal((await estimate(video({ duration: 2 }), client)).balanceSufficient, false);
  });
});

describe('the estimate of an invalid request', () => {
  // Proves S2.5-3, C4-7.
  it('lists all validation errors, in the forms of the contract', async () => {
    const request = {
      model: 'acme/video',
      input: { image_urls: ['a', 'b', 'c', 'd'], duration: 31, size: 1 },
      route: 'fast',
      callback: { url: 'https://127.0.0.1/hook', when: 'always' },
      storage: 'forever',
      metadata: { order: 7 },
      maxCost: 0.5,
      timeoutSeconds: 3_601,
      priority: 'high',
    };

    const { errors, maxCost, breakdown, balanceSufficient, model, route } = await estimate(request);

    assert.deepEqual([...errors].sort(), [
      'additional properties not allowed: priority',
      'additional properties not allowed: size',
      'invalid input: duration: maximum: got 31, want 30',
      'invalid input: image_urls: maxItems: got 4, want 3',
      'invalid input: missing property: prompt',
      'invalid request: callback.when: enum: got "always", want one of "final"',
      'invalid request: maxCost: type: got number, want string',
      'invalid request: metadata.order: type: got integer, want string',
      'invalid request: route: got "fast", want one of "default"',
      'invalid request: storage: enum: got "forever", want one of "temp", "persistent"',
      'invalid request: timeoutSeconds: maximum: got 3601, want 3600',
    ]);
    assert.deepEqual([maxCost, breakdown, balanceSufficient], [null, [], null]);
    assert.deepEqual([model, route], ['acme/video', null]);
  });

  it('states each error also without its field, for a page that shows it there', async () => {
    const { errors, violations } = await estimate(video({ duration: 31, size: 1 }));

    assert.deepEqual(
      violations.map(({ message, problem, field }) => [message, problem, field]),
      [
        [errors[0], 'additional properties not allowed', 'input.size'],
        [errors[1], 'maximum: got 31, want 30', 'input.duration'],
      ],
    );
  });

  it('has a price when the errors do not affect it', async () => {
    const { maxCost, errors } = await estimate(video({ prompt: 7, colour: 'red', duration: 10 }));

    assert.equal(maxCost, '0.5');
    assert.equal(errors.length, 2);
  });

  it('reports a forbidden callback URL, and a cost above the maximum', async () => {
    const request = video({}, { callback: { url: 'https://127.0.0.1/hook' }, maxCost: '0.249999' });
    const { errors, violations } = await estimate(request);
    assert.deepEqual(
      violations.map(({ message, field, keyword }) => [message, field, keyword]),
      [
        [errors[0], 'callback.url', 'url'],
        [errors[1], 'maxCost', 'maxCost'],
      ],
    );
    const { body: rejected } = await account.client.create(request);
    assert.deepEqual(rejected, { code: 400, message: errors[0], data: null, error_code: 'INVALID_REQUEST' });

    assert.deepEqual(errors, [
      'invalid request: callback.url: 127.0.0.1 is not a public address; the operator can allow it with EGRESS_ALLOW=127.0.0.1:443',
      'invalid request: maxCost: the task can cost up to 0.25 USD, above 0.249999',
    ]);
  });

  it('reports every URL in the input that a create would reject, once its form is valid', async () => {
    const image_urls = ['https://10.0.0.1/a.png', 'https://example.com/b.png', 'ftp://example.com/c.png'];

    const { errors, maxCost } = await estimate(video({ image_urls }));

    assert.equal(errors.length, 2);
    assert.match(errors[0] ?? '', /^invalid input: image_urls\.0: 10\.0\.0\.1 is not a public address/);
    assert.match(errors[1] ?? '', /^invalid input: image_urls\.2: /);
    assert.equal(maxCost, '0.25');
    assert.equal((await account.client.create(video({ image_urls }))).body.message, errors[0]);
  });

  it('reports routes that contradict each other, and text that cannot be stored', async () => {
    const { errors, model } = await estimate(
      body({ model: 'acme/routed@fast', route: 'default', input: { prompt: 'a\u0000b' } }),
    );

    assert.equal(model, 'acme/routed');
    assert.deepEqual(errors, [
      'invalid request: route: the model name says "fast" and route says "default"; give one',
      'invalid input: prompt: must not contain U+0000 or half of a surrogate pair',
    ]);
  });

  // Proves C4-7.
  it('begins with the error that a create would return', async () => {
    const requests: unknown[] = [
      {},
      { input: {} },
      { model: 'acme/video' },
      { model: null, input: {} },
      { model: 7, input: [] },
      { model: '', input: {} },
      { model: 'acme/video', input: null },
      { model: 'acme/video', input: 'a fox' },
      { model: 'acme/video', input: {}, route: null },
      { model: 'acme/video', input: { prompt: 'a' }, callback: null },
      video({ duration: 1e300 }),
      video({ duration: 1.5 }),
      video({ duration: '5' }),
      video({ duration: -1 }),
      JSON.parse('{"model":"acme/video","input":{"prompt":"a","__proto__":{"draft":true}}}'),
      JSON.parse('{"model":"acme/video","input":{"prompt":"a"},"__proto__":1}'),
      { model: 'acme/video', input: { prompt: 'a' }, route: 'x'.repeat(65) },
    ];
    for (const request of requests) {
      const created = await account.client.create(request);
      assert.equal(created.status, 400, JSON.stringify(request));
      const { errors } = await estimate(request);
      assert.ok(errors.includes(created.body.message), `${created.body.message} is not in ${JSON.stringify(errors)}`);
    }
  });

  it('names no route when the given one is malformed', async () => {
    for (const route of [null, 7, 'x'.repeat(65), 'Default'])
      assert.equal((await estimate(video({}, { route }))).route, null);
    for (const route of ['', 'default']) assert.equal((await estimate(video({}, { route }))).route, 'default');
  });

  it('is rejected only when the model is unknown, or not allowed for this key', async () => {
    for (const model of ['acme/Video', 'no-such', '__proto__', 'acme/video ', '@fast']) {
      const answer = await ask(body({ model }));
      assert.equal(answer.status, 400, model);
      assert.equal(answer.body.error_code, 'MODEL_UNAVAILABLE');
    }
    const { client } = await account.newKey({ models: ['acme/free'] });
    assert.equal((await ask(video({}), client)).body.error_code, 'FORBIDDEN');
    assert.equal((await ask(body({ model: 'acme/free' }), client)).status, 200);
  });

  it('reports only the first errors when a body has too many', async () => {
    const members = (length: number) => Array.from({ length }, (_, index) => `"f${index}":1`).join(',');
    const many = members(9_990);

    const inside = await estimate(`{"model":"acme/video","input":{"prompt":"a",${many}}}`);
    const beside = await estimate(`{"model":"acme/video","input":{"prompt":"a"},${many}}`);

    for (const { errors } of [inside, beside]) {
      assert.equal(errors[0], 'additional properties not allowed: f0');
      assert.equal(errors.length, 100);
    }
    assert.equal(beside.maxCost, '0.25');
    // An object with more members is not parsed at all.
    const tooMany = await ask(`{"model":"acme/video","input":{"prompt":"a",${members(300_000)}}}`);
    assert.equal(tooMany.status, 400);
    assert.match(tooMany.body.message, /an object of more than 10000 members/);
  });
});

describe('requesting an estimate', () => {
  it('needs the scope of a create, and counts toward the read rate limit', async () => {
    const { client } = await account.newKey({ scopes: ['tasks:read', 'models:read'] });
    assert.equal((await ask(video({}), client)).status, 403);

    const slow = await served.newAccount({ createsPerMinute: 1, readsPerMinute: 5 });
    for (let count = 0; count < 3; count++) assert.equal((await ask(video({}), slow.client)).status, 200);
    assert.equal((await ask(video({}), slow.client)).headers.get('x-ratelimit-limit'), '5');
  });
});
