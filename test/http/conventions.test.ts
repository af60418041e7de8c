/**
 * The conventions of the contract that hold for every path: paths, the spelling of names and money, the origin of
 * URLs, that every response has the envelope and a request id, HTTPS if it is required, and the response while the
 * database is unavailable.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { publicRoutes } from '../../src/http/app/routes.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { open } from './raw-socket.ts';
import { createImage, newTask } from './route-requests.ts';
import { serveApp, unreachableDatabase } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

/** Names that the contract itself spells with underscores. */
const GIVEN_NAMES = [
  'error_code',
  'storage_tier',
  'created_after',
  'created_before',
  'owned_by',
  'shutdown_date',
  'input_schema',
  // OpenAI's, for GET /v1/responses/{id} (contract §9).
  'starting_after',
  'include_obfuscation',
  // OpenAI's, of files (contract §7.5).
  'created_at',
  'expires_at',
  'expires_after[anchor]',
  'expires_after[seconds]',
  'first_id',
  'last_id',
  'has_more',
  // OpenAI's, of uploads.
  'expires_after',
  'mime_type',
  'part_ids',
  'upload_id',
];
/** The groups of operations whose names are OpenAI's. */
const OPENAI_TAGS = ['Text', 'Images and audio', 'Videos', 'Batches'];
/** Numbers that are measured and not counted; none of them is an amount of money. */
const MEASURED_NAMES = ['progress', 'durationSeconds', 'default'];

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

let served: ServedApp;
let account: ServedAccount;
let document: { readonly paths: Record<string, Record<string, unknown>>; readonly components: unknown };
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
  document = JSON.parse((await raw(served.url, 'GET', '/openapi.json')).text) as typeof document;
});
after(() => served.close());

function get(path: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return raw(served.url, 'GET', path, { Authorization: `Bearer ${account.client.key}`, ...headers });
}

/**
 * Every property in the document, with the schema of its value; except those of the models' own inputs, and of the
 * text and media endpoints, whose names are OpenAI's (contract §9, §10).
 */
function properties(): readonly (readonly [name: string, schema: Schema])[] {
  const found: (readonly [string, Schema])[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, child] of Object.entries(node)) {
      if (name === 'examples' || name === 'example' || name.startsWith('Input.')) continue;
      if (name === 'properties') found.push(...Object.entries(child as Record<string, Schema>));
      visit(child);
    }
  };
  visit(document.components);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const operation of Object.values(operations)) {
      const { requestBody, ...rest } = operation as Record<string, unknown>;
      if ((rest['tags'] as string[]).some((tag) => OPENAI_TAGS.includes(tag))) continue;
      visit(rest);
      if (!['/v1/tasks', '/v1/tasks/estimate'].includes(path)) visit(requestBody);
    }
  }
  return found;
}

function queryNames(): readonly string[] {
  const operations = Object.values(document.paths).flatMap((each) => Object.values(each));
  return operations.flatMap((operation) => {
    const { parameters = [] } = operation as { parameters?: { name: string; in: string }[] };
    return parameters.filter((parameter) => parameter.in !== 'header').map(({ name }) => name);
  });
}

describe('the paths of the public listener', () => {
  // Proves S4-1, S9.1-1, C0-1.
  it('are below /v1, except for those that the contract names', () => {
    const outside = publicRoutes(served.http)
      .map(({ path }) => path)
      .filter((path) => !path.startsWith('/v1/'));

    assert.deepEqual(outside.toSorted(), [
      '/',
      '/assets/{fileName...}',
      '/docs',
      '/docs/{fileName}',
      '/guide',
      '/guide/{fileName...}',
      '/healthz',
      '/hooks/{upstream}/{token}',
      '/mcp',
      '/media/{token}/{name}',
      '/openapi.json',
      '/readyz',
      '/session',
      '/session',
      '/session',
    ]);
  });
});

