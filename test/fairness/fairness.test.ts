/** One account's backlog does not delay another's first task (architecture, "One outbox"). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

const BACKLOG = 5_000;
const AT_ONCE = 64;
/**
 * Both run on one small machine: the large account should complete only this fraction of its tasks while the small
 * account's task passes.
 */
const SLIVER = BACKLOG / 10;

describe('an account with five thousand tasks waiting', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom({ environment: { MODELS_DIR: packageFile('test/bench/models') } });
  });
  after(() => darkroom.stop());

  it('does not delay the first task of another', async () => {
    const large = await darkroom.createAccount({ runningCap: 100, queueCap: 10_000 });
    const small = await darkroom.createAccount();
    const request = { model: 'bench/swatch', input: { prompt: 'grey', width: 640, height: 640 } };
    let left = BACKLOG;
    const create = async (): Promise<void> => {
      while (left-- > 0) assert.equal((await large.client.create(request)).status, 200);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, create));
    const before = await doneBy(large.id);

    const created = await small.client.create(request);
    const task = await small.client.waitForTerminal(created.body.data.taskId);

    assert.equal(task.status, 'success');
    const during = (await doneBy(large.id)) - before;
    assert.ok(during < SLIVER, `${during} of the large account's tasks went first`);
    assert.ok((await doneBy(large.id)) < BACKLOG, 'there was no backlog to be held up by');
  });

  async function doneBy(accountId: string): Promise<number> {
    const [row] = await darkroom.testDatabase.database.query<{ done: number }>(
      {
        name: 'test_done_by_account',
        text: 'SELECT count(*)::integer AS done FROM tasks WHERE account_id = $1 AND completed_at IS NOT NULL',
      },
      [accountId],
    );
    return row?.done ?? 0;
  }
});
