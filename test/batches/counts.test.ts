/** What a batch says of its lines while they end in any order, and how long it is there afterwards. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { advanceBatch } from '../../src/batches/advance.ts';
import { BatchNotFoundError, cancelBatch, deleteOldBatches } from '../../src/batches/batch-record.ts';
import type { Batch } from '../../src/batches/batch-record.ts';
import type { BatchContext } from '../../src/batches/context.ts';
import { settleLines } from '../../src/batches/settle-lines.ts';
import type { Database } from '../../src/database/database.ts';
import { taskIdForKey } from '../../src/domain/ids.ts';
import { lineKey } from '../../src/batches/line.ts';
import { lineOf } from '../e2e/batch-client.ts';
import type { ServedAccount } from '../http/serve.ts';
import { NEVER, feed, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const TASKS = '/v1/tasks';
const DAY_MS = 86_400_000;

const taskLine = (id: string, model: unknown = 'acme/images'): string =>
  lineOf(TASKS, id, { model, input: { prompt: 'a lake' } });

let lab: BatchLab;
let account: ServedAccount;
before(async () => {
  lab = await openBatchLab();
  account = await lab.served.newAccount();
});
after(() => lab.served.close());

async function wireOf({ id }: Batch): Promise<WireBatch> {
  return (await account.client.send('GET', `/v1/batches/${id}`)).body as unknown as WireBatch;
}

describe('request_counts', () => {
  const settle = async (batch: Batch): Promise<number> => {
    const before = await lab.read(batch);
    const { open, batch: settled } = await settleLines(lab.context, before);
    assert.deepEqual(settled, await lab.read(batch));
    // As one that worked on the same row at the same moment.
    assert.equal((await settleLines(lab.context, before)).open, open);
    return open;
  };
  const succeed = async (batch: Batch, line: number): Promise<void> => {
    const id = taskIdForKey(lab.context.installationId, batch.accountId, lineKey(batch.id, line));
    await lab.served.succeed(id, Buffer.from('an image'));
  };

  // Proves C10-26.
  it('has the lines as they end, each once', async () => {
    const batch = await lab.begin(account, TASKS, [taskLine('a'), taskLine('b'), '{', taskLine('d')]);
    await feed(lab.context, batch);

    await succeed(batch, 3);
    assert.equal(await settle(batch), 2);
    assert.deepEqual((await wireOf(batch)).request_counts, { total: 4, completed: 1, failed: 1 });
    await settle(batch);
    assert.deepEqual((await wireOf(batch)).request_counts, { total: 4, completed: 1, failed: 1 });

    await succeed(batch, 0);
    assert.equal(await settle(batch), 1);
    assert.deepEqual((await wireOf(batch)).request_counts, { total: 4, completed: 2, failed: 1 });

    await succeed(batch, 1);
    assert.equal(await settle(batch), 0);
    assert.deepEqual((await wireOf(batch)).request_counts, { total: 4, completed: 3, failed: 1 });
    const { linesSettled, aheadCompleted, aheadFailed } = await lab.read(batch);
    assert.deepEqual([linesSettled, aheadCompleted, aheadFailed], [4, 0, 0]);
  });
});

describe('model', () => {
  const cases: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ['is that of all lines', [taskLine('a'), taskLine('b')], 'acme/images'],
    ['is absent if they differ', [taskLine('a'), taskLine('b', 'acme/text')], undefined],
    ['is absent if a line has none', [taskLine('a'), '{'], undefined],
    ['is absent if it is no name', [taskLine('a', 'a\u0000b')], undefined],
    ['is absent if it is no text', [taskLine('a', { name: 'acme/images' })], undefined],
  ];
  for (const [what, lines, model] of cases) {
    it(what, async () => {
      assert.equal((await wireOf(await lab.begin(account, TASKS, lines))).model, model);
    });
  }
});

describe('a batch that has ended', () => {
  const deleteAt = (now: number): Promise<number> => deleteOldBatches(lab.context.database, { now, limit: 100 });

  it('is deleted after 30 days, and no other', async () => {
    const [ended, open] = [
      await lab.begin(account, TASKS, [taskLine('a')]),
      await lab.begin(account, TASKS, [taskLine('a')]),
    ];
    await cancelBatch(lab.context.database, ended.id, ended.accountId);
    assert.equal((await lab.advance(ended)).kind, 'ended');
    const endedAt = ((await lab.read(ended)).endedAt ?? NaN) * 1000;

    assert.equal(await deleteAt(endedAt + 30 * DAY_MS - 1_000), 0);
    assert.equal((await lab.read(ended)).status, 'cancelled');
    assert.equal(await deleteAt(endedAt + 30 * DAY_MS + 1_000), 1);

    await assert.rejects(lab.read(ended), BatchNotFoundError);
    assert.equal((await lab.read(open)).status, 'in_progress');
  });

  it('is kept if it has an Idempotency-Key, which would otherwise create it again under the same id', async () => {
    const { inputFileId: input_file_id } = await lab.create(account, TASKS, [taskLine('a')]);
    const body = { input_file_id, endpoint: TASKS, completion_window: '24h' };
    const create = async () => account.client.send('POST', '/v1/batches', body, { 'Idempotency-Key': 'kept' });
    const { id } = (await create()).body as unknown as { id: string };
    await cancelBatch(lab.context.database, id, account.id);
    assert.equal((await advanceBatch(lab.context, id, NEVER)).kind, 'ended');

    await deleteAt(Date.now() + 300 * DAY_MS);
    const again = (await create()).body as unknown as { id: string; status: string };
    assert.deepEqual([again.id, again.status], [id, 'cancelled']);
  });
});

describe('a step', () => {
  it('reads the row of its batch once', async () => {
    const batch = await lab.create(account, TASKS, ['{', '{']);
    const { context, steps } = counting();
    assert.equal((await advanceBatch(context, batch.id, NEVER)).kind, 'ended');

    // The first step validates, then come feeding, counting, the mark and the files; the last one finds it ended.
    assert.equal(steps(), 6);
    assert.equal((await lab.read(batch)).status, 'completed');
  });

  it('is the only one for which a batch keeps a slot that others need, or while it waits for hours', async () => {
    const own = await lab.served.newAccount();
    const batch = await lab.begin(own, TASKS, [taskLine('a')]);
    assert.equal((await lab.advance(batch)).kind, 'waits');
    assert.equal((await lab.read(batch)).linesFed, 1);

    const crowded = counting();
    assert.deepEqual(await advanceBatch(crowded.context, batch.id, NEVER, () => true), { kind: 'waits', ms: 1_000 });
    assert.equal(crowded.steps(), 1);

    const { id } = await lab.begin(own, TASKS, [taskLine('b')]);
    await lab.served.room.rows(`UPDATE batches SET waiting_for = 'account' WHERE id = $1`, id);
    await lab.served.room.rows(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, own.id);
    const [key] = await lab.served.room.rows<{ id: string }>('SELECT id FROM api_keys WHERE account_id = $1', own.id);
    lab.served.http.authenticator.forget(key?.id ?? '');
    const waiting = counting();
    assert.deepEqual(await advanceBatch(waiting.context, id, NEVER), { kind: 'waits', ms: 15_000 });
    assert.equal(waiting.steps(), 1);
  });

  /** A context that counts the steps: each reads the row of its batch. */
  function counting(): { readonly context: BatchContext; steps(): number } {
    const statements: string[] = [];
    const { database } = lab.context;
    const noting: Database = {
      ...database,
      query(statement, values) {
        statements.push(statement.name);
        return database.query(statement, values);
      },
    };
    return {
      context: { ...lab.context, database: noting },
      steps: () => statements.filter((name) => name === 'select_batch').length,
    };
  }
});
