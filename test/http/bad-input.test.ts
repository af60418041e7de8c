/**
 * Whatever a client sends: no response is a 500, a rejected request charges nothing, and an accepted value can be
 * read again.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { PROTOTYPE_NAMES, edgeText, edgeValue } from './edge-values.ts';
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

const FIELDS = ['model', 'input', 'callback', 'route', 'storage', 'metadata', 'maxCost', 'timeoutSeconds'] as const;
/** The valid body as text, with one field replaced, omitted, or duplicated. */
function withField(name: string, value: string, isDuplicate: boolean): string {
  const fields = Object.entries(body()).map(([field, sent]) => [field, JSON.stringify(sent)] as const);
  const kept = isDuplicate ? fields : fields.filter(([field]) => field !== name);
  return `{${[...kept, [name, value]].map(([field, sent]) => `${JSON.stringify(field)}:${sent}`).join()}}`;
}

/** What must hold for every response, whatever was sent. */
async function assertAcceptedOrRejected(sent: string, answer: ApiAnswer, heldBefore: bigint): Promise<void> {
  const context = `${sent.slice(0, 300)} → ${JSON.stringify(answer.body).slice(0, 300)}`;
  assert.ok([200, 400, 402, 413].includes(answer.status), context);
  const held = await heldNow();
  if (answer.status !== 200) {
    assert.equal(held, heldBefore, context);
    assert.ok(answer.body.message.length < 2_000, context);
    return;
  }
  const read = await account.client.get(answer.body.data.taskId);
  assert.equal(read.status, 200, context);
  const { metadata } = JSON.parse(sent) as { metadata?: unknown };
  assert.deepEqual((read.body.data as { metadata?: unknown }).metadata, metadata, context);
}

async function heldNow(): Promise<bigint> {
  const [row] = await served.room.rows<{ held: bigint }>(
    'SELECT held_micro_usd AS held FROM account_counters WHERE account_id = $1',
    account.id,
  );
  return row?.held ?? 0n;
}

async function sendAndCheck(sent: string, headers: Record<string, string> = {}): Promise<void> {
  const heldBefore = await heldNow();
  await assertAcceptedOrRejected(sent, await account.client.send('POST', '/v1/tasks', sent, headers), heldBefore);
}

describe('any value in any field of POST /tasks', () => {
  for (const field of FIELDS) {
    // Proves C2-2.
    it(`is accepted or rejected, never a 500: ${field}`, async () => {
      await fc.assert(
        fc.asyncProperty(edgeValue, fc.boolean(), async (value, isDuplicate) => {
          await sendAndCheck(withField(field, value, isDuplicate));
        }),
        { numRuns: 60 },
      );
    });
  }

  it('is accepted or rejected, never a 500: a member of input, of callback and of metadata', async () => {
    const member = fc.constantFrom('prompt', 'resolution', 'url', 'when', 'a', ...PROTOTYPE_NAMES);
    const holder = fc.constantFrom('input', 'callback', 'metadata');
    await fc.assert(
      fc.asyncProperty(holder, member, edgeValue, async (field, name, value) => {
        await sendAndCheck(withField(field, `{"prompt":"a","${name}":${value}}`, false));
      }),
      { numRuns: 150 },
    );
  });

  // Proves C2-4.
  it('is accepted or rejected, never a 500: any text where text is wanted', async () => {
    await fc.assert(
      fc.asyncProperty(edgeText, edgeText, edgeText, async (prompt, name, value) => {
        const metadata = `{${JSON.stringify(name)}:${JSON.stringify(value)}}`;
        const input = JSON.stringify({ prompt: `a fox ${prompt}` });
        await sendAndCheck(`{"model":"acme/images","input":${input},"metadata":${metadata}}`);
      }),
      { numRuns: 150 },
    );
  });

  // Proves S2.5-1, C2-7.
  it('is accepted or rejected, never a 500: an unknown field', async () => {
    const name = fc.oneof(fc.constantFrom(...PROTOTYPE_NAMES), edgeText);
    await fc.assert(
      fc.asyncProperty(name, edgeValue, async (field, value) => {
        fc.pre(!(FIELDS as readonly string[]).includes(field));
        const sent = withField(field, value, false);
        const answer = await account.client.send('POST', '/v1/tasks', sent);
        assert.equal(answer.status, 400);
        assert.match(answer.body.message, /^additional properties not allowed: /);
      }),
      { numRuns: 60 },
    );
  });
});

describe('any text in a header or a path', () => {
  it('is accepted or rejected, never a 500', async () => {
    const header = fc
      .array(
        fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f),
        { maxLength: 300 },
      )
      .map((codes) => String.fromCharCode(...codes));
    await fc.assert(
      fc.asyncProperty(header, async (text) => {
        await sendAndCheck(JSON.stringify(body()), { 'Idempotency-Key': `${Date.now()}${text}`, 'X-Request-Id': text });
        const unknown = await account.client.send('GET', '/v1/tasks/x', undefined, { Authorization: text });
        assert.equal(unknown.status, 401);
      }),
      { numRuns: 60 },
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (text) => {
        fc.pre(!['', '.', '..'].includes(text));
        const path = encodeURIComponent(text);
        assert.equal((await account.client.get(path)).status, 404);
        assert.equal((await fetch(`${served.url}/media/${path}/x`)).status, 403);
      }),
      { numRuns: 60 },
    );
  });
});
