/** What passes is not the outcome of a line: the batch waits, says why, and goes on where it was. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { WaitReason } from '@darkroom/api/openai/batches';
import { revokeKey, rotateKey } from '../../src/accounts/keys.ts';
import { advanceBatch } from '../../src/batches/advance.ts';
import { cancelBatch, claimDueBatches, postponeBatch, renewBatchLeases } from '../../src/batches/batch-record.ts';
import type { Batch } from '../../src/batches/batch-record.ts';
import type { BatchContext } from '../../src/batches/context.ts';
import { validateBatch } from '../../src/batches/validate.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { presentBatch } from '../../src/presenters/batch.ts';
import { settleEndedCalls } from '../../src/text/background/record-outcome.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { lineOf } from '../e2e/batch-client.ts';
import { BackgroundRoom } from '../http/background-room.ts';
import { failTask } from '../http/image-responses.ts';
import type { ServedAccount } from '../http/serve.ts';
import { PRICE } from '../tasks/task-room.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { NEVER, callIdsOf, closeSettledLab, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const TASKS = '/v1/tasks';
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const SLOW = textDefinition({
  name: 'acme/slow',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
/** Nothing listens there. */
const CLOSED = textDefinition({
  name: 'acme/closed',
  upstreams: [openaiUpstream('http://127.0.0.1:1/v1', { id: 'closed', apis: ['chat.completions'] })],
});

const taskLine = (id: string): string => lineOf(TASKS, id, { model: 'acme/images', input: { prompt: 'a lake' } });
const chatLine = (id: string, model = 'acme/text'): string =>
  lineOf(CHAT, id, { model, max_tokens: 40, messages: [{ role: 'user', content: 'Count from 1 to 400, please.' }] });

let lab: BatchLab;
let room: BackgroundRoom;
let account: ServedAccount;
before(async () => {
  lab = await openBatchLab({ models: [SLOW, CLOSED] });
  room = new BackgroundRoom(lab.served);
});
beforeEach(async () => {
  account = await lab.served.newAccount({ runningCap: 40 });
});
after(() => closeSettledLab(lab));

/** A second key of the account: what is done to it leaves the account's own as it is. */
async function keyOf(rights: Parameters<ServedAccount['newKey']>[0] = {}) {
  const key = await account.newKey(rights);
  return { ...account, keyId: key.id, client: key.client };
}

async function setStatus(status: 'active' | 'suspended'): Promise<void> {
  await lab.served.room.rows('UPDATE accounts SET status = $2 WHERE id = $1', account.id, status);
  await forgetKeys();
}

/** Those of the account that this process has read. */
async function forgetKeys(): Promise<void> {
  const keys = await lab.served.room.rows<{ id: string }>('SELECT id FROM api_keys WHERE account_id = $1', account.id);
  for (const { id } of keys) lab.served.http.authenticator.forget(id);
}

const advance = (batch: Batch) => lab.advance(batch);

/** The lines of a batch that failed. */
async function failuresOf(batch: Batch): Promise<readonly (readonly unknown[])[]> {
  return lab.outcomes(account, (await lab.read(batch)).errorFileId);
}

/** Ends a batch, of which this many lines have succeeded. */
async function completes(batch: Batch, lines: number): Promise<void> {
  assert.equal((await advance(batch)).kind, 'ended');
  assert.equal((await lab.read(batch)).linesCompleted, lines);
}

/** Begins a batch for a text model. @returns the ids of the calls that its lines became, too. */
async function beginCalls(owner: ServedAccount, ...lines: string[]): Promise<[Batch, ...string[]]> {
  const batch = await lab.begin(owner, CHAT, lines);
  assert.equal((await advance(batch)).kind, 'waits');
  return [batch, ...(await callIdsOf(lab, batch))];
}

async function waitingFor(batch: Batch): Promise<WaitReason | undefined> {
  return presentBatch(await lab.read(batch)).waiting_for;
}

