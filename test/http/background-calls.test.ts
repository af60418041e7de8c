/**
 * Text calls in the background, attempt by attempt: whatever becomes of an attempt, there is one hold, one outcome and
 * one settlement.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newTextCallId } from '../../src/domain/ids.ts';
import { beginAttempt, deleteCallsOfBatch, deleteEndedCalls } from '../../src/text/background/call-record.ts';
import { admitWaiting, insertBatchCalls, lockBackgroundQueue } from '../../src/text/background/queue.ts';
import { cancelCall, recordOutcome, settleEndedCalls } from '../../src/text/background/record-outcome.ts';
import { estimatedSettlement } from '../../src/text/money/move.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { textDefinition } from '../catalogue/definitions.ts';
import { openTextProcess } from '../text/money/text-processes.ts';
import { keepRows } from '../support/older-database.ts';
import { BackgroundRoom } from './background-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const SLOW = textDefinition({
  name: 'acme/slow',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const QUESTION = { model: 'acme/text', input: 'What is 17 * 3?' };
const LONG = { model: SLOW.name, input: 'Count from 1 to 400, please.', max_output_tokens: 40 };

interface Answered {
  readonly status: string;
  readonly usage: Readonly<Record<'input_tokens' | 'output_tokens' | 'total_tokens', number>> | null;
}

describe('a text call in the background', () => {
  let served: ServedApp;
  let room: BackgroundRoom;
  let account: ServedAccount;
  before(async () => {
    served = await serveApp({ models: [SLOW] });
    room = new BackgroundRoom(served);
    account = await served.newAccount();
  });
  after(async () => {
    await served.text.ledger.flush();
    assert.deepEqual(await verifyLedger(served.room.database), []);
    await served.close();
  });

  /** One hold and one settlement, however many attempts there were. */
  async function assertSettledOnce(id: string): Promise<void> {
    await room.settled(id);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
  }

  /** As if the process of the first attempt had died in the middle. */
  async function loseAnAttempt(id: string): Promise<void> {
    const stopped = new AbortController();
    const attempt = room.attempt(id, stopped.signal);
    await room.waitForHold(id);
    stopped.abort(new Error('the process stops'));
    await assert.rejects(attempt);
    await room.lose(id);
  }

  it('is answered, stored and paid for once', async () => {
    const id = await room.accept(account, QUESTION);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    const row = await room.row(id);
    assert.equal(row?.state, 'answered');
    assert.equal(row?.attempts, 1);
    assert.equal(row?.request, null);
    const { captured, output } = await room.settled(id);
    assert.ok(captured !== null && captured > 0n && output !== null && output > 0);
    const stored = await account.client.send('GET', `/v1/responses/${id}`);
    assert.equal((stored.body as unknown as { status: string }).status, 'completed');
  });

  it('keeps its hold when its process stops, and is answered by the next attempt', async () => {
    const id = await room.accept(account, LONG);
    const stopped = new AbortController();
    const first = room.attempt(id, stopped.signal);
    await room.waitForHold(id);
    stopped.abort(new Error('the process stops'));
    await assert.rejects(first, /the process stops/);
    const between = await room.row(id);
    assert.equal(between?.state, 'in_progress');
    assert.equal(between?.isRunning, false);
    assert.equal((await room.held(id))[0]?.captured, null);
    await room.attempt(id);
    assert.equal((await room.row(id))?.lost, 0);
    await assertSettledOnce(id);
  });

  it('is left alone by the sweep of dead processes while it is open', async () => {
    const id = await room.accept(account, LONG);
    await loseAnAttempt(id);
    const other = await openTextProcess(served.room);
    await served.room.rows(
      `UPDATE text_processes SET leased_until = now() - interval '1 h' WHERE id <> $1`,
      other.processId,
    );
    await other.sweep();
    assert.equal((await room.held(id))[0]?.captured, null);
    await other.ledger.settleReopened();
    await room.lose(id);
    await room.attempt(id);
    assert.equal((await room.row(id))?.lost, 1);
    const { output } = await room.settled(id);
    assert.ok(output !== null && output > 0);
    assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
    await other.close();
  });

  it('fails once too many attempts were lost, and costs nothing', async () => {
    const id = await room.accept(account, LONG);
    await loseAnAttempt(id);
    await served.room.rows('UPDATE background_calls SET lost_attempts = 5 WHERE id = $1', id);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    const row = await room.row(id);
    assert.equal(row?.state, 'failed');
    assert.equal(row?.error?.status, 503);
    assert.equal((await room.settled(id)).captured, 0n);
    const stored = await account.client.send('GET', `/v1/responses/${id}`);
    const { status, error } = stored.body as unknown as { status: string; error: { code: string } };
    assert.deepEqual([status, error.code], ['failed', 'server_error']);
    assert.deepEqual(await room.lostCosts(id), []);
  });

  it('is answered by one of several attempts at the same moment', async () => {
    const id = await room.accept(account, LONG);
    const results = await Promise.all([room.attempt(id), room.attempt(id), room.attempt(id)]);
    assert.deepEqual(results.map(({ kind }) => kind).sort(), ['ended', 'wait', 'wait']);
    const row = await room.row(id);
    assert.equal(row?.state, 'answered');
    assert.equal(row?.attempts, 1);
    await assertSettledOnce(id);
  });

  it('is settled by another process if its own dies before it settles', async () => {
    const id = await room.accept(account, LONG);
    await loseAnAttempt(id);
    const call = await beginAttempt(served.room.database, id, served.text.ledger.processId);
    assert.ok(call !== undefined);
    const settlement = { ...estimatedSettlement({ id, accountId: account.id, inputTokens: 9 }, 21n), upstream: 'x' };
    assert.equal(await recordOutcome(served.room.database, call, { state: 'answered', settlement }), true);
    assert.equal(await recordOutcome(served.room.database, call, { state: 'failed', settlement }), false);
    assert.equal(await settleEndedCalls(served.room.database, served.text.ledger, 10), 0);
    await served.room.rows(`UPDATE background_calls SET ended_at = now() - interval '11 s' WHERE id = $1`, id);
    assert.equal(await settleEndedCalls(served.room.database, served.text.ledger, 10), 1);
    assert.equal((await room.settled(id)).captured, 21n);
    assert.equal(await settleEndedCalls(served.room.database, served.text.ledger, 10), 0);
  });

  it('fails with what its request would have got', async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    const cases = [
      [await room.accept(poor, QUESTION), 402, 'INSUFFICIENT_BALANCE'],
      [await room.accept(account, { ...QUESTION, model: 'acme/none' }), 400, 'MODEL_UNAVAILABLE'],
      [await room.accept(account, { ...QUESTION, temperature: 'hot' }), 400, 'INVALID_REQUEST'],
      [await room.accept(account, { ...QUESTION, previous_response_id: 'resp_gone' }), 400, 'INVALID_REQUEST'],
    ] as const;
    for (const [id, status, code] of cases) {
      assert.deepEqual(await room.attempt(id), { kind: 'ended' });
      const row = await room.row(id);
      assert.equal(row?.state, 'failed');
      assert.equal(row?.error?.status, status);
      assert.equal(row?.error?.body['error_code'], code);
      assert.deepEqual(await room.held(id), []);
    }
  });

  it('fails if its key was revoked', async () => {
    const own = await served.newAccount();
    const id = await room.accept(own, QUESTION);
    await served.room.rows('UPDATE api_keys SET revoked_at = now() WHERE account_id = $1', own.id);
    await room.attempt(id);
    assert.equal((await room.row(id))?.error?.status, 401);
  });

  it('shows what was paid if its key is revoked while it runs', async () => {
    const own = await served.newAccount();
    const id = await room.accept(own, LONG);
    const running = room.attempt(id);
    await room.waitForHold(id);
    await served.room.rows(
      `UPDATE api_keys SET revoked_at = now()
        WHERE id = (SELECT key_id FROM background_calls WHERE id = $1)`,
      id,
    );
    await served.http.openResponses.check();
    await running;
    const { captured } = await room.settled(id);
    const { status, usage } = (await own.client.send('GET', `/v1/responses/${id}`)).body as unknown as Answered;
    assert.equal(status, 'failed');
    assert.ok(captured !== null && captured > 0n && usage !== null && usage.input_tokens > 0);
  });

  it('waits while the account has no room for it', async () => {
    const own = await served.newAccount({ textStreamsCap: 2 });
    const [first, second] = [await room.accept(own, LONG), await room.accept(own, LONG)];
    const running = room.attempt(first);
    await room.waitForHold(first);
    const waits = await room.attempt(second);
    assert.equal(waits.kind, 'turn');
    const row = await room.row(second);
    assert.deepEqual([row?.state, row?.attempts], ['queued', 0]);
    await running;
    await room.settled(first);
    assert.deepEqual(await room.attempt(second), { kind: 'ended' });
    await room.settled(second);
  });

  it('is admitted in the order of arrival, as many as may use half of the calls of its account', async () => {
    const own = await served.newAccount({ textStreamsCap: 4 });
    const ids: string[] = [];
    for (let call = 0; call < 5; call++) ids.push(await room.accept(own, LONG));
    assert.deepEqual(await room.admitted(own.id), ids.slice(0, 2));

    await cancelCall(served.room.database, { id: ids[2] ?? '', accountId: own.id }, Date.now());
    await room.attempt(ids[1] ?? '');
    assert.deepEqual(await room.admitted(own.id), [ids[0], ids[1], ids[3]]);
    await room.attempt(ids[0] ?? '');
    await room.attempt(ids[3] ?? '');
    assert.deepEqual(await room.admitted(own.id), [ids[0], ids[1], ids[3], ids[4]]);
    await room.attempt(ids[4] ?? '');
    assert.equal((await room.row(ids[4] ?? ''))?.state, 'answered');
  });

  it('is admitted by the next pass if the limit of its account was raised', async () => {
    const own = await served.newAccount({ textStreamsCap: 2 });
    const ids = [await room.accept(own, LONG), await room.accept(own, LONG), await room.accept(own, LONG)];
    await served.room.rows('UPDATE account_counters SET text_streams_cap = 4 WHERE account_id = $1', own.id);
    await admitWaiting({ database: served.room.database, accountDatabase: () => served.room.database });
    assert.deepEqual(await room.admitted(own.id), ids.slice(0, 2));
  });

  it('waits for the queue of its account with no more connections than its account may have', async () => {
    const [locked, other] = [await served.newAccount(), await served.newAccount()];
    const create = (by: ServedAccount, number: number) =>
      by.client.send('POST', '/v1/responses', { ...QUESTION, input: `Number ${number}`, background: true });
    let waiting: Promise<readonly { readonly status: number }[]> | undefined;
    await served.room.database.transaction(async (transaction) => {
      await lockBackgroundQueue(transaction, locked.id);
      waiting = Promise.all(Array.from({ length: 30 }, (_, number) => create(locked, number)));
      await waitFor('some of them wait for the lock', async () => {
        const statement = {
          name: 'test_waiting_for_queue',
          text: `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`,
        };
        return (await transaction.query(statement)).length > 0;
      });
      assert.equal((await create(other, 0)).status, 200);
    });
    assert.deepEqual(new Set((await waiting)?.map(({ status }) => status)), new Set([200]));
  });

  it('leaves half of the calls of its account to others, however many attempts begin at once', async () => {
    const own = await served.newAccount({ textStreamsCap: 4 });
    const ids = await Promise.all([1, 2, 3, 4, 5, 6].map(() => room.accept(own, LONG)));
    await waitFor('all have had their turn', async () => {
      const open = (await Promise.all(ids.map((id) => room.row(id)))).filter((row) => row?.state !== 'answered');
      const results = await Promise.all(open.map((row) => room.attempt(row?.id ?? '')));
      assert.ok(results.filter(({ kind }) => kind === 'ended').length <= 2, JSON.stringify(results));
      return open.length === 0;
    });
    await Promise.all(ids.map((id) => room.settled(id)));
  });

  it('waits while its account is rate limited', async () => {
    const own = await served.newAccount({ textTokensPerMinute: 5 });
    const [first, second] = [await room.accept(own, QUESTION), await room.accept(own, QUESTION)];
    assert.deepEqual(await room.attempt(first), { kind: 'ended' });
    const waits = await room.attempt(second);
    assert.equal(waits.kind, 'wait');
    const row = await room.row(second);
    assert.deepEqual([row?.state, row?.isRunning], ['queued', false]);
    assert.deepEqual(await room.held(second), []);
  });

  it('is cancelled before it begins, and nothing is held', async () => {
    const id = await room.accept(account, QUESTION);
    const cancel = () => cancelCall(served.room.database, { id, accountId: account.id }, Date.now());
    const both = await Promise.all([cancel(), cancel()]);
    assert.equal(both.filter((isOpen) => isOpen).length, 1);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal((await room.row(id))?.state, 'cancelled');
    assert.deepEqual(await room.held(id), []);
  });

  it('is cancelled by its own account only', async () => {
    const id = await room.accept(account, QUESTION);
    const other = await served.newAccount();
    assert.equal(await cancelCall(served.room.database, { id, accountId: other.id }, Date.now()), false);
    assert.equal((await room.row(id))?.state, 'queued');
  });

  it('pays its input if it was cancelled and its process died', async () => {
    const id = await room.accept(account, LONG);
    await loseAnAttempt(id);
    assert.equal(await cancelCall(served.room.database, { id, accountId: account.id }, Date.now()), true);
    await served.room.rows(`UPDATE background_calls SET ended_at = now() - interval '2 min' WHERE id = $1`, id);
    assert.equal(await settleEndedCalls(served.room.database, served.text.ledger, 10), 1);
    const { captured, output } = await room.settled(id);
    assert.ok(captured !== null && captured > 0n);
    assert.equal(output, 0);
    const { usage } = (await account.client.send('GET', `/v1/responses/${id}`)).body as unknown as Answered;
    assert.ok(usage !== null && usage.input_tokens > 0);
    assert.deepEqual([usage.output_tokens, usage.total_tokens], [0, usage.input_tokens]);
  });

  it('is forgotten a day after its end', async () => {
    const id = await room.accept(account, QUESTION);
    await room.attempt(id);
    await room.settled(id);
    assert.equal(await deleteEndedCalls(served.room.database, 100), 0);
    await served.room.rows(`UPDATE background_calls SET ended_at = now() - interval '25 h' WHERE id = $1`, id);
    assert.equal(await deleteEndedCalls(served.room.database, 100), 1);
  });

  it('is answered again by the process whose answer the database has lost', async () => {
    const id = await room.accept(account, LONG);
    const first = room.attempt(id);
    await room.waitForHold(id);
    const kept = await keepRows(served.room);
    assert.deepEqual(await first, { kind: 'ended' });
    await served.text.ledger.flush();
    await kept.putBack();
    assert.equal((await room.row(id))?.isRunning, true);

    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal((await room.row(id))?.state, 'answered');
    await assertSettledOnce(id);
  });

  it('is left to the next attempt if the database has lost the beginning of this one', async () => {
    const id = await room.accept(account, LONG);
    const first = room.attempt(id);
    await room.waitForHold(id);
    await served.room.rows(
      `UPDATE background_calls SET state = 'queued', attempts = 0, is_running = false, process_id = NULL WHERE id = $1`,
      id,
    );

    assert.deepEqual(await first, { kind: 'wait', ms: 0 });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    assert.equal((await room.row(id))?.state, 'answered');
    await assertSettledOnce(id);
  });

  it('is a line of a batch, whose body is in the file', async () => {
    const body = { model: 'acme/text', messages: [{ role: 'user', content: 'What is 17 * 3?' }] };
    const url = '/v1/chat/completions';
    const lines = ['good', 'bad'].map((id) => JSON.stringify({ custom_id: id, method: 'POST', url, body }));
    const content = Buffer.from(`${lines[0]}\n\n${lines[1]?.replace('POST', 'GET')}\n`);
    const objectKey = `test/${account.id}/input.jsonl`;
    await served.store.put(objectKey, content, { mimeType: 'application/jsonl' });
    const batchId = 'batch_01KAZ0000000000000000000TT';
    await served.room.rows(
      `INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, input_file_id, input_object_key,
                            input_bytes, output_kept_seconds, created_at, expires_at)
       VALUES ($1, $2, 'key', $3, '24h', 'file', $4, $5, 60, now(), now())`,
      batchId,
      account.id,
      url,
      objectKey,
      content.length,
    );
    const key = await account.newKey();
    const [good, bad] = [newTextCallId('chat'), newTextCallId('chat')];
    const batch = { batchId, accountId: account.id, keyId: key.id, surface: 'chat' } as const;
    const second = Buffer.byteLength(lines[0] ?? '') + 1;
    const calls = [
      { id: good, line: 0, lineBegin: 0 },
      { id: bad, line: 1, lineBegin: second },
    ];
    await insertBatchCalls(served.room.database, batch, calls);
    await insertBatchCalls(served.room.database, batch, [{ id: newTextCallId('chat'), line: 0, lineBegin: 0 }]);
    await room.attempt(good);
    await room.attempt(bad);
    const answered = await room.row(good);
    assert.equal(answered?.state, 'answered', JSON.stringify(answered));
    assert.equal(answered?.answer?.['id'], good);
    const rejected = await room.row(bad);
    assert.deepEqual([rejected?.state, rejected?.error?.status], ['failed', 400]);
    const rows = await served.room.rows('SELECT id FROM background_calls WHERE batch_id = $1', batchId);
    assert.equal(rows.length, 2);
    await room.settled(good);
    await deleteCallsOfBatch(served.room.database, batchId, 10);
    assert.equal(await room.row(good), undefined);
  });
});
