/**
 * Bodies of ten megabytes are parsed and fingerprinted beside the event loop (contract §1, §2): what comes of them is
 * what comes of small ones.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createBodyThreads } from '../../src/http/bodies/body-threads.ts';
import { parseBody } from '../../src/http/bodies/parse-body.ts';
import { factsOf } from '../../src/tasks/body-facts.ts';
import { body } from '../tasks/task-room.ts';
import { raw } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { longestPause } from './event-loop.ts';

const MB = 1_000_000;
const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

describe('a body thread', () => {
  const threads = createBodyThreads();
  after(() => threads.close());

  const parse = async (bytes: Uint8Array<ArrayBuffer>) =>
    threads.run('acc_1', { kind: 'parse', bytes, needsFacts: true }, { transferred: [bytes.buffer] });

  it('finds what the event loop would find: the value, its own members and its fingerprint', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const text = JSON.stringify({ __proto__x: value, input: value }).replace('__proto__x', '__proto__');
        const answer = await parse(encode(text));

        const expected = JSON.parse(text) as Record<string, unknown>;
        assert.ok(answer.kind === 'parsed');
        assert.deepStrictEqual(answer.value, expected);
        assert.ok(Object.hasOwn(answer.value, '__proto__'));
        const facts = factsOf(expected);
        assert.ok(Buffer.from(answer.facts?.fingerprint.hash ?? []).equals(facts.fingerprint.hash));
        assert.equal(answer.facts?.unstorable, facts.unstorable);
      }),
    );
  });

  it('tells what is not UTF-8 from what is not JSON, as the event loop does', async () => {
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

  /** A large body whose input is small: the fields of JSON may be apart by any white space. */
  const padded = (value: unknown): string => JSON.stringify(value).replace(/^\{/, `{${' '.repeat(9 * MB)}`);

  it('has the fingerprint of its value: its small spelling is a replay of it, and another value is not', async () => {
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

  it('that is wrong is rejected as a small one is', async () => {
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

  it('leaves the event loop to others', async (t) => {
    const account = await served.newAccount();
    const members = Object.fromEntries(Array.from({ length: 9_900 }, (_, index) => [`${index}`.padEnd(90, 'k'), 1]));
    const bodies: Readonly<Record<string, string>> = {
      'one text': JSON.stringify(body({ input: { prompt: 'x'.repeat(9_900_000) } })),
      'many members': JSON.stringify(body({ input: { prompt: 'x', a: members, b: members, c: members } })),
      'small objects': JSON.stringify(
        body({ input: Array.from({ length: 16_000 }, (_, index) => ({ [`k${index}`]: 1 })) }),
      ),
    };
    await create(account, padded(body()));
    for (const [name, sent] of Object.entries(bodies)) {
      const { pauseMs, value } = await longestPause(() => create(account, sent));
      t.diagnostic(`${name}: ${pauseMs.toFixed(0)} ms, ${value.status}`);
      assert.equal(value.status, 400);
    }
  });
});