/** The keys that have created the tasks of the account. */
async function creators(): Promise<readonly string[]> {
  const rows = await lab.served.room.rows<{ keyId: string }>(
    'SELECT key_id AS "keyId" FROM tasks WHERE account_id = $1 ORDER BY created_at',
    account.id,
  );
  return rows.map(({ keyId }) => keyId);
}

/** The tasks of the account that have not ended. */
async function taskIds(): Promise<readonly string[]> {
  const rows = await lab.served.room.rows<{ id: string }>(
    'SELECT id FROM tasks WHERE account_id = $1 AND completed_at IS NULL',
    account.id,
  );
  return rows.map(({ id }) => id);
}

async function endTasks(): Promise<void> {
  for (const id of await taskIds()) await lab.served.succeed(id, Buffer.from(id));
}

/** The context while its store is away. */
function withoutStore(): BatchContext {
  const isAway = (operation: 'read' | 'put') => () =>
    Promise.reject(new StoreUnavailableError(operation, { cause: new Error('it is away') }));
  return { ...lab.context, store: { read: isAway('read'), put: isAway('put') } as unknown as ObjectStore };
}

describe('a batch', () => {
  it('says that it waits for the store, from validation to results', async () => {
    const batch = await lab.create(account, TASKS, [taskLine('a')]);
    const advanceInVain = async (): Promise<void> => {
      await assert.rejects(advanceBatch(withoutStore(), batch.id, NEVER), StoreUnavailableError);
    };

    await advanceInVain();
    assert.deepEqual([(await lab.read(batch)).status, await waitingFor(batch)], ['validating', 'service']);

    await validateBatch(lab.context, await lab.read(batch), NEVER);
    assert.deepEqual([(await lab.read(batch)).status, await waitingFor(batch)], ['in_progress', undefined]);
    await advanceInVain();
    assert.deepEqual([(await lab.read(batch)).status, await waitingFor(batch)], ['in_progress', 'service']);

    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), undefined);
    await endTasks();
    await advanceInVain();
    assert.deepEqual([(await lab.read(batch)).status, await waitingFor(batch)], ['finalizing', 'service']);

    assert.equal((await advance(batch)).kind, 'ended');
    assert.deepEqual([(await lab.read(batch)).status, await waitingFor(batch)], ['completed', undefined]);
  });

  it('waits for an account that is suspended, and then all of its lines succeed', async () => {
    const batch = await lab.begin(account, TASKS, ['a', 'b'].map(taskLine));
    await setStatus('suspended');

    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'account');
    assert.equal((await lab.read(batch)).linesFed, 0);

    await setStatus('active');
    assert.equal((await advance(batch)).kind, 'waits');
    await endTasks();
    assert.equal((await advance(batch)).kind, 'ended');
    const { status, linesCompleted } = await lab.read(batch);
    assert.deepEqual([status, linesCompleted], ['completed', 2]);
    assert.equal(await waitingFor(batch), undefined);
  });

  it('expires while it waits, without an outcome of its lines', async () => {
    const batch = await lab.begin(account, TASKS, [taskLine('a')]);
    await setStatus('suspended');
    assert.equal((await advance(batch)).kind, 'waits');
    await lab.served.room.rows('UPDATE batches SET expires_at = now() WHERE id = $1', batch.id);

    assert.equal((await advance(batch)).kind, 'ended');

    await setStatus('active');
    assert.equal((await lab.read(batch)).status, 'expired');
    assert.deepEqual(await failuresOf(batch), [['a', 'batch_expired']]);
  });

  it('is continued by the successor of a key that was rotated without an overlap', async () => {
    const own = await keyOf();
    const batch = await lab.begin(own, TASKS, [taskLine('a')]);
    const { database } = lab.served.room;
    const rotation = { now: lab.served.http.now(), overlapSeconds: 0 };
    const successor = await database.transaction((transaction) => rotateKey(transaction, own.keyId, rotation));
    const last = await database.transaction((transaction) => rotateKey(transaction, successor.id, rotation));
    await forgetKeys();

    assert.equal((await advance(batch)).kind, 'waits');

    assert.deepEqual(await creators(), [last.id]);
    await endTasks();
    await completes(batch, 1);
  });

  it('rejects its lines if its key was revoked and has no successor', async () => {
    const own = await keyOf();
    const batch = await lab.begin(own, TASKS, [taskLine('a')]);
    await revokeKey(lab.served.room.database, own.keyId);
    await forgetKeys();

    assert.equal((await advance(batch)).kind, 'ended');

    assert.deepEqual(await failuresOf(batch), [['a', 401]]);
  });

  it('waits for the end of the day if its key has spent what it may on one', async () => {
    const own = await keyOf({ spendCaps: { dayMicroUsd: PRICE * 2n } });
    const batch = await lab.begin(own, TASKS, ['a', 'b', 'c', 'd'].map(taskLine));

    assert.equal((await advance(batch)).kind, 'waits');
    assert.deepEqual([(await lab.read(batch)).linesFed, (await creators()).length], [2, 2]);
    await endTasks();
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'daily_spend_cap');
    assert.deepEqual([(await lab.read(batch)).linesFed, (await creators()).length], [2, 2]);

    // The same as the next day, for which the ledger would have to be changed.
    await lab.served.room.rows('UPDATE spend_caps SET day_micro_usd = 2 * day_micro_usd WHERE id = $1', own.keyId);
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal((await creators()).length, 4);
    await endTasks();
    await completes(batch, 4);
  });

  it('does not wait for a day on which a line costs more than its key may spend, or for a cap of all time', async () => {
    for (const spendCaps of [{ dayMicroUsd: 1n }, { totalMicroUsd: 1n }]) {
      const batch = await lab.begin(await keyOf({ spendCaps }), TASKS, [taskLine('a')]);
      assert.equal((await advance(batch)).kind, 'ended');
      assert.deepEqual(await failuresOf(batch), [['a', 402]]);
    }
  });

  it('waits for what other work and its lines hold, and is short of balance once nothing is held', async () => {
    account = await lab.served.newAccount({ microUsd: (PRICE * 3n) / 2n });
    const created = await account.client.create({ model: 'acme/images', input: { prompt: 'a lake' } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const batch = await lab.begin(account, TASKS, ['a', 'b'].map(taskLine));

    assert.equal((await advance(batch)).kind, 'waits');
    assert.deepEqual([(await lab.read(batch)).linesFed, await waitingFor(batch)], [0, 'balance']);
    await failTask(lab.served, created.body.data.taskId as TaskId, 'provider_error');

    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal((await lab.read(batch)).linesFed, 1);
    await endTasks();

    await completes(batch, 1);
    assert.deepEqual(await failuresOf(batch), [['b', 402]]);
  });

  it('does not wait for what would not cover a line', async () => {
    account = await lab.served.newAccount({ microUsd: PRICE - 1n });
    const batch = await lab.begin(account, TASKS, [taskLine('a')]);
    assert.equal((await advance(batch)).kind, 'ended');
    assert.deepEqual(await failuresOf(batch), [['a', 402]]);
  });

  it('is left to the process that has claimed it, and accounts take turns', async () => {
    const { database } = lab.served.room;
    await lab.served.room.rows(`UPDATE batches SET due_at = now() + interval '1 hour'`);
    const other = await lab.served.newAccount();
    const mine = [await lab.create(account, TASKS, ['{']), await lab.create(account, TASKS, ['{'])];
    const theirs = await lab.create(other, TASKS, ['{']);
    const claim = async (accounts: string[], limit: number) =>
      (await claimDueBatches(database, { rows: [], accounts }, limit)).map(({ id }) => id);

    assert.deepEqual(await claim([account.id, other.id], 10), []);
    assert.deepEqual(new Set(await claim([], 2)), new Set([mine[0]?.id, theirs.id]));
    assert.deepEqual(await claim([], 10), [mine[1]?.id]);
    assert.deepEqual(await claim([], 10), []);
    await postponeBatch(database, theirs.id, 0);
    await renewBatchLeases(database, [theirs.id]);
    assert.deepEqual(await claim([], 10), [theirs.id]);
  });
});