describe('names and values', () => {
  // Proves C0-10.
  it('are in camelCase, unless the contract gives the name', () => {
    const names = [...properties().map(([name]) => name), ...queryNames()].map((name) =>
      name.replace(/^metadata\..*/, 'x'),
    );
    assert.ok(names.length > 100, String(names.length));

    const others = names.filter((name) => !/^[a-z][a-zA-Z0-9]*$/.test(name) && !GIVEN_NAMES.includes(name));

    assert.deepEqual([...new Set(others)], []);
  });

  // Proves C0-12.
  it('are no JSON number when they are money: measured numbers are listed here, all others are counts', () => {
    const numbers = properties().filter(([, { type }]) => [type].flat().includes('number'));
    assert.ok(numbers.length > 0);

    assert.deepEqual(
      numbers.map(([name]) => name).filter((name) => !MEASURED_NAMES.includes(name)),
      [],
    );
  });
});

describe('a URL in a response', () => {
  // Proves C0-9.
  it('is below PUBLIC_URL, whatever Host the request has', async () => {
    const taskId = await newTask(account);
    const image = await createImage();
    await served.succeed(taskId, image);
    const lies = {
      Host: 'evil.example',
      'X-Forwarded-Host': 'evil.example',
      'X-Forwarded-Proto': 'ftp',
      Forwarded: 'host=evil.example;proto=ftp',
    };
    const authorization = { Authorization: `Bearer ${account.client.key}` };

    const answers = [
      await get(`/v1/tasks/${taskId}`, lies),
      await get(`${served.url.replace(/\d+$/, '1')}/v1/tasks/${taskId}`, lies),
      await get('/v1/tasks', lies),
      await get('/v1/storages', lies),
      await get('/openapi.json', lies),
      await raw(served.url, 'POST', '/v1/files', { ...lies, ...authorization, 'Content-Type': 'image/png' }, image),
    ];

    for (const { status, text } of answers) {
      assert.equal(status, 200, text.slice(0, 300));
      assert.doesNotMatch(text, /evil\.example|ftp:/);
      const [, address] = /"url":\s*"([^"]+)"/.exec(text) ?? [];
      assert.ok(address?.startsWith(served.url), address);
    }
  });
});

describe('a browser page of another origin', () => {
  // Proves S5.4-1.
  it('cannot read any response that needs a key: keys belong on servers', async () => {
    const origin = { Origin: 'https://elsewhere.example' };

    for (const path of ['/v1/tasks', '/v1/account', '/v1/models', '/v1/storages', '/v1/account/keys']) {
      for (const answer of [await get(path, origin), await raw(served.url, 'OPTIONS', path, origin)]) {
        const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));
        assert.deepEqual(names, [], path);
      }
    }
  });
});

describe('the request id', () => {
  // Proves C1-3.
  it('is generated, and new each time, when the client sent none or an invalid one', async () => {
    const seen = new Set<unknown>();
    for (const sent of [undefined, '', 'has blanks', 'x'.repeat(65), 'semi;colon', 'ümlaut']) {
      const headers = sent === undefined ? {} : { 'X-Request-Id': Buffer.from(sent).toString('latin1') };
      const answer = await raw(served.url, 'GET', '/healthz', headers);
      assert.match(String(answer.headers['x-request-id']), /^req_[0-9A-Z]{26}$/);
      seen.add(answer.headers['x-request-id']);
    }
    assert.equal(seen.size, 6);
  });

  // Proves C1-3.
  it("is the client's own when it is valid, on errors as well", async () => {
    for (const sent of ['a', 'trace-7_B', 'x'.repeat(64)]) {
      const ok = await raw(served.url, 'GET', '/healthz', { 'X-Request-Id': sent });
      const missing = await raw(served.url, 'GET', '/nothing', { 'X-Request-Id': sent });
      assert.deepEqual([ok.headers['x-request-id'], missing.headers['x-request-id']], [sent, sent]);
    }
  });
});

