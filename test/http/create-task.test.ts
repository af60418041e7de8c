/** `POST /v1/tasks`: what is accepted, what is rejected, and with which messages (spec §2.1, §2.5; contract §1, §2). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(async () => {
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
});

/** Sends a body that must be rejected with 400, and returns its message. */
async function rejectionMessage(changes: Record<string, unknown>, errorCode = 'INVALID_REQUEST'): Promise<string> {
  const answer: ApiAnswer = await account.client.create(body(changes));
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
  assert.equal(answer.body.error_code, errorCode);
  return answer.body.message;
}

describe('creating a task', () => {
  // Proves S2.2-1, S4.1-1, C1-1, C2-15.
  it('returns only the id, in the envelope, and wakes the launcher once', async () => {
    const { wakes } = served.notified;

    const answer = await account.client.create(body());

    assert.equal(answer.status, 200);
    assert.match(answer.body.data.taskId, /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.deepEqual(answer.body, {
      code: 200,
      message: 'success',
      data: { taskId: answer.body.data.taskId },
      error_code: '',
    });
    assert.equal(answer.headers.get('idempotent-replay'), null);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(served.notified.wakes, wakes + 1);
  });

  // Proves S2.2-2, S4.1-3.
  it('returns a new one each time when there is no key', async () => {
    const [one, two] = [await account.client.create(body()), await account.client.create(body())];

    assert.notEqual(one.body.data.taskId, two.body.data.taskId);
  });

  // Proves S2.3-2, S2.4-4, S9.2-1, C3-2.
  it('accepts every field of the contract', async () => {
    const answer = await account.client.create({
      model: 'acme/routed',
      input: { prompt: 'a fox', resolution: '2k' },
      callback: { url: 'https://example.com/hook', when: 'final' },
      route: 'fast',
      storage: 'persistent',
      metadata: { order: '7' },
      maxCost: '0.025',
      timeoutSeconds: 600,
    });

    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { data } = (await account.client.get(answer.body.data.taskId)).body;
    assert.equal(data.model, 'acme/routed@fast');
    assert.equal(data.billing.held, '0.025');
  });
});

describe('an invalid field', () => {
  // Proves S2.1-2, S2.3-2, S2.5-1, S2.5-2, S7-1, S7-9, S8-6, C1-5, C1-24, C2-1, C2-2, C2-3, C2-6, C2-14.
  it('is named in the form of the contract', async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ size: 1 }, 'additional properties not allowed: size'],
      [{ model: undefined }, 'invalid request: missing property: model'],
      [{ input: undefined }, 'invalid request: missing property: input'],
      [{ input: {} }, 'invalid input: missing property: prompt'],
      [{ input: { prompt: 'a', n: 1 } }, 'additional properties not allowed: n'],
      [
        { input: { prompt: 'a', resolution: '2K' } },
        'invalid input: resolution: enum: got "2K", want one of "1k", "2k"',
      ],
      [{ input: { prompt: 7 } }, 'invalid input: prompt: type: got integer, want string'],
      [{ input: 'a fox' }, 'invalid request: input: type: got string, want object'],
      [{ model: 7 }, 'invalid request: model: type: got integer, want string'],
      [{ storage: 'forever' }, 'invalid request: storage: enum: got "forever", want one of "temp", "persistent"'],
      [{ route: null }, 'invalid request: route: type: got null, want string'],
      [{ metadata: { a: 1 } }, 'invalid request: metadata.a: type: got integer, want string'],
      [{ timeoutSeconds: 0 }, 'invalid request: timeoutSeconds: minimum: got 0, want 1'],
      [{ timeoutSeconds: 601 }, 'invalid request: timeoutSeconds: maximum: got 601, want 600'],
      [{ timeoutSeconds: 1.5 }, 'invalid request: timeoutSeconds: type: got number, want integer'],
      [{ callback: {} }, 'invalid request: missing property: callback.url'],
      [{ callback: null }, 'invalid request: callback: type: got null, want object'],
      [{ callback: { url: 'https://a.com', secret: 'x' } }, 'additional properties not allowed: callback.secret'],
      [
        { callback: { url: 'https://a.com', when: 'always' } },
        'invalid request: callback.when: enum: got "always", want one of "final"',
      ],
    ];
    for (const [changes, message] of cases) assert.equal(await rejectionMessage(changes), message);
  });

  // Proves C2-4.
  it('of the metadata is found whatever its name: empty, long, with a line end, or one too many', async () => {
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`key${index}`, '']));
    assert.match(await rejectionMessage({ metadata: many }), /^invalid request: metadata: maxProperties: .* want 16$/);
    assert.match(await rejectionMessage({ metadata: { '': 'x' } }), /^invalid request: metadata: minLength/);
    assert.match(
      await rejectionMessage({ metadata: { ['k'.repeat(65)]: 'x' } }),
      /^invalid request: metadata: maxLength/,
    );
    assert.match(await rejectionMessage({ metadata: { 'a\nb': { deep: 1 } } }), /type: got object, want string$/);
    assert.match(
      await rejectionMessage({ metadata: { a: 'x'.repeat(513) } }),
      /^invalid request: metadata\.a: maxLength/,
    );
  });

  it('that the database could not store is named as well', async () => {
    const problem = 'must not contain U+0000 or half of a surrogate pair';
    assert.equal(await rejectionMessage({ input: { prompt: 'a\0b' } }), `invalid input: prompt: ${problem}`);
    assert.equal(await rejectionMessage({ input: { prompt: '\ud83e' } }), `invalid input: prompt: ${problem}`);
    assert.equal(await rejectionMessage({ metadata: { a: '\udd8a' } }), `invalid request: metadata.a: ${problem}`);
    assert.equal(await rejectionMessage({ metadata: { 'a\0': 'x' } }), `invalid request: metadata: ${problem}`);
  });

  // Proves C2-5.
  it('is a cost limit below the worst case', async () => {
    assert.equal(
      await rejectionMessage({ maxCost: '0.009999' }),
      'invalid request: maxCost: the task can cost up to 0.01 USD, above 0.009999',
    );
    for (const maxCost of ['', '-1', '1e3', '0.0000001', 'free', 1]) {
      assert.match(await rejectionMessage({ maxCost }), /^invalid request: maxCost: (pattern|type)/);
    }
    assert.equal((await account.client.create(body({ maxCost: '0.01' }))).status, 200);
  });
});

