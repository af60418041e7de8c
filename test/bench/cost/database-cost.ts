/** What PostgreSQL did for others than the bench itself: statements and bytes of its write-ahead log. */
import type { Database } from '../../../src/database/database.ts';

const CREATE_EXTENSION = {
  name: 'bench_create_pg_stat_statements',
  text: 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements',
};
const RESET = { name: 'bench_pg_stat_statements_reset', text: 'SELECT pg_stat_statements_reset() IS NOT NULL' };
const SELECT_LSN = {
  name: 'bench_wal_lsn',
  text: `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
};
/** The bench's own statements have these words in them. */
const SELECT_STATEMENTS = {
  name: 'bench_pg_stat_statements',
  text: `SELECT query AS text, sum(calls)::float8 AS calls, sum(wal_bytes)::float8 AS "walBytes",
                sum(total_exec_time)::float8 AS "executionMs"
           FROM pg_stat_statements
          WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_current_wal_insert_lsn%'
          GROUP BY query ORDER BY 2 DESC`,
};

/** One kind of statement; each execution is a round trip between us and PostgreSQL. */
export interface StatementCost {
  readonly text: string;
  readonly calls: number;
  readonly walBytes: number;
  readonly executionMs: number;
}

export interface DatabaseCost {
  readonly statements: readonly StatementCost[];
  /** All that was written, by the statements and by PostgreSQL itself. */
  readonly walBytes: number;
}

/** @param database of a cluster that counts statements. */
export async function prepareDatabaseCost(database: Database): Promise<void> {
  await database.query(CREATE_EXTENSION);
}

export async function databaseCostOf(database: Database, work: () => Promise<void>): Promise<DatabaseCost> {
  await database.query(RESET);
  const before = await walBytes(database);
  await work();
  const statements = await database.query<StatementCost>(SELECT_STATEMENTS);
  return { statements, walBytes: (await walBytes(database)) - before };
}

async function walBytes(database: Database): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(SELECT_LSN);
  if (row === undefined) throw new Error('PostgreSQL reported no position of its log');
  return row.bytes;
}
