/**
 * What a database has beside the tasks of `test/bench/lists/rows.ts`: six events, two ledger entries and a generation for
 * each task that has ended, as the program writes them.
 */
import pg from 'pg';

/** Tasks per statement: each is a transaction, as events of different transactions differ in their `xid`. */
const CHUNK = 100_000;

const EVENTS = ['accepted', 'started', 'produced', 'archiving', 'settled', 'callback_delivered'];

/** `$1` and `$2`: the first and the last task, by their place in the order of their ids. */
const CHUNK_OF_TASKS = `(SELECT id, account_id, key_id, model, created_at, completed_at, status
                           FROM bench_tasks WHERE place BETWEEN $1 AND $2)`;

const INSERT_HISTORY = [
  `INSERT INTO task_events (task_id, seq, at, type)
   SELECT t.id, e.seq, t.created_at + e.seq * interval '1 second', e.type
     FROM ${CHUNK_OF_TASKS} t, unnest('{${EVENTS.join(',')}}'::text[]) WITH ORDINALITY AS e (type, seq)`,
  `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id, created_at, model,
                               available_after_micro_usd, held_after_micro_usd)
   SELECT t.account_id, e.kind, t.id, 10000, t.key_id, t.created_at, t.model, 1000000000, 10000
     FROM ${CHUNK_OF_TASKS} t,
          LATERAL unnest(ARRAY['hold', CASE t.status WHEN 'fail' THEN 'release' ELSE 'capture' END]) AS e (kind)
    WHERE t.completed_at IS NOT NULL OR e.kind = 'hold'`,
  `INSERT INTO generations (task_id, upstream, state, files, created_at, updated_at)
   SELECT t.id, 'bench', 'produced', '[{"key":"outputs/one","sizeBytes":300000}]', t.created_at, t.created_at
     FROM ${CHUNK_OF_TASKS} t WHERE t.status = 'success'`,
];

/** Fills a database that has the tasks. @param onProgress is called with the number of tasks whose history is there. */
export async function fillHistory(url: string, onProgress: (tasks: number) => void): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // As where the tasks were written: a superuser privilege, which skips the checks of rows that are known to be right.
    await client.query('SET session_replication_role = replica');
    await client.query(`CREATE TEMPORARY TABLE bench_tasks AS
                        SELECT row_number() OVER (ORDER BY created_at) AS place, id, account_id, key_id, model,
                               created_at, completed_at, status FROM tasks`);
    await client.query('CREATE INDEX ON bench_tasks (place)');
    await client.query('ANALYZE bench_tasks');
    const { rows } = await client.query<{ tasks: string }>('SELECT count(*) AS tasks FROM bench_tasks');
    const tasks = Number(rows[0]?.tasks);
    for (let first = 1; first <= tasks; first += CHUNK) {
      const last = Math.min(first + CHUNK - 1, tasks);
      for (const text of INSERT_HISTORY) await client.query(text, [first, last]);
      onProgress(last);
    }
    await client.query('DROP TABLE bench_tasks');
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}

/** The size of a database and of its largest tables with their indexes, in bytes. */
export async function sizesOf(url: string): Promise<readonly { readonly name: string; readonly bytes: number }[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `SELECT 'database' AS name, pg_database_size(current_database()) AS bytes
       UNION ALL
       (SELECT relname, pg_total_relation_size(oid) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
         ORDER BY pg_total_relation_size(oid) DESC LIMIT 6)`,
    );
    return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }));
  } finally {
    await client.end();
  }
}