describe('an unknown model or route', () => {
  // Proves S2.1-1, S2.1-4, S7-1, S7-8, C1-6, C2-9.
  it('is rejected as MODEL_UNAVAILABLE, or with the list of routes', async () => {
    for (const model of ['acme/none', 'Acme/images', '', '__proto__', 'constructor', 'acme/none@fast']) {
      if (model === '') assert.match(await rejectionMessage({ model }), /^invalid request: model: minLength/);
      else assert.match(await rejectionMessage({ model }, 'MODEL_UNAVAILABLE'), /^the model ".*" does not exist/);
    }
    const list = 'want one of "default", "fast"';
    const routed = { model: 'acme/routed' };
    assert.equal(await rejectionMessage({ ...routed, route: 'slow' }), `invalid request: route: got "slow", ${list}`);
    assert.equal(await rejectionMessage({ model: 'acme/routed@slow' }), `invalid request: route: got "slow", ${list}`);
    assert.match(
      await rejectionMessage({ model: 'acme/routed@fast', route: 'default' }),
      /^invalid request: route: the model name says/,
    );
    assert.match(
      await rejectionMessage({ ...routed, route: 'x'.repeat(65) }),
      /^invalid request: route: maxLength: got 65, want 64$/,
    );
  });

  // Proves S2.4-4, C2-8, C3-2.
  it('is not reported when the default route is written out', async () => {
    for (const route of ['', 'default']) {
      const { body: created } = await account.client.create(body({ model: 'acme/routed', route }));
      const { data } = (await account.client.get(created.data.taskId)).body;
      assert.equal(data.model, 'acme/routed');
      assert.equal((data as { route?: string }).route, 'default');
    }
  });
});

