/** Tasks that ended long ago, each with the rows that a successful task with a callback leaves; written without the API. */
import type { Database } from '../../../src/database/database.ts';

/** How long ago the youngest of them was created. */
const YOUNGEST_DAYS = 400;

const ID = `'tk-svc-' || substr(upper(md5(i::text)), 1, 26)`;

/** $1: the account; $2: how many. Each reads only what it writes itself, so that the order does not matter. */
const INSERTS = [
  `INSERT INTO tasks (id, account_id, key_id, idempotency_key, fingerprint, fingerprint_version, model, definition_hash,
                      metadata, storage, status, held_micro_usd, captured_micro_usd, created_at, queue_deadline_at,
                      started_at, completed_at, updated_at, input_erased_at)
   SELECT ${ID}, $1, 'bench', 'order-' || i, sha256(i::text::bytea), 1, 'bench/swatch', 'none',
          jsonb_build_object('order', i::text), 'temp', 'success', 0, 0, at, at + interval '1 day',
          at + interval '1 second', at + interval '20 seconds', at + interval '20 seconds', at + interval '30 days'
     FROM (SELECT i, now() - interval '${YOUNGEST_DAYS} days' - i * interval '7.000013 seconds' AS at
             FROM generate_series(1, $2::integer) i) s`,
  `INSERT INTO task_events (task_id, seq, type)
   SELECT ${ID}, seq, 'settled' FROM generate_series(1, $2::integer) i, generate_series(1, 7) seq WHERE $1 <> ''`,
  `INSERT INTO outputs (id, task_id, account_id, position, type, object_key, mime_type, size_bytes, sha256, width, height,
                        storage_tier, gone_at, gone_reason, bytes_deleted_at, model)
   SELECT 'out_' || i, ${ID}, $1, 0, 'image', 'outputs/' || i, 'image/png', 300000, repeat('0f', 32), 1024, 1024, 'temp',
          now(), 'expired', now(), 'bench/swatch' FROM generate_series(1, $2::integer) i`,
  `INSERT INTO generations (task_id, upstream, state, files)
   SELECT ${ID}, 'local', 'produced', '[]' FROM generate_series(1, $2::integer) i WHERE $1 <> ''`,
  `INSERT INTO callbacks (task_id, account_id, url, state, attempts)
   SELECT ${ID}, $1, 'https://example.com/hook', 'delivered', 1 FROM generate_series(1, $2::integer) i`,
  `INSERT INTO callback_attempts (task_id, account_id, attempt, finished_at, http_status)
   SELECT ${ID}, $1, 1, now(), 204 FROM generate_series(1, $2::integer) i`,
  `INSERT INTO task_metadata (account_id, pair, created_at, task_id)
   SELECT $1, metadata_pair('order', i::text),
          now() - interval '${YOUNGEST_DAYS} days' - i * interval '7.000013 seconds', ${ID}
     FROM generate_series(1, $2::integer) i`,
  `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, available_after_micro_usd,
                               held_after_micro_usd)
   SELECT $1, kind, ${ID}, 0, 0, 0 FROM generate_series(1, $2::integer) i, unnest(ARRAY['hold', 'release']) kind`,
  'UPDATE account_counters SET tasks_total = tasks_total + $2 WHERE account_id = $1',
];

const TIMEOUT_MS = 3_600_000;

/** All in one transaction, so that the times of a task are the same in all tables. */
export async function insertOldTasks(database: Database, accountId: string, tasks: number): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const [place, text] of INSERTS.entries()) {
      await transaction.query({ name: `bench_old_tasks_${place}`, text, timeoutMs: TIMEOUT_MS }, [accountId, tasks]);
    }
  });
  await database.query({ name: 'bench_vacuum', text: 'VACUUM (ANALYZE)', timeoutMs: TIMEOUT_MS });
}

/** What remains of this many other tasks that were pruned. */
export async function insertPruned(database: Database, accountId: string, tasks: number): Promise<void> {
  const text = `INSERT INTO pruned_tasks (task_id, account_id, fingerprint, fingerprint_version, held_micro_usd,
                                          captured_micro_usd, created_at, completed_at, archive_id)
                SELECT 'tk-svc-' || substr(upper(md5('pruned' || i)), 1, 26), $1, sha256(i::text::bytea), 1, 10000, 10000,
                       now(), now(), 1 FROM generate_series(1, $2::integer) i`;
  await database.transaction(async (transaction) => {
    await transaction.query({ name: 'bench_pruned', text, timeoutMs: TIMEOUT_MS }, [accountId, tasks]);
  });
  await database.query({ name: 'bench_vacuum', text: 'VACUUM (ANALYZE)', timeoutMs: TIMEOUT_MS });
}

const TABLES = [
  'tasks',
  'task_events',
  'outputs',
  'generations',
  'callbacks',
  'callback_attempts',
  'task_metadata',
  'ledger_entries',
];

/** Bytes of the tables with rows of tasks, with their indexes. */
export async function tableSizes(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ name: string; bytes: number }>(
    {
      name: 'bench_sizes',
      text: `SELECT name, pg_total_relation_size(name::regclass)::float8 AS bytes FROM unnest($1::text[]) AS name`,
    },
    [TABLES],
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
