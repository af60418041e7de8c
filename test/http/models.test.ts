/** `GET /v1/models` and `GET /v1/models/{id}`, and what the API reports about deprecated models (contract §8). */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { ModelDetailSchema, ModelListSchema } from '@darkroom/api/tasks/model';
import { definition } from '../catalogue/definitions.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const DEPRECATED_AT = 1_780_000_000;
const RETIRES_AT = 1_800_000_000;
const OLD = definition({
  name: 'acme/deep/old',
  deprecatedAt: DEPRECATED_AT,
  retiresAt: RETIRES_AT,
  replacement: 'acme/images',
});

let now = Date.now();
let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({ now: () => now, models: [OLD] });
  account = await served.newAccount();
});
after(() => served.close());
beforeEach(() => {
  now = DEPRECATED_AT * 1000;
});

const checkList = compileCheck(ModelListSchema, 'invalid request');
const checkDetail = compileCheck(ModelDetailSchema, 'invalid request');

interface Listed {
  readonly object: string;
  readonly data: readonly { readonly id: string }[];
}

async function idsFor(client = account.client): Promise<readonly string[]> {
  const answer = await client.send('GET', '/v1/models');
  assert.equal(answer.status, 200);
  assert.equal(checkList(answer.body), undefined);
  return (answer.body as unknown as Listed).data.map(({ id }) => id);
}

const oldModel = (path = 'acme/deep/old', client = account.client): Promise<ApiAnswer> =>
  client.send('GET', `/v1/models/${path}`);

/** The headers of a response about the model's deprecation. */
const deprecationHeaders = ({ headers }: ApiAnswer): readonly (string | null)[] => [
  headers.get('deprecation'),
  headers.get('sunset'),
];
const COUNTED = [`@${DEPRECATED_AT}`, 'Fri, 15 Jan 2027 08:00:00 GMT'];

describe('the list of models', () => {
  // Proves C8-1, C8-2.
  it('is in the OpenAI format, without the envelope and with our additions', async () => {
    const { status, headers, body: answer } = await account.client.send('GET', '/v1/models');

    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    const { object, data } = answer as unknown as Listed;
    assert.equal(object, 'list');
    assert.deepEqual(
      data.find(({ id }) => id === 'acme/deep/old'),
      {
        id: 'acme/deep/old',
        object: 'model',
        created: OLD.created,
        owned_by: 'acme',
        shutdown_date: RETIRES_AT,
        modality: 'image',
        endpoints: ['/v1/tasks'],
        description: 'For tests.',
        routes: ['default'],
        pricing: OLD.pricing,
        deprecation: DEPRECATED_AT,
        replacement: 'acme/images',
      },
    );
    assert.deepEqual(Object.keys(data[0] ?? {}).sort(), Object.keys(data.at(-1) ?? {}).sort());
  });

  it('shows nothing of the upstreams behind a model', async () => {
    const { body: answer } = await account.client.send('GET', '/v1/models');

    assert.doesNotMatch(JSON.stringify(answer), /upstream|protocol|embedded/i);
  });

  it('has only the models that the key may use', async () => {
    const { client } = await account.newKey({ models: ['acme/free', 'no/such/model'] });

    assert.deepEqual(await idsFor(client), ['acme/free']);
  });

  // Proves C8-5.
  it('omits a model from the second in which it retires', async () => {
    now = RETIRES_AT * 1000 - 1;
    assert.ok((await idsFor()).includes('acme/deep/old'));

    now = RETIRES_AT * 1000;
    assert.ok(!(await idsFor()).includes('acme/deep/old'));
    assert.ok((await idsFor()).includes('acme/images'));
  });
});

