/** Lines of text models, from feeding to the files: the test makes each attempt at a call itself. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { cancelBatch } from '../../src/batches/batch-record.ts';
import type { Batch } from '../../src/batches/batch-record.ts';
import { deleteLeftBatchCalls } from '../../src/text/background/batch-calls.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import { actualCost } from '../../src/text/money/price.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { lineOf } from '../e2e/batch-client.ts';
import { BackgroundRoom } from '../http/background-room.ts';
import type { ServedAccount } from '../http/serve.ts';
import { callIdsOf, closeSettledLab, feed, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
/** An odd price, so that every rounding shows. */
const REDUCED = textDefinition({
  name: 'acme/reduced',
  pricing: { unit: 'token', inputUsd: '0.7', outputUsd: '3.3', batchFactor: '0.4375' },
});

const chatLine = (id: string, changes: object = {}): string =>
  lineOf(CHAT, id, {
    model: REDUCED.name,
    messages: [{ role: 'user', content: 'What is 17 * 3?' }],
    max_tokens: 50,
    ...changes,
  });

let lab: BatchLab;
let room: BackgroundRoom;
before(async () => {
  lab = await openBatchLab({ models: [REDUCED] });
  room = new BackgroundRoom(lab.served);
});
after(() => closeSettledLab(lab));

interface CallRow {
  readonly id: string;
  readonly captured: bigint;
  readonly held: bigint;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** The calls that an account was held for. */
async function callsOf(account: ServedAccount): Promise<readonly CallRow[]> {
  await lab.served.text.ledger.flush();
  return lab.served.room.rows<CallRow>(
    `SELECT id, captured_micro_usd AS captured, held_micro_usd AS held, input_tokens AS "inputTokens",
            cached_input_tokens AS "cachedInputTokens", output_tokens AS "outputTokens",
            reasoning_tokens AS "reasoningTokens"
       FROM text_calls WHERE account_id = $1 AND process_id IS NOT NULL`,
    account.id,
  );
}

async function wireOf(account: ServedAccount, { id }: Batch): Promise<WireBatch> {
  return (await account.client.send('GET', `/v1/batches/${id}`)).body as unknown as WireBatch;
}

/** Feeds what there is room for, and answers it. */
async function answerAll(batch: Batch): Promise<void> {
  await feed(lab.context, await lab.read(batch));
  for (const id of await callIdsOf(lab, batch)) await room.attempt(id);
  await lab.served.text.ledger.flush();
}

describe('lines of a text model', () => {
  // Proves C7-48, C10-26.
  it('are answered once, for the reduced price, and counted with their tokens', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, CHAT, [chatLine('a'), '', chatLine('b'), chatLine('c')]);
    assert.deepEqual((await wireOf(account, batch)).usage?.total_tokens, 0);
    await answerAll(batch);

    assert.equal((await lab.advance(batch)).kind, 'ended');

    const calls = await callsOf(account);
    assert.equal(calls.length, 3);
    for (const { captured, held, ...usage } of calls) {
      assert.ok(captured > 0n && captured <= held);
      assert.equal(captured, actualCost(REDUCED.pricing, usage, '0.4375'));
      assert.ok(captured < actualCost(REDUCED.pricing, usage));
    }
    const sum = (name: 'inputTokens' | 'outputTokens'): number => calls.reduce((total, call) => total + call[name], 0);
    const { status, request_counts: counts, usage, model } = await wireOf(account, batch);
    assert.deepEqual([status, model, counts], ['completed', REDUCED.name, { total: 3, completed: 3, failed: 0 }]);
    assert.deepEqual(
      [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens],
      [sum('inputTokens'), sum('outputTokens'), sum('inputTokens') + sum('outputTokens')],
    );
    const results = await lab.results(account, (await lab.read(batch)).outputFileId);
    assert.deepEqual(
      results.map(({ custom_id: id, response }) => [id, response?.status_code, response?.body['object']]),
      ['a', 'b', 'c'].map((id) => [id, 200, 'chat.completion']),
    );
    assert.deepEqual(new Set(results.map(({ response }) => response?.body['id'])), new Set(calls.map(({ id }) => id)));
    assert.deepEqual(await callIdsOf(lab, batch), []);
  });

