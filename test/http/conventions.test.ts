/**
 * The conventions of the contract that hold for every path: paths, the spelling of names and money, the origin of
 * URLs, and that every response has the envelope and a request id.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { publicRoutes } from '../../src/http/app/routes.ts';
import { body } from '../tasks/task-room.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
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
    const { body: created } = await account.client.create(body());
    const { taskId } = created.data;
    await served.succeed(taskId, Buffer.from('an image'));
    const image = await sharp({ create: { width: 2, height: 1, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
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

/** The response to bytes that are not a request. */
function answerTo(bytes: string): Promise<string> {
  const { hostname, port } = new URL(served.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.once('end', () => resolve(text));
    socket.once('error', reject);
  });
}

describe('input that HTTP rejects before it becomes a request', () => {
  for (const [what, bytes, status] of [
    ['bytes that are not HTTP', 'HELLO THERE\r\n\r\n', 400],
    ['a header without a name', 'GET /v1/tasks HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['two lengths', 'POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    ['headers over 8 kB', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9_000)}\r\n\r\n`, 431],
  ] as const) {
    // Proves S7-7, C1-2, C1-3.
    it(`is answered in the envelope too, with a request id: ${what}`, async () => {
      const [head = '', text = ''] = (await answerTo(bytes)).split('\r\n\r\n');

      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(head, /\r\nX-Request-Id: req_[0-9A-Z]{26}\r\n/i);
      const { code, data, error_code, message } = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual([code, data, error_code, typeof message], [status, null, 'INVALID_REQUEST', 'string']);
    });
  }
});