describe('one model', () => {
  // Proves C8-3.
  it('is found with its slashes as they are and encoded, with the exact schema that is enforced', async () => {
    for (const path of ['acme/deep/old', 'acme%2Fdeep%2Fold', 'acme%2Fdeep/old', 'acme/%64eep/old']) {
      const answer = await oldModel(path);
      assert.equal(answer.status, 200, path);
      assert.equal(checkDetail(answer.body), undefined);
      const detail = answer.body as unknown as { id: string; input_schema: object; examples: object };
      assert.equal(detail.id, 'acme/deep/old');
      assert.deepEqual(detail.input_schema, OLD.inputSchema);
      assert.deepEqual(detail.examples, OLD.examples);
    }
  });

  it('is not found by a similar name', async () => {
    const names = ['acme', 'acme/', '/', '//', 'acme/Images', 'acme/images/', 'acme/images@default', 'a%00b'];
    for (const name of [...names, 'acme/routed@fast', '__proto__', 'constructor', 'x'.repeat(5_000), '%F0%9F%A6%8A']) {
      const answer = await oldModel(name);
      assert.equal(answer.status, 404, name);
      assert.equal(answer.body.error_code, 'NOT_FOUND');
    }
    const { message } = (await oldModel('acme/images@default')).body;
    assert.equal(message, 'no model is called "acme/images@default"; GET /v1/models lists the models');
    assert.ok([400, 404].includes((await oldModel('%')).status));
  });

  it('is denied to a key that may not use it', async () => {
    const { client } = await account.newKey({ models: ['acme/free'] });

    const answer = await oldModel('acme/deep/old', client);

    assert.equal(answer.status, 403);
    assert.equal(answer.body.error_code, 'FORBIDDEN');
  });
});

describe('a deprecated model', () => {
  // Proves C8-4.
  it('is marked as such in every response about it, and in no other', async () => {
    const old = await account.client.create(body({ model: 'acme/deep/old' }), 'k');
    const replayed = await account.client.create(body({ model: 'acme/deep/old' }), 'k');
    const current = await account.client.create(body());

    assert.equal(old.status, 200);
    assert.equal(replayed.headers.get('idempotent-replay'), 'true');
    for (const answer of [
      old,
      replayed,
      await account.client.get(old.body.data.taskId),
      await account.client.send('POST', '/v1/tasks/estimate', body({ model: 'acme/deep/old@default' })),
      await oldModel(),
    ]) {
      assert.deepEqual(deprecationHeaders(answer), COUNTED);
    }
    for (const answer of [
      current,
      await account.client.get(current.body.data.taskId),
      await account.client.send('POST', '/v1/tasks/estimate', body()),
      await oldModel('acme/images'),
    ]) {
      assert.deepEqual(deprecationHeaders(answer), [null, null]);
    }
  });

  // Proves S2.1-1, S9.4-1, C1-6, C2-25, C8-5.
  it('is rejected once it is retired, by name and with its replacement, while its tasks continue', async () => {
    const { body: created } = await account.client.create(body({ model: 'acme/deep/old' }), 'before');
    now = RETIRES_AT * 1000;

    const rejected = await account.client.create(body({ model: 'acme/deep/old' }));
    const replayed = await account.client.create(body({ model: 'acme/deep/old' }), 'before');
    const estimate = await account.client.send('POST', '/v1/tasks/estimate', body({ model: 'acme/deep/old' }));
    const running = await account.client.get(created.data.taskId);

    for (const answer of [rejected, estimate]) {
      assert.equal(answer.status, 400);
      assert.equal(answer.body.error_code, 'MODEL_UNAVAILABLE');
      assert.match(answer.body.message, /"acme\/deep\/old" was retired .* use "acme\/images"$/);
    }
    assert.equal((await oldModel()).status, 404);
    assert.equal(replayed.body.data.taskId, created.data.taskId);
    assert.equal(running.body.data.status, 'queued');
    assert.deepEqual(deprecationHeaders(running), COUNTED);

    await served.succeed(created.data.taskId, Buffer.from('image'));
    assert.equal((await account.client.get(created.data.taskId)).body.data.status, 'success');
  });
});