describe('a callback URL', () => {
  // All spellings are in test/egress/policy.test.ts.
  // Proves S2.3-1, C2-10, C2-12.
  it('is rejected when it is not allowed as a receiver', async () => {
    const cases: [string, RegExp][] = [
      ['http://example.com/hook', /must be https/],
      ['/hook', /must be an absolute https URL/],
      ['https://user:password@example.com/', /must not contain user information/],
      ['https://example.com/#part', /must not contain a fragment/],
      ['https://example.com:8443/', /port 8443 is not allowed; want 443/],
      ['https://exa mple.com/', /must not contain blanks/],
      [
        'https://127.0.0.1/',
        /127\.0\.0\.1 is not a public address; the operator can allow it with EGRESS_ALLOW=127\.0\.0\.1:443$/,
      ],
      ['https://169.254.169.254/latest', /169\.254\.169\.254 is not a public address/],
      ['https://localhost/', /localhost is not a public address/],
      [`https://example.com/${'x'.repeat(2_049)}`, /maxLength/],
      ['', /minLength/],
    ];
    for (const [url, expected] of cases) {
      const message = await rejectionMessage({ callback: { url } });
      assert.match(message, /^invalid request: callback\.url: /);
      assert.match(message, expected, url);
    }
  });

  // Proves C2-10, C2-14.
  it('is accepted when it is public and https', async () => {
    for (const url of ['https://example.com:443/hook?a=1', 'HTTPS://EXAMPLE.COM/', 'https://1.1.1.1/']) {
      assert.equal((await account.client.create(body({ callback: { url } }))).status, 200, url);
    }
  });
});

describe('a request that the account cannot afford or queue', () => {
  // Proves S4.1-4, S7-3, C1-9.
  it('is 402 with both amounts and what a client can do, and logs the command of operators once in ten minutes', async () => {
    for (const [environment, command] of [
      [{ DARKROOM_EMBEDDED: 'true' }, 'npm run admin -- accounts top-up'],
      [{ DARKROOM_EMBEDDED: 'true', DATA_DIR: '/x' }, "npm run admin -- --data-dir '/x' accounts top-up"],
      [{ DATA_DIR: '/x' }, 'npm run admin -- accounts top-up'],
    ] as const) {
      const lines: Record<string, unknown>[] = [];
      const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
      let now = Date.now();
      const logging = await serveApp({ environment, logger, now: () => now });
      try {
        const poor = await logging.newAccount({ microUsd: 9_999n });
        const poorer = await logging.newAccount({ microUsd: 0n });

        const { status, body: rejected } = await poor.client.create(body());
        await poor.client.create(body());
        await poorer.client.create(body());
        assert.deepEqual([status, rejected.error_code], [402, 'INSUFFICIENT_BALANCE']);
        assert.match(
          rejected.message,
          /0\.01 USD and 0\.009999 USD is available; reduce the request, wait until running tasks release .*, or contact the operator/,
        );
        assert.doesNotMatch(rejected.message, /npm|admin|top-up|acc_/);
        assert.deepEqual(
          lines.map(({ accountId, availableUsd, neededUsd }) => [accountId, availableUsd, neededUsd]),
          [
            [poor.id, '0.009999', '0.01'],
            [poorer.id, '0', '0.01'],
          ],
        );
        assert.ok(String(lines[0]?.['msg']).includes(`${command} ${poor.id} --usd 10`), String(lines[0]?.['msg']));

        now += 600_000;
        await poor.client.create(body());
        assert.equal(lines.length, 3);
      } finally {
        await logging.close();
      }
    }
  });

  // Proves C1-20, C7-14.
  it('is rejected with 429 and Retry-After when the queue is full', async () => {
    const narrow = await served.newAccount({ runningCap: 1, queueCap: 1 });
    await narrow.client.create(body());
    await narrow.client.create(body());

    const answer = await narrow.client.create(body());

    assert.equal(answer.status, 429);
    assert.equal(answer.body.error_code, 'RATE_LIMITED');
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  });
});
