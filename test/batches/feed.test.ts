/** Feeding the lines of a batch by attempts that overtake each other. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelBatch } from '../../src/batches/batch-record.ts';
import { finalizeBatch } from '../../src/batches/finalize.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { lineOf } from '../e2e/batch-client.ts';
import { PRICE } from '../tasks/task-room.ts';
import { NEVER, feed, freezeBeforeCreate, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const TASKS = '/v1/tasks';
const LINES = ['a', 'b', 'c'].map((id) => lineOf(TASKS, id, { model: 'acme/images', input: { prompt: 'a lake' } }));

let lab: BatchLab;
before(async () => {
  lab = await openBatchLab();
});
after(async () => {
  assert.deepEqual(await verifyLedger(lab.served.room.database), []);
  await lab.served.close();
});

describe('an attempt that stops before it creates the tasks of its lines', () => {
  /** A batch, and an attempt to feed it that has stopped. */
  async function stoppedAttempt() {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, TASKS, LINES);
    const attempt = freezeBeforeCreate(lab.context);
    const feeding = feed(attempt.context, batch);
    await attempt.frozen;
    return { account, batch, feeding, goOn: attempt.goOn };
  }

  it('creates none once another attempt has cancelled the batch', async () => {
    const { account, batch, feeding, goOn } = await stoppedAttempt();

    await cancelBatch(lab.context.database, batch.id, batch.accountId);
    assert.equal((await lab.advance(batch)).kind, 'ended');
    goOn();

    assert.equal(await feeding, false);
    assert.equal(await lab.tasksOf(account), 0);
    const ended = await lab.read(batch);
    assert.deepEqual([ended.status, ended.linesFed], ['cancelled', 0]);
    assert.deepEqual(
      await lab.outcomes(account, ended.errorFileId),
      ['a', 'b', 'c'].map((id) => [id, 'batch_cancelled']),
    );
  });

  it('creates none once the window of the batch has ended', async () => {
    const { account, batch, feeding, goOn } = await stoppedAttempt();
    await lab.served.room.rows('UPDATE batches SET expires_at = now() WHERE id = $1', batch.id);

    goOn();
    assert.equal(await feeding, false);
    assert.equal((await lab.advance(batch)).kind, 'ended');

    assert.equal(await lab.tasksOf(account), 0);
    const ended = await lab.read(batch);
    assert.deepEqual([ended.status, ended.linesFed], ['expired', 0]);
  });

  it('creates none once another attempt has fed the lines', async () => {
    const { account, batch, feeding, goOn } = await stoppedAttempt();

    assert.equal(await feed(lab.context, batch), true);
    goOn();

    assert.equal(await feeding, false);
    assert.equal((await lab.read(batch)).linesFed, 3);
    assert.equal(await lab.tasksOf(account), 3);
    const [held] = await lab.served.room.rows<{ held: bigint }>(
      'SELECT held_micro_usd AS held FROM account_counters WHERE account_id = $1',
      account.id,
    );
    assert.equal(held?.held, PRICE * 3n);
  });
});

describe('an attempt that writes the files', () => {
  it('does not end a batch that has been fed since', async () => {
    const account = await lab.served.newAccount();
    const batch = await lab.begin(account, TASKS, LINES);
    assert.equal(await feed(lab.context, batch), true);

    await finalizeBatch(lab.context, batch, 'expired', NEVER);

    const { status, outputFileId, errorFileId } = await lab.read(batch);
    assert.deepEqual([status, outputFileId, errorFileId], ['in_progress', null, null]);
  });
});