  it('are rejected one by one', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, CHAT, [
      chatLine('good'),
      chatLine('stream', { stream: true }),
      chatLine('unknown', { model: 'acme/none' }),
      chatLine('media', { model: 'acme/images' }),
      chatLine('type', { messages: 7 }),
      // Known only when it is run.
      chatLine('cap', { max_tokens: 1_000_000 }),
      '{',
    ]);
    await answerAll(batch);
    assert.equal((await lab.advance(batch)).kind, 'ended');
    const ended = await lab.read(batch);
    assert.deepEqual([ended.linesCompleted, ended.linesFailed], [1, 6]);
    const errors = await lab.results(account, ended.errorFileId);
    assert.deepEqual(
      errors.map(({ custom_id: id, response }) => [
        id,
        response?.status_code,
        (response?.body['error'] as { param: string | null } | undefined)?.param,
      ]),
      [
        ['stream', 400, 'stream'],
        ['unknown', 400, 'model'],
        ['media', 400, 'model'],
        ['type', 400, 'messages'],
        ['cap', 400, 'max_tokens'],
        [null, 400, null],
      ],
    );
    assert.equal((await callsOf(account)).length, 1);
  });

  it('find no balance one by one', async () => {
    const account = await lab.served.newAccount({ microUsd: 1n });
    const batch = await lab.begin(account, RESPONSES, [
      lineOf(RESPONSES, 'a', { model: REDUCED.name, input: 'What is 17 * 3?' }),
      lineOf(RESPONSES, 'b', { model: REDUCED.name, input: 'Hello', background: true }),
    ]);
    await answerAll(batch);
    assert.equal((await lab.advance(batch)).kind, 'ended');
    assert.deepEqual(await lab.outcomes(account, (await lab.read(batch)).errorFileId), [
      ['a', 402],
      ['b', 400],
    ]);
    assert.deepEqual(await callsOf(account), []);
  });

  it('are fed once by attempts at the same moment', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(
      account,
      CHAT,
      ['a', 'b'].map((id) => chatLine(id)),
    );
    const fed = await Promise.all(Array.from({ length: 5 }, () => feed(lab.context, batch)));
    assert.equal(fed.filter(Boolean).length, 1);
    assert.equal((await callIdsOf(lab, batch)).length, 2);
    assert.equal((await lab.read(batch)).linesFed, 2);
  });

  // Proves C10-23.
  it('that wait end with a cancelled batch, and one that is being answered is paid', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(
      account,
      CHAT,
      ['a', 'b', 'c'].map((id) => chatLine(id)),
    );
    await feed(lab.context, batch);
    const [first = '', second = ''] = await callIdsOf(lab, batch);
    await room.attempt(first);
    await cancelBatch(lab.context.database, batch.id, batch.accountId);
    await lab.served.text.ledger.flush();

    assert.equal((await lab.advance(batch)).kind, 'ended');

    assert.deepEqual(await room.attempt(second), { kind: 'ended' });
    const { status, request_counts: counts } = await wireOf(account, batch);
    assert.deepEqual([status, counts], ['cancelled', { total: 3, completed: 1, failed: 2 }]);
    const ended = await lab.read(batch);
    assert.deepEqual(await lab.outcomes(account, ended.errorFileId), [
      ['b', 'batch_cancelled'],
      ['c', 'batch_cancelled'],
    ]);
    assert.equal((await callsOf(account)).length, 1);
  });

  it('wait while the store has no input, and fail once it is lost', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, CHAT, [chatLine('a')]);
    await feed(lab.context, batch);
    await lab.context.store.delete(batch.inputObjectKey);
    const [id = ''] = await callIdsOf(lab, batch);

    await assert.rejects(room.attempt(id), StoreUnavailableError);
    const waiting = await room.row(id);
    assert.deepEqual([waiting?.state, waiting?.isRunning, waiting?.lost], ['in_progress', false, 0]);

    await markStore(lab.context.store, lab.context.installationId);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.deepEqual((await room.row(id))?.error?.status, 400);
    assert.equal((await lab.advance(batch)).kind, 'ended');
    assert.equal((await lab.read(batch)).status, 'failed');
    assert.deepEqual(await callsOf(account), []);
  });

  it('are deleted by a later pass if they were not settled at the end of the batch', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, CHAT, [chatLine('a')]);
    await answerAll(batch);
    const [id = ''] = await callIdsOf(lab, batch);
    const { rows } = lab.served.room;
    const [settled] = await rows<{ captured: bigint; at: Date }>(
      'SELECT captured_micro_usd AS captured, settled_at AS at FROM text_calls WHERE id = $1',
      id,
    );
    await rows('UPDATE text_calls SET settled_at = NULL, captured_micro_usd = NULL WHERE id = $1', id);
    assert.equal((await lab.advance(batch)).kind, 'ended');
    assert.deepEqual(await callIdsOf(lab, batch), [id]);
    assert.equal(await deleteLeftBatchCalls(lab.context.database, 10), 0);
    const settle = 'UPDATE text_calls SET settled_at = $2, captured_micro_usd = $3 WHERE id = $1';
    await rows(settle, id, settled?.at, settled?.captured);
    assert.equal(await deleteLeftBatchCalls(lab.context.database, 10), 1);
    assert.deepEqual(await callIdsOf(lab, batch), []);
  });
});

describe('POST /v1/batches for a text model', () => {
  it('needs the scope of its endpoint', async () => {
    const account = await lab.served.newAccount();
    const key = await account.newKey({ scopes: ['tasks:write', 'storage:write'] });
    const body = { input_file_id: 'file-none', endpoint: CHAT, completion_window: '24h' };
    assert.equal((await key.client.send('POST', '/v1/batches', body)).status, 403);
    assert.equal((await account.client.send('POST', '/v1/batches', body)).status, 400);
  });
});
