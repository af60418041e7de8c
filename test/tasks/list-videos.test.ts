/** What a list of videos costs: the page, however many tasks and models there are (test/http/videos.test.ts: which). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listVideos } from '../../src/tasks/listing/list-videos.ts';
import type { Queryable } from '../../src/database/database.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const TASKS = 30_000;
const MODELS = Array.from({ length: 40 }, (_, index) => `v${index}`);

describe('a list of videos', () => {
  let room: TaskRoom;
  let accountId: string;
  before(async () => {
    room = await openTaskRoom();
    ({ accountId } = await room.newCaller());
    // One task in a thousand is a video, and all videos are old.
    await room.rows(
      `INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, input, storage,
                          status, held_micro_usd, captured_micro_usd, created_at, queue_deadline_at, completed_at)
       SELECT 'tk-svc-' || lpad(n::text, 26, '0'), $1, 'one', '', 1,
              CASE WHEN n <= $2 / 1000 THEN 'v' || (n % 3) ELSE 'image' END,
              CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, '{"prompt": "a fox"}', 'temp', 'success', 0, 0,
              now() - make_interval(secs => $2 - n), now(), now()
         FROM generate_series(1, $2::integer) n`,
      accountId,
      TASKS,
    );
    await room.rows('ANALYZE tasks');
  });
  after(() => room.close());

  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    for (const order of ['asc', 'desc'] as const) {
      it(`reads no more than a page of each model, ${order} with ${mode}`, async () => {
        const request = { accountId, models: MODELS, definitionHashes: ['a', 'b'], order, limit: 5 };
        const page = await listVideos(room.database, request);
        assert.deepEqual([page?.tasks.length, page?.hasMore], [5, true]);
        const blocks = await room.database.transaction(async (transaction) => {
          await transaction.query({ name: `mode_${mode}`, text: `SET LOCAL plan_cache_mode = ${mode}` }, []);
          const before = await blocksOf(transaction);
          await listVideos(transaction, request);
          return (await blocksOf(transaction)) - before;
        });

        // Forty probes of an index, and the rows of one page; the table has more than a thousand blocks.
        assert.ok(blocks > 0 && blocks < 400, String(blocks));
      });
    }
  }
});

/** How many blocks of the table and its indexes this session has touched. */
async function blocksOf(transaction: Queryable): Promise<number> {
  const [row] = await transaction.query<{ blocks: number }>(
    {
      name: 'test_blocks_of_tasks',
      text: `SELECT (pg_stat_get_xact_blocks_fetched('tasks'::regclass)
                      + (SELECT sum(pg_stat_get_xact_blocks_fetched(indexrelid)) FROM pg_index
                          WHERE indrelid = 'tasks'::regclass))::integer AS blocks`,
    },
    [],
  );
  return row?.blocks ?? NaN;
}