describe('input that HTTP rejects before it becomes a request', () => {
  for (const [what, bytes, status] of [
    ['bytes that are not HTTP', 'HELLO THERE\r\n\r\n', 400],
    ['a header without a name', 'GET /v1/tasks HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['two lengths', 'POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    ['headers over 8 kB', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9_000)}\r\n\r\n`, 431],
  ] as const) {
    // Proves S7-7, C1-2, C1-3.
    it(`is answered in the envelope too, with a request id: ${what}`, async () => {
      const client = open(served.url);
      client.socket.write(bytes);
      await waitFor('the connection is closed', () => client.isClosed());
      const [head = '', text = ''] = client.heard().split('\r\n\r\n');

      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(head, /\r\nX-Request-Id: req_[0-9A-Z]{26}\r\n/i);
      const { code, data, error_code, message } = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual([code, data, error_code, typeof message], [status, null, 'INVALID_REQUEST', 'string']);
    });
  }
});

describe('while the database is down', () => {
  // Proves C0-4, C1-4, C1-22.
  it('every route that needs it returns 503 with Retry-After, without the reason', async () => {
    const away = await serveApp({ appDatabase: unreachableDatabase() });
    try {
      const taskId = await newTask(account);
      await served.succeed(taskId, Buffer.from('bytes'));
      const [output] = (await account.client.get(taskId)).body.data.output ?? [];
      const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
      const answers = [
        await raw(away.url, 'POST', '/v1/tasks', headers, JSON.stringify(body())),
        await raw(away.url, 'GET', `/v1/tasks/${newTaskId()}`, headers),
        await raw(away.url, 'POST', `/v1/tasks/${newTaskId()}/cancel`, headers),
        await raw(away.url, 'GET', new URL(output?.url ?? '').pathname),
      ];

      for (const answer of answers) {
        assert.deepEqual(errorOf(answer), { status: 503, code: 'SERVICE_UNAVAILABLE' });
        assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
        assert.doesNotMatch(answer.text, /127\.0\.0\.1|ECONNREFUSED|postgres|nobody/i);
      }
      assert.equal((await raw(away.url, 'GET', '/healthz')).status, 200);
      const ready = await raw(away.url, 'GET', '/readyz');
      assert.equal(ready.status, 503);
      assert.equal((JSON.parse(ready.text) as { database: boolean }).database, false);
      // A malformed key is rejected without a query.
      assert.equal((await raw(away.url, 'GET', `/v1/tasks/${newTaskId()}`)).status, 401);
    } finally {
      await away.close();
    }
  });
});

describe('where HTTPS is required', () => {
  /** The statuses of an app that trusts these proxies. @param path default: one that needs a key. */
  async function assertStatuses(
    trusted: string,
    requiresHttps: boolean,
    cases: readonly (readonly [forwardedProto: string | undefined, status: number, path?: string])[],
  ): Promise<void> {
    const https = await serveApp({ requiresHttps, environment: { TRUSTED_PROXIES: trusted } });
    try {
      for (const [proto, status, path = '/v1/tasks/x'] of cases) {
        const answer = await raw(https.url, 'GET', path, proto === undefined ? {} : { 'X-Forwarded-Proto': proto });
        assert.equal(answer.status, status, JSON.stringify([trusted, proto, path]));
      }
    } finally {
      await https.close();
    }
  }

  // Proves C7-11.
  it('only the header of a trusted proxy is accepted, and of the nearest one', async () => {
    await assertStatuses('127.0.0.0/8', true, [
      ['https', 401],
      ['http, https', 401],
      ['https, http', 400],
      [undefined, 400],
    ]);
    await assertStatuses('10.0.0.0/8', true, [
      ['https', 400],
      // Probes come from inside.
      [undefined, 200, '/healthz'],
      [undefined, 200, '/readyz'],
    ]);
  });

  it('a proxy on the same machine is trusted when it reports that a request did not use HTTPS', async () => {
    await assertStatuses('127.0.0.0/8', false, [
      ['http', 400],
      ['https', 401],
      // The loopback itself needs none.
      [undefined, 401],
    ]);
    await assertStatuses('10.0.0.0/8', false, [['http', 401]]);
  });
});