describe('a batch for a text model', () => {
  it('waits with the lines that were fed before its account was suspended', async () => {
    const [batch, id = ''] = await beginCalls(account, chatLine('a'));
    await setStatus('suspended');

    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'account');

    await setStatus('active');
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), undefined);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    await completes(batch, 1);
  });

  it('has the answer of a line that ran while its account was suspended, or its key rotated', async () => {
    const own = await keyOf();
    const [batch, first = '', second = ''] = await beginCalls(own, chatLine('a', SLOW.name), chatLine('b', SLOW.name));
    const { database } = lab.served.room;

    const running = room.attempt(first);
    await room.waitForHold(first);
    await setStatus('suspended');
    await lab.served.http.openResponses.check();
    await setStatus('active');
    assert.deepEqual(await running, { kind: 'ended' });

    const runningLast = room.attempt(second);
    await room.waitForHold(second);
    const rotation = { now: lab.served.http.now(), overlapSeconds: 0 };
    await database.transaction((transaction) => rotateKey(transaction, own.keyId, rotation));
    await forgetKeys();
    await lab.served.http.openResponses.check();
    assert.deepEqual(await runningLast, { kind: 'ended' });

    await lab.served.text.ledger.flush();
    await completes(batch, 2);
  });

  it('has the answer of a line that ran when its key was revoked, and charges no other', async () => {
    const own = await keyOf();
    const [batch, first = '', second = ''] = await beginCalls(own, chatLine('a', SLOW.name), chatLine('b', SLOW.name));

    const running = room.attempt(first);
    await room.waitForHold(first);
    await revokeKey(lab.served.room.database, own.keyId);
    await forgetKeys();
    await lab.served.http.openResponses.check();
    assert.deepEqual(await room.attempt(second), { kind: 'ended' });
    assert.deepEqual(await running, { kind: 'ended' });

    const { captured, output } = await room.settled(first);
    assert.ok(captured !== null && captured > 0n);
    assert.deepEqual(await room.entries(second), []);
    assert.equal((await advance(batch)).kind, 'ended');
    const { linesCompleted, outputTokens } = await lab.read(batch);
    assert.deepEqual([linesCompleted, outputTokens], [1, output]);
    assert.deepEqual(await failuresOf(batch), [['b', 401]]);
  });

  // Proves C10-22.
  it('leaves half of the calls to others, and its room to responses in the background, whenever they came', async () => {
    account = await lab.served.newAccount({ textStreamsCap: 4 });
    const [batch, ...lines] = await beginCalls(account, ...['a', 'b', 'c'].map((id) => chatLine(id)));
    assert.equal(lines.length, 2);
    const [line = ''] = lines;
    const accept = () => room.accept(account, { model: 'acme/text', input: 'What is 17 * 3?' });
    const [first, second, third] = [await accept(), await accept(), await accept()];

    const admitted = async () => (await room.admitted(account.id)).filter((id) => !lines.includes(id));
    assert.deepEqual(await admitted(), [first, second]);
    assert.deepEqual(await room.attempt(line), { kind: 'turn' });
    assert.deepEqual(await room.attempt(first), { kind: 'ended' });
    assert.deepEqual(await admitted(), [first, second, third]);
    assert.deepEqual(await room.attempt(line), { kind: 'turn' });
    for (const id of [second, third, ...lines]) assert.deepEqual(await room.attempt(id), { kind: 'ended' });

    assert.equal((await advance(batch)).kind, 'waits');
    const [last = ''] = (await callIdsOf(lab, batch)).slice(2);
    assert.deepEqual(await room.attempt(last), { kind: 'ended' });
    await lab.served.text.ledger.flush();
    await completes(batch, 3);
  });

  it('waits for the end of the day if its key has spent what it may on one', async () => {
    const own = await keyOf({ spendCaps: { dayMicroUsd: 1_000_000n } });
    const [batch, id = ''] = await beginCalls(own, chatLine('a'));
    const today = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
    await lab.served.room.rows(
      `INSERT INTO spend_periods (cap_id, period, spent_micro_usd) VALUES ($1, ${today}, 1000000)`,
      own.keyId,
    );

    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'daily_spend_cap');

    await lab.served.room.rows('DELETE FROM spend_periods WHERE cap_id = $1', own.keyId);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    await lab.served.text.ledger.flush();
    await completes(batch, 1);
  });

  it('waits for what other work holds, and is short of balance once nothing is held', async () => {
    const [, known = ''] = await beginCalls(account, chatLine('a'));
    await room.attempt(known);
    const [{ held: needed } = assert.fail('nothing was held')] = await room.held(known);

    for (const end of ['released', 'captured'] as const) {
      account = await lab.served.newAccount({ microUsd: needed + PRICE - 1n });
      const created = await account.client.create({ model: 'acme/images', input: { prompt: 'a lake' } });
      assert.equal(created.status, 200, JSON.stringify(created.body));
      const [batch, id = ''] = await beginCalls(account, chatLine('a'));

      assert.equal((await room.attempt(id)).kind, 'wait');
      assert.equal((await advance(batch)).kind, 'waits');
      assert.equal(await waitingFor(batch), 'balance');

      const { taskId } = created.body.data;
      if (end === 'released') await failTask(lab.served, taskId as TaskId, 'provider_error');
      else await lab.served.succeed(taskId, Buffer.from(taskId));
      assert.deepEqual(await room.attempt(id), { kind: 'ended' });
      const row = await room.row(id);
      assert.deepEqual(
        [row?.state, row?.error?.status],
        end === 'released' ? ['answered', undefined] : ['failed', 402],
      );
    }
  });

  it('waits for an upstream that cannot be reached, and ends at once if it is cancelled meanwhile', async () => {
    const [batch, id = ''] = await beginCalls(account, chatLine('a', CLOSED.name));
    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'model');
    assert.deepEqual(await room.entries(id), ['hold']);

    await cancelBatch(lab.context.database, batch.id, account.id);
    assert.equal((await advance(batch)).kind, 'ended');

    assert.deepEqual(await failuresOf(batch), [['a', 'batch_cancelled']]);
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    // The pass that settles what was left.
    await lab.served.room.rows(`UPDATE background_calls SET ended_at = now() - interval '1 min' WHERE id = $1`, id);
    await settleEndedCalls(lab.served.room.database, lab.served.text.ledger, 10);
    assert.equal((await room.settled(id)).captured, 0n);
    assert.deepEqual(await room.entries(id), ['hold', 'release']);
  });

  it('waits for a response in the background that a line continues', async () => {
    const earlier = await room.accept(account, { model: 'acme/text', input: 'What is 17 * 3?' });
    const body = { model: 'acme/text', input: 'And 17 * 4?', previous_response_id: earlier };
    const batch = await lab.begin(account, RESPONSES, [lineOf(RESPONSES, 'a', body)]);
    assert.equal((await advance(batch)).kind, 'waits');
    const [id = ''] = await callIdsOf(lab, batch);

    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.equal((await advance(batch)).kind, 'waits');
    assert.equal(await waitingFor(batch), 'response');

    assert.deepEqual(await room.attempt(earlier), { kind: 'ended' });
    assert.deepEqual(await room.attempt(id), { kind: 'ended' });
    await lab.served.text.ledger.flush();
    await completes(batch, 1);
  });
});
