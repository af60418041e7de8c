/** Workers that notice one another's death, on a real database and with a clock of the test's own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database, Statement } from '../../src/database/database.ts';
import { startWorkerPresence } from '../../src/processes/worker-presence.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const enter = { name: 'test_enter_worker', text: 'INSERT INTO worker_processes (id) VALUES ($1)' };
const renew = {
  name: 'test_renew_worker',
  text: 'UPDATE worker_processes SET seen_at = clock_timestamp() WHERE id = $1',
};
const remove = { name: 'test_remove_worker', text: 'DELETE FROM worker_processes WHERE id = $1' };
const listIds = { name: 'test_worker_ids', text: 'SELECT id FROM worker_processes ORDER BY id' };

describe('the presence of workers', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.close());

  const ids = async (): Promise<readonly string[]> =>
    (await test.database.query<{ id: string }>(listIds)).map(({ id }) => id);

  /**
   * A worker each of whose beats comes three seconds after the one before.
   *
   * @param beforeBeat is called with the number of each beat, and may fail it, or let more time pass.
   */
  function start(identity: string, beforeBeat: (beat: number) => Promise<number | void> = async () => {}) {
    const handedOver: { readonly id: string; readonly beat: number }[] = [];
    let [beats, time] = [0, 0];
    const query: Database['query'] = async (statement: Statement, values) => {
      if (statement.name === 'beat_worker_process') time += (await beforeBeat((beats += 1))) ?? 0;
      return test.database.query(statement, values);
    };
    const presence = startWorkerPresence({
      database: { query },
      logger: silentLogger(),
      identity,
      handOver: async (id) => void handedOver.push({ id, beat: beats }),
      handBackLost: () => Promise.reject(new Error('Temporal is away')),
      now: () => (time += 3_000),
      beatMs: 1,
    });
    return { handedOver, beats: () => beats, close: () => presence.close() };
  }

  it('hands over what a dead one had in hand, once, and leaves one alone that is alive', async () => {
    await test.database.query(enter, ['dead']);
    await test.database.query(enter, ['alive']);
    const worker = start('own', async () => void (await test.database.query(renew, ['alive'])));

    await waitFor('it is handed over', () => worker.handedOver.length > 0);
    await waitFor('many more beats', () => worker.beats() > 20);
    await worker.close();

    assert.deepEqual(worker.handedOver, [{ id: 'dead', beat: 5 }]);
    assert.deepEqual(await ids(), ['alive']);
    await test.database.query(remove, ['alive']);
  });

  it('begins to watch again after a beat that failed, or came late: the others may have been cut off as well', async () => {
    for (const disturb of [() => Promise.reject(new Error('away')), () => Promise.resolve(60_000)]) {
      await test.database.query(enter, ['silent']);
      const worker = start('own', async (beat) => (beat === 4 ? disturb() : undefined));

      await waitFor('it is handed over', () => worker.handedOver.length > 0);
      await worker.close();

      const [handedOver] = worker.handedOver;
      assert.equal(handedOver?.id, 'silent');
      assert.ok(handedOver.beat >= 8, String(handedOver.beat));
    }
  });

  it('removes its own row when it ends, and returns after it was taken for dead', async () => {
    const worker = start('frozen');
    await waitFor('it is there', async () => (await ids()).includes('frozen'));
    await test.database.query(remove, ['frozen']);
    await waitFor('it is there again', async () => (await ids()).includes('frozen'));

    await worker.close();

    assert.equal((await ids()).includes('frozen'), false);
  });
});
