/**
 * Bodies of ten megabytes are parsed and fingerprinted outside the event loop (contract §1, §2): the results are
 * those of small ones.
 */
import assert from 'node:assert/strict';
import { Hash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import fc from 'fast-check';
import { createBodyThreads, parseJson } from '../../src/http/bodies/json-body.ts';
import { parseBody } from '../../src/http/bodies/parse-body.ts';
import { factsOf } from '../../src/tasks/record/body-facts.ts';
import { body } from '../tasks/task-room.ts';
import { raw } from '../http/raw-request.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { serveApp } from '../http/serve.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';

const MB = 1_000_000;
/** Our own copy: the application's is watched. */
const deserialize = v8.deserialize.bind(v8) as (bytes: Uint8Array) => unknown;
const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

describe('a body thread', () => {
  const threads = createBodyThreads();
  after(() => threads.close());

  const parse = async (bytes: Uint8Array<ArrayBuffer>) =>
    threads.run('acc_1', { kind: 'parse', bytes, factsOf: 'value' }, { transferred: [bytes.buffer] });

  it('returns what the event loop would: the value, its own members and its fingerprint', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const text = JSON.stringify({ __proto__x: value, input: value }).replace('__proto__x', '__proto__');
        const answer = await parse(encode(text));

        const expected = JSON.parse(text) as Record<string, unknown>;
        assert.ok(answer.kind === 'parsed');
        const found = deserialize(answer.serialized);
        assert.deepStrictEqual(found, expected);
        assert.ok(typeof found === 'object' && found !== null && Object.hasOwn(found, '__proto__'));
        const facts = factsOf(expected);
        assert.ok(Buffer.from(answer.facts?.fingerprint.hash ?? []).equals(facts.fingerprint.hash));
        assert.deepEqual(answer.facts?.unstorable, facts.unstorable);
      }),
    );
  });

  it('has the facts of a small body, with a hash that can be compared and written', async () => {
    const large = { model: 'acme/model', input: { prompt: 'x'.repeat(1_000_000) } };
    const turns = { next: () => Promise.resolve() };

    const reading = { threads, turns, tenant: 'acc_1', factsOf: 'value', isOutline: false } as const;
    const read = await parseJson(encode(JSON.stringify(large)), 4, reading);

    assert.ok(read.kind === 'parsed' && read.isLarge);
    assert.deepStrictEqual(read.facts, factsOf(large));
  });

  it('distinguishes invalid UTF-8 from invalid JSON, as the event loop does', async () => {
    for (const bytes of [
      Uint8Array.of(0x22, 0xff, 0x22),
      encode('{"a":'),
      encode(''),
      Uint8Array.of(0xef, 0xbb, 0xbf),
    ]) {
      const expected = parseBody(bytes).kind;
      assert.equal((await parse(new Uint8Array(bytes))).kind, expected);
    }
  });
});

