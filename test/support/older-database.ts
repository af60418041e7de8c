/**
 * A database that loses commits: its rows are saved at a moment and restored later, all of them, while Temporal, the
 * object store and all others keep their state. For a program this is the same as a failover to a standby that lagged
 * behind, or a restored backup: its connections break, and what it had written is gone.
 */
import pg from 'pg';
import type { TestDatabase } from './test-database.ts';

/** Rows as they were at a moment. */
export interface KeptRows {
  /** Replaces the current rows with them, any number of times. */
  putBack(): Promise<void>;
}

const KEPT = 'kept';

/** Saves all rows as they are now; uncommitted changes of a transaction are not included. */
export async function keepRows({ url }: Pick<TestDatabase, 'url'>): Promise<KeptRows> {
  const tables = await asOwner(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query(`DROP SCHEMA IF EXISTS ${KEPT} CASCADE`);
    await client.query(`CREATE SCHEMA ${KEPT}`);
    const { rows } = await client.query<Table>(TABLES);
    for (const { name } of rows) {
      const table = client.escapeIdentifier(name);
      await client.query(`CREATE TABLE ${KEPT}.${table} AS TABLE public.${table}`);
    }
    await client.query('COMMIT');
    return rows;
  });
  return {
    putBack: () =>
      asOwner(url, (client) =>
        // From another database: a session cannot forbid connections to its own.
        asOwner(elsewhere(url), async (doorkeeper) => {
          const database = doorkeeper.escapeIdentifier(new URL(url).pathname.slice(1));
          await doorkeeper.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
          try {
            await client.query(BREAK_CONNECTIONS);
            await replaceRows(client, tables);
          } finally {
            await doorkeeper.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
          }
        }),
      ),
  };
}

async function replaceRows(client: pg.Client, tables: readonly Table[]): Promise<void> {
  await client.query('BEGIN');
  // Neither foreign keys nor triggers need to check what was consistent before.
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(`TRUNCATE ${tables.map(({ name }) => `public.${client.escapeIdentifier(name)}`).join(', ')}`);
  for (const { name, columns } of tables) {
    const table = client.escapeIdentifier(name);
    const list = columns.map((column) => client.escapeIdentifier(column)).join(', ');
    await client.query(
      `INSERT INTO public.${table} (${list}) OVERRIDING SYSTEM VALUE SELECT ${list} FROM ${KEPT}.${table}`,
    );
  }
  await client.query('COMMIT');
}

function elsewhere(url: string): string {
  const other = new URL(url);
  other.pathname = '/postgres';
  return other.href;
}

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

const TABLES = `SELECT c.table_name AS name, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
                  FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
                 WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
                 GROUP BY c.table_name ORDER BY c.table_name`;

/** Returns when they are gone: none of them commits anything afterwards. */
const BREAK_CONNECTIONS = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                            WHERE datname = current_database() AND pid <> pg_backend_pid()`;

async function asOwner<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
