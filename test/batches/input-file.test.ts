/** The input file of a batch: it stays while the batch needs it, and a batch ends if it vanishes all the same. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelBatch } from '../../src/batches/batch-record.ts';
import type { Batch } from '../../src/batches/batch-record.ts';
import { listDoomedObjects } from '../../src/objects/outputs/sweep.ts';
import { ObjectNotFoundError } from '../../src/objects/stores/object-store.ts';
import { markStore } from '../../src/objects/stores/claimed-store.ts';
import { lineOf } from '../e2e/batch-client.ts';
import type { ServedAccount } from '../http/serve.ts';
import { feed, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const TASKS = '/v1/tasks';
const LATER_MS = 3_600_000;

const linesOf = (ids: readonly string[]): readonly string[] =>
  ids.map((id) => lineOf(TASKS, id, { model: 'acme/images', input: { prompt: 'a lake' } }));

let lab: BatchLab;
let account: ServedAccount;
before(async () => {
  lab = await openBatchLab();
});
beforeEach(async () => {
  // Half of its slots: two lines at once.
  account = await lab.served.newAccount({ runningCap: 4 });
});
after(() => lab.served.close());

/** Makes a result of each of its tasks. */
async function succeedAll(): Promise<void> {
  const open = 'SELECT id FROM tasks WHERE account_id = $1 AND completed_at IS NULL';
  for (const { id } of await lab.served.room.rows<{ id: string }>(open, account.id)) {
    await lab.served.succeed(id, Buffer.from('an image'));
  }
}

describe('the input file of a batch', () => {
  const isDoomed = async ({ inputObjectKey }: Batch): Promise<boolean> => {
    const doomed = await listDoomedObjects(lab.context.database, Date.now() + LATER_MS, 1_000);
    return doomed.some(({ objectKey }) => objectKey === inputObjectKey);
  };

  // Proves C10-27.
  it('keeps its bytes after its deletion until the batch has ended', async () => {
    const batch = await lab.begin(account, TASKS, linesOf(['a']));
    const deleted = await account.client.send('DELETE', `/v1/files/${batch.inputFileId}`);
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body));
    assert.equal(await isDoomed(batch), false);

    await cancelBatch(lab.context.database, batch.id, batch.accountId);
    assert.equal((await lab.advance(batch)).kind, 'ended');

    assert.equal(await isDoomed(batch), true);
  });
});

describe('a batch whose input file has vanished from the store', () => {
  it('is worked on again later while the store is not the one of this installation', async () => {
    const batch = await lab.begin(account, TASKS, linesOf(['a']));
    await lab.context.store.delete(batch.inputObjectKey);

    await assert.rejects(lab.advance(batch), ObjectNotFoundError);

    assert.equal((await lab.read(batch)).status, 'in_progress');
  });

  describe('of this installation', () => {
    before(async () => {
      await markStore(lab.context.store, lab.context.installationId);
    });

    // Proves C10-27.
    it('fails, with the results of the lines that had their turn', async () => {
      const batch = await lab.begin(account, TASKS, [...linesOf(['a']), '{', ...linesOf(['c', 'd'])]);
      await feed(lab.context, batch);
      await lab.context.store.delete(batch.inputObjectKey);
      await succeedAll();

      assert.equal((await lab.advance(batch)).kind, 'ended');

      const answer = await account.client.send('GET', `/v1/batches/${batch.id}`);
      const { status, errors, request_counts: counts, failed_at: failedAt } = answer.body as unknown as FailedBatch;
      assert.deepEqual([status, errors.data[0]?.code], ['failed', 'input_file_lost']);
      assert.deepEqual(counts, { total: 4, completed: 1, failed: 1 });
      assert.ok(failedAt);
      const ended = await lab.read(batch);
      const [result, ...others] = await lab.results(account, ended.outputFileId);
      assert.deepEqual([result?.custom_id, result?.response?.status_code, others.length], [null, 200, 0]);
      assert.match(result?.id ?? '', /_1$/);
      const [error, ...more] = await lab.results(account, ended.errorFileId);
      assert.deepEqual([error?.custom_id, error?.response?.status_code, more.length], [null, 400, 0]);
      assert.match(error?.id ?? '', /_2$/);
      assert.equal(await lab.tasksOf(account), 1);
    });

    it('fails with all results if only the files were missing', async () => {
      const batch = await lab.begin(account, TASKS, linesOf(['a', 'b']));
      await feed(lab.context, batch);
      await succeedAll();
      await lab.context.store.delete(batch.inputObjectKey);

      assert.equal((await lab.advance(batch)).kind, 'ended');

      const ended = await lab.read(batch);
      assert.deepEqual([ended.status, ended.linesCompleted, ended.errorFileId], ['failed', 2, null]);
      assert.equal((await lab.results(account, ended.outputFileId)).length, 2);
    });
  });
});

interface FailedBatch {
  readonly status: string;
  readonly errors: { readonly data: readonly { readonly code: string }[] };
  readonly request_counts: object;
  readonly failed_at?: number;
}