describe('a large body', () => {
  let served: ServedApp;
  before(async () => {
    served = await serveApp();
  });
  after(() => served.close());

  const create = ({ client }: ServedAccount, sent: string, key?: string) =>
    raw(
      served.url,
      'POST',
      '/v1/tasks',
      {
        authorization: `Bearer ${client.key}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      sent,
    );

  /** A large body whose input is small: JSON allows any amount of white space between fields. */
  const padded = (value: unknown): string => JSON.stringify(value).replace(/^\{/, `{${' '.repeat(9 * MB)}`);

  it('has the fingerprint of its value: a shorter spelling is a replay of it, and another value is not', async () => {
    const account = await served.newAccount();
    const first = await create(account, padded(body()), 'large');
    assert.equal(first.status, 200, first.text);

    const replay = await create(account, JSON.stringify(body()), 'large');
    assert.equal(replay.text, first.text);
    const again = await create(account, padded(body()), 'large');
    assert.equal(again.text, first.text);
    const other = await create(account, padded(body({ input: { prompt: 'another' } })), 'large');
    assert.equal(other.status, 422);
  });

  it('that is invalid is rejected as a small one is', async () => {
    const account = await served.newAccount();
    const cases: readonly (readonly [sent: string, status: number, message: RegExp])[] = [
      [padded(body()).slice(0, -1), 400, /the body is not JSON/],
      [`[${' '.repeat(MB)}]`, 400, /the body is not a JSON object/],
      [padded({ ...body(), colour: 'red' }), 400, /additional properties not allowed: colour/],
      [padded(body({ input: { prompt: 'a\u0000b' } })), 400, /prompt: must not contain U\+0000/],
      [padded(body({ input: { prompt: 'x'.repeat(300_000) } })), 400, /prompt: maxLength/],
    ];
    for (const [sent, status, message] of cases) {
      const answer = await create(account, sent);
      assert.equal(answer.status, status);
      assert.match(answer.text, message);
    }
  });

  it('is neither decoded, parsed nor fingerprinted on the event loop, whatever its shape', async (t) => {
    const account = await served.newAccount();
    const members = Object.fromEntries(Array.from({ length: 9_900 }, (_, index) => [`${index}`.padEnd(90, 'k'), 1]));
    const bodies: Readonly<Record<string, readonly [sent: string, status: number]>> = {
      'white space': [padded(body()), 200],
      'one text': [JSON.stringify(body({ input: { prompt: 'x'.repeat(9_900_000) } })), 400],
      'many members': [JSON.stringify(body({ input: { prompt: 'x', a: members, b: members, c: members } })), 400],
      'small objects': [
        JSON.stringify(body({ input: Array.from({ length: 16_000 }, (_, index) => ({ [`k${index}`]: 1 })) })),
        400,
      ],
    };
    const work = watchThisThread(t);
    const small = JSON.stringify(body({ input: { prompt: 'y'.repeat(2_000) } }));
    assert.equal((await create(account, small)).status, 200);
    // The watched functions are detected when they run in this thread.
    assert.ok(work.decoded > 2_000 && work.parsed > 2_000 && work.hashed > 2_000, JSON.stringify(work));

    for (const [name, [sent, status]] of Object.entries(bodies)) {
      Object.assign(work, { decoded: 0, parsed: 0, hashed: 0 });
      assert.equal((await create(account, sent)).status, status);
      const most = Math.max(work.decoded, work.parsed, work.hashed);
      assert.ok(most < 20_000, `${name}: ${JSON.stringify(work)}`);
    }
  });
});

describe('the work that a large body leaves on the event loop', () => {
  let upstream: TestUpstream;
  let served: ServedApp;
  before(async () => {
    upstream = await startTestUpstream();
    const far = textDefinition({ name: 'acme/far', upstreams: [openaiUpstream(upstream.baseUrl, { id: 'far' })] });
    served = await serveApp({ models: [far] });
  });
  after(async () => {
    await served?.close();
    await upstream?.close();
  });

  const IMAGE = `data:image/png;base64,${'A'.repeat(9 * MB)}`;
  const chat = {
    model: 'acme/far',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }],
  };
  const response = {
    model: 'acme/far',
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }],
  };
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'estimate', arguments: { model: 'acme/images', input: { prompt: 'x'.repeat(9 * MB) } } },
  };
  // Requests to the upstream are serialized; of a response the stored data too. A tool calls the API itself.
  const endpoints: readonly (readonly [path: string, body: unknown, work: readonly string[]])[] = [
    ['/v1/tasks', body({ input: { prompt: 'x'.repeat(9 * MB) } }), ['read']],
    ['/v1/tasks/estimate', body({ input: { prompt: 'x'.repeat(9 * MB) } }), ['read']],
    ['/v1/chat/completions', chat, ['read', 'write']],
    ['/v1/responses', response, ['read', 'write', 'write']],
    ['/mcp', call, ['read', 'write', 'read']],
  ];

  for (const [path, sent, expected] of endpoints) {
    it(`is done in pieces, each in a turn that it waited for: POST ${path}`, async (t) => {
      const { client } = await served.newAccount();
      const headers = { authorization: `Bearer ${client.key}`, 'content-type': 'application/json', accept: '*/*' };
      const text = JSON.stringify(sent);
      const pieces = watchTurns(t, served);
      await raw(served.url, 'POST', path, headers, text);

      assert.deepEqual(
        pieces.map(({ work }) => work),
        expected,
      );
      const turns = pieces.map(({ turn }) => turn);
      assert.ok(!turns.includes(undefined), JSON.stringify(pieces));
      assert.equal(new Set(turns).size, turns.length, JSON.stringify(pieces));
    });
  }
});

/** A piece of work that processes a large value, and the turn of limits/turns.ts in which it was done, if any. */
interface Piece {
  readonly work: 'read' | 'write';
  readonly turn: number | undefined;
}

function watchTurns(t: TestContext, { http }: ServedApp): readonly Piece[] {
  const pieces: Piece[] = [];
  let turns = 0;
  let current: number | undefined;
  const { turns: given } = http;
  const next = given.next.bind(given);
  t.mock.method(given, 'next', async () => {
    await next();
    turns += 1;
    current = turns;
    // The caller's, until the loop continues.
    setImmediate(() => (current = undefined));
  });
  const { stringify } = JSON;
  t.mock.method(JSON, 'stringify', (...values: Parameters<typeof stringify>) => {
    const text = stringify(...values) as string | undefined;
    if (text !== undefined && text.length > MB) pieces.push({ work: 'write', turn: current });
    return text;
  });
  t.mock.method(v8, 'deserialize', (bytes: Uint8Array): unknown => {
    if (bytes.length > MB) pieces.push({ work: 'read', turn: current });
    return deserialize(bytes);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return pieces;
}

/** How many bytes and characters are decoded, parsed and hashed in this thread. */
interface Work {
  decoded: number;
  parsed: number;
  hashed: number;
}

function watchThisThread(t: TestContext): Work {
  const work: Work = { decoded: 0, parsed: 0, hashed: 0 };
  const { parse } = JSON;
  t.mock.method(JSON, 'parse', (...given: Parameters<typeof parse>): unknown => {
    work.parsed += given[0].length;
    return parse(...given) as unknown;
  });
  const { decode } = TextDecoder.prototype;
  t.mock.method(
    TextDecoder.prototype,
    'decode',
    function (this: InstanceType<typeof TextDecoder>, ...given: Parameters<typeof decode>) {
      work.decoded += given[0]?.byteLength ?? 0;
      return decode.apply(this, given);
    },
  );
  const update = Hash.prototype.update as (this: Hash, data: string | Uint8Array, encoding?: 'utf8') => Hash;
  t.mock.method(Hash.prototype, 'update', function (this: Hash, data: string | Uint8Array, encoding?: 'utf8') {
    work.hashed += data.length;
    return update.call(this, data, encoding);
  });
  return work;
}
