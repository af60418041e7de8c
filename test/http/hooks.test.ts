/** `POST /hooks/{upstream}/{token}`, which providers call. */
import assert from 'node:assert/strict';
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import type { ModelDefinition, Upstream } from '../../src/catalogue/definition.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createHookUrls, readProviderHooks } from '../../src/upstreams/provider-hooks.ts';
import type { HookRules } from '../../src/providers/hooks/hook-rules.ts';
import { definition } from '../catalogue/definitions.ts';
import { JOBS } from '../providers/http/recorder.ts';
import { newTask } from './route-requests.ts';
import { SIGNING_KEY, serveApp } from './serve.ts';

const signing = generateKeyPairSync('ed25519');
const keyServer = createServer((_request, response) =>
  response.end(JSON.stringify({ keys: [signing.publicKey.export({ format: 'jwk' })] })),
);
keyServer.listen(0, '127.0.0.1');
await once(keyServer, 'listening');
const keysUrl = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`;

const AT = { protocol: 'http', baseUrl: 'http://127.0.0.1', model: 'any/model' };
const OTHER = { ...AT, id: 'other', http: JOBS };
const REPLICATING = { ...AT, id: 'replicating', protocol: 'replicate', webhookSecret: 'standard' };

/** The second upstream of each of these models has its name. */
function calledModel(id: string, hook: HookRules | undefined): ModelDefinition {
  const http = {
    ...JOBS,
    submit: { path: "'/jobs'", body: '{ "url": $hookUrl, "secret": $hookSecret }' },
    ...(hook === undefined ? {} : { hook }),
  };
  const upstream = { ...AT, id, http };
  return modelAt(upstream);
}

function modelAt(upstream: Upstream & { readonly id: string }): ModelDefinition {
  return definition({ name: upstream.id, routes: { default: { upstreams: [OTHER, upstream] } } });
}

const WHSEC = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const lines: string[] = [];
const served = await serveApp({
  logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
  environment: { EGRESS_ALLOW: keysUrl, UPSTREAM_STANDARD_KEY: WHSEC },
  models: [
    calledModel('challenging', { challenge: { member: 'challenge' } }),
    calledModel('renaming', { challenge: { member: 'ask', answer: 'reply' } }),
    calledModel('standard', { verify: { scheme: 'standard-webhooks', secret: 'standard' } }),
    calledModel('keyless', { verify: { scheme: 'standard-webhooks', secret: 'none' } }),
    calledModel('hmac', {
      verify: { scheme: 'hmac-sha256', header: 'x-sign', prefix: 'sha256=' },
      challenge: { member: 'challenge' },
    }),
    calledModel('fal', { verify: { scheme: 'fal-ed25519', jwksUrl: `${keysUrl}/jwks.json` } }),
    modelAt(REPLICATING),
  ],
});
after(async () => {
  keyServer.close();
  await served.close();
});
const { database } = served.room;
const urls = createHookUrls({ publicUrl: served.url, signingKey: SIGNING_KEY });
const account = await served.newAccount();

function hookOf(taskId: TaskId, name = 'replicate:example.org'): string {
  return urls.urlFor({ name, baseUrl: served.url }, taskId) ?? assert.fail('there is no address');
}

async function call(url: string, body: string | Buffer = '{}', headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body, headers });
  await answer.arrayBuffer();
  return answer.status;
}

/** A task of one of the models above, and the address that its upstream of that name was given. */
async function newCalledTask(name: string): Promise<{ readonly taskId: TaskId; readonly url: string }> {
  const taskId = (await newTask(account, { model: name })) as TaskId;
  return { taskId, url: hookOf(taskId, name) };
}

const outcomesOf = async (upstream: string): Promise<Readonly<Record<string, number>>> => {
  const metric = await served.http.metrics.registry.getSingleMetric('darkroom_provider_hooks_total')?.get();
  const values = (metric?.values ?? []).filter(({ labels }) => labels['upstream'] === upstream);
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels['outcome']), value]));
};

const receivedOf = async (taskId: TaskId): Promise<number> =>
  (await readProviderHooks(database, [taskId]))[0]?.received ?? 0;

describe('a hook of a provider', () => {
  // Proves C0-5.
  it('is counted whatever its body and type are up to 256 kB, and changes nothing of the task', async () => {
    const taskId = (await newTask(account)) as TaskId;
    const { body: before } = await account.client.get(taskId);

    for (const [body, type] of [
      ['{"status":"succeeded"}', 'application/json'],
      ['', 'text/plain'],
      ['{"status":', 'application/json'],
      [Buffer.from([0xff, 0xfe]), 'application/octet-stream'],
    ] as const) {
      assert.equal(await call(hookOf(taskId), body, { 'content-type': type }), 200);
    }
    assert.equal(await call(hookOf(taskId), Buffer.alloc(256_001)), 413);

    assert.equal(await receivedOf(taskId), 4);
    const { body: after } = await account.client.get(taskId);
    assert.deepEqual(after, before);
  });

  it('is 404 and leaves nothing behind when its token is forged or of another upstream', async () => {
    const taskId = (await newTask(account)) as TaskId;
    const [upstream = '', token = ''] = new URL(hookOf(taskId)).pathname.split('/').slice(2);
    const forged = [
      `${served.url}/hooks/${upstream}/${taskId}.AAAAAAAAAAAAAAAAAAAAAA`,
      `${served.url}/hooks/other/${token}`,
      `${served.url}/hooks/${upstream}/${token.slice(1)}`,
      `${served.url}/hooks/${upstream}/x`,
    ];

    for (const url of forged) assert.equal(await call(url), 404, url);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('is answered like any other, and leaves nothing behind, for an ended or unknown task', async () => {
    const over = (await newTask(account)) as TaskId;
    await account.client.send('POST', `/v1/tasks/${over}/cancel`);
    const unknownTaskId = newTaskId();

    for (const taskId of [over, unknownTaskId]) {
      assert.equal(await call(hookOf(taskId)), 200);
      assert.equal(await receivedOf(taskId), 0);
    }
  });
});

describe('a challenge of a provider', () => {
  const post = async (url: string, value: unknown) => {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(value) });
    const answered: unknown = await answer.json();
    return { status: answer.status, body: answered };
  };

  it('is answered with its value, as often as it is made, and is no hint', async () => {
    const { taskId, url } = await newCalledTask('challenging');

    for (const challenge of ['a word', 'a word', 17, '<script>']) {
      assert.deepEqual(await post(url, { challenge, more: true }), { status: 200, body: { challenge } });
    }
    assert.equal(await receivedOf(taskId), 0);
    assert.deepEqual((await outcomesOf('challenging'))['challenge'], 4);
    const renaming = await newCalledTask('renaming');
    assert.deepEqual(await post(renaming.url, { ask: 'x' }), { status: 200, body: { reply: 'x' } });
  });

  it('is every call that has the member, and no other', async () => {
    const { taskId, url } = await newCalledTask('challenging');
    const hints = ['{"status":"success"}', '{"challenge":null}', '["challenge"]', '"challenge"', '{"challenge":', ''];

    for (const body of hints) assert.equal(await call(url, body), 200, body);
    // Too large for a challenge, and as large as a hint may be.
    const large = `{"challenge":"x","more":"${'x'.repeat(256_000 - 27)}"}`;
    assert.equal(await call(url, large), 200);
    assert.equal(await receivedOf(taskId), hints.length + 1);
  });

  it('is 400 with a value that is too long, of another type or not visible, and 413 above 256 kB', async () => {
    const { taskId, url } = await newCalledTask('challenging');

    assert.equal((await post(url, { challenge: 'x'.repeat(1_024) })).status, 200);
    for (const challenge of ['x'.repeat(1_025), '', 'a\nb', 'ü', true, 1.5, {}, ['x']]) {
      assert.equal((await post(url, { challenge })).status, 400, JSON.stringify(challenge));
    }
    assert.equal(await call(url, JSON.stringify({ challenge: 'x'.repeat(10_000_000) })), 413);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('is an ordinary hint at an upstream that declares none', async () => {
    const { taskId } = await newCalledTask('challenging');

    const answer = await post(hookOf(taskId, 'other'), { challenge: 'x' });
    assert.deepEqual(answer, { status: 200, body: { received: true } });
    assert.equal(await receivedOf(taskId), 1);
  });
});

describe('a hook of a provider that signs', () => {
  const now = () => String(Math.floor(Date.now() / 1_000));
  const standard = (body: string): Record<string, string> => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': now(),
    'webhook-signature': new Webhook(WHSEC).sign('msg_1', new Date(), body),
  });
  const hmac = (taskId: TaskId, body: string): Record<string, string> => ({
    'x-sign': `sha256=${createHmac('sha256', urls.secretFor('hmac', taskId)).update(body).digest('hex')}`,
  });
  const fal = (body: string): Record<string, string> => {
    const at = now();
    const message = `request\nuser\n${at}\n${createHash('sha256').update(body).digest('hex')}`;
    return {
      'x-fal-webhook-request-id': 'request',
      'x-fal-webhook-user-id': 'user',
      'x-fal-webhook-timestamp': at,
      'x-fal-webhook-signature': sign(null, Buffer.from(message), signing.privateKey).toString('hex'),
    };
  };

  it('counts with its signature, and is 401 and leaves nothing behind without it', async () => {
    const body = JSON.stringify({ id: 'job', secretContent: 'CANARY' });
    for (const [model, headersOf] of [
      ['standard', () => standard(body)],
      ['replicating', () => standard(body)],
      ['hmac', (taskId: TaskId) => hmac(taskId, body)],
      ['fal', () => fal(body)],
    ] as const) {
      const { taskId, url } = await newCalledTask(model);
      lines.length = 0;

      assert.equal(await call(url, body, headersOf(taskId)), 200, model);
      assert.equal(await call(url, `${body} `, headersOf(taskId)), 401, model);
      assert.equal(await call(url, body), 401, model);
      assert.equal(await receivedOf(taskId), 1);

      const outcomes = await outcomesOf(model);
      assert.deepEqual([outcomes['hint'], outcomes['rejected']], [1, 2]);
      const rejections = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        rejections.map(({ msg, taskId: id, upstream, reason }) => [msg, id, upstream, reason]),
        ['wrong_signature', 'unsigned'].map((reason) => ['webhook of a provider rejected', taskId, model, reason]),
      );
      assert.doesNotMatch(lines.join(''), /CANARY/);
    }
  });

  it('is verified up to the last of its 256 kB, and 413 beyond', async () => {
    const { taskId, url } = await newCalledTask('standard');
    const body = 'x'.repeat(256_000);

    assert.equal(await call(url, body, standard(body)), 200);
    assert.equal(await call(url, `${body.slice(1)}y`, standard(body)), 401);
    assert.equal(await call(url, `${body}x`, standard(`${body}x`)), 413);
    assert.equal(await receivedOf(taskId), 1);
  });

  it('is rejected while its credential is not configured', async () => {
    const { taskId, url } = await newCalledTask('keyless');

    assert.equal(await call(url, '{}', standard('{}')), 401);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('is not accepted with the secret of another task', async () => {
    const [one, two] = [await newCalledTask('hmac'), await newCalledTask('hmac')];

    assert.equal(await call(one.url, '{}', hmac(two.taskId, '{}')), 401);
    assert.equal(await call(two.url, '{}', hmac(two.taskId, '{}')), 200);
  });

  it('has to sign a challenge too', async () => {
    const { taskId, url } = await newCalledTask('hmac');
    const body = '{"challenge":"x"}';

    assert.equal(await call(url, body), 401);
    assert.equal(await call(url, body, hmac(taskId, body)), 200);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('costs no query with a forged token, and at most three with a right one', async () => {
    const { url } = await newCalledTask('standard');
    const forged = `${url.slice(0, -2)}AA`;
    const statementsOf = (called: string): readonly string[] => served.statementsOf(new URL(called).pathname);
    await call(url, '{}', standard('{}'));
    const before = statementsOf(url).length;

    assert.equal(await call(forged, '{}', standard('{}')), 404);
    assert.deepEqual(statementsOf(forged), []);

    await call(url, '{}', standard('{}'));
    const { length } = statementsOf(url).slice(before);
    assert.ok(length > 0 && length <= 3, statementsOf(url).join());
  });
});
