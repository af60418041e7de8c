/**
 * An account with many tasks, as a busy one would have them: seven seconds apart, most of them successes with an
 * output, one in twenty a failure, the newest two hundred still open. Some values are frequent, and `RARE` tasks,
 * evenly spread, have a model, a key and a label of their own, whatever the number of tasks.
 */
import pg from 'pg';

/** At any size: more than a page. */
const RARE = 12;
const OPEN = 200;
export const RARE_KEY = 'rare000000';
/** Customers alternate, so that each has a two-hundredth of the tasks. */
const CUSTOMERS = 200;

const INSERT_TASKS = `
  INSERT INTO tasks (id, account_id, key_id, idempotency_key, fingerprint, fingerprint_version, model, definition_hash,
                     input, metadata, storage, status, held_micro_usd, captured_micro_usd, error_reason, created_at,
                     queue_deadline_at, started_at, completed_at, updated_at)
  SELECT 'tk-svc-' || substr(upper(md5(i::text)), 1, 26), $1,
         CASE WHEN is_rare THEN '${RARE_KEY}' ELSE $2 END, CASE WHEN i % 2 = 0 THEN 'order-' || i END,
         decode(md5(i::text), 'hex'), 1,
         CASE WHEN is_rare THEN 'bench/rare' WHEN i % 10 < 6 THEN 'bench/swatch' WHEN i % 10 < 9 THEN 'bench/video'
              ELSE 'bench/voice' END,
         'none', jsonb_build_object('prompt', repeat('a fox in the snow ', 20)),
         CASE WHEN is_rare THEN '{"campaign": "spring"}'::jsonb
              WHEN i % 5 > 0 THEN jsonb_build_object('environment', 'production', 'order', i::text,
                                                     'customer', (i % ${CUSTOMERS})::text) END,
         'temp', status, 10000, CASE WHEN completed_at IS NOT NULL THEN 10000 END,
         CASE WHEN status = 'fail' THEN 'provider_error' END, created_at, created_at + interval '1 day',
         CASE WHEN status <> 'queued' THEN created_at + interval '1 second' END, completed_at,
         coalesce(completed_at, created_at)
    FROM (SELECT *, CASE WHEN status IN ('success', 'fail') THEN created_at + interval '20 seconds' END AS completed_at
            FROM (SELECT i, i % ($3::integer / ${RARE}) = 7 AND i <= ($3::integer / ${RARE}) * ${RARE} AS is_rare,
                         now() - ($3::integer - i) * interval '7.000013 seconds' AS created_at,
                         CASE WHEN i > $3::integer - ${OPEN} THEN (ARRAY['queued', 'handling', 'archiving'])[1 + i % 3]
                              WHEN i % 20 = 0 THEN 'fail' ELSE 'success' END AS status
                    FROM generate_series(1, $3::integer) i) s) t`;

const INSERT_REST = [
  `INSERT INTO task_metadata (account_id, pair, created_at, task_id)
   SELECT t.account_id, metadata_pair(m.key, m.value), t.created_at, t.id FROM tasks t, jsonb_each_text(t.metadata) m`,
  `INSERT INTO outputs (id, task_id, account_id, position, type, object_key, mime_type, size_bytes, sha256, width, height,
                        storage_tier, created_at, retain_until, model)
   SELECT 'out_' || substr(id, 8), id, account_id, 0, 'image', 'outputs/' || id || '/1', 'image/png', 300000,
          repeat('0f', 32), 1024, 1024, 'temp', completed_at, now() + interval '7 days', model
     FROM tasks WHERE status = 'success'`,
  `INSERT INTO callbacks (task_id, account_id, url, state, attempts)
   SELECT id, account_id, 'https://example.com/hook', 'delivered', 1
     FROM tasks WHERE completed_at IS NOT NULL AND substr(id, 8, 1) = '0'`,
  'UPDATE account_counters SET tasks_total = (SELECT count(*) FROM tasks)',
  'VACUUM (ANALYZE)',
];

/** What requests need to know about the tasks. */
export interface Sample {
  readonly keyId: string;
  /** The newest one, one in the middle, and the oldest one. */
  readonly taskIds: readonly string[];
  /** The position of the task in the middle. */
  readonly middle: { readonly createdMicros: bigint; readonly id: string };
  /** A hundred ids from the whole range. */
  readonly hundred: readonly string[];
}

/** Fills a migrated database. */
export async function fill(url: string, accountId: string, keyId: string, tasks: number): Promise<Sample> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // A superuser privilege: the rows refer to each other correctly, and the checks are not needed.
    await client.query('SET session_replication_role = replica');
    await client.query(INSERT_TASKS, [accountId, keyId, tasks]);
    for (const text of INSERT_REST) await client.query(text);
    const ranked = await client.query<{ id: string; micros: string }>(
      `SELECT id, (extract(epoch FROM created_at) * 1000000)::bigint AS micros
         FROM (SELECT id, created_at, row_number() OVER (ORDER BY created_at DESC) AS rank FROM tasks) t
        WHERE rank IN (1, $1::integer / 2, $1::integer) ORDER BY rank`,
      [tasks],
    );
    const hundred = await client.query<{ id: string }>('SELECT id FROM tasks ORDER BY id LIMIT 100');
    const middle = ranked.rows[1];
    if (middle === undefined) throw new Error('there are no tasks');
    return {
      keyId,
      taskIds: ranked.rows.map(({ id }) => id),
      middle: { createdMicros: BigInt(middle.micros), id: middle.id },
      hundred: hundred.rows.map(({ id }) => id),
    };
  } finally {
    await client.end();
  }
}
