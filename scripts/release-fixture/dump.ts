/**
 * Writes a database as files: which migrations it has, and one COPY text per table. PostgreSQL's own pg_dump is not among
 * the programs that the embedded server brings; COPY text is what it would write.
 */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';

/** What is generated is generated again when it is loaded. */
const SELECT_TABLES = `
  SELECT c.table_name AS "table", array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
   WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
   GROUP BY c.table_name ORDER BY c.table_name`;
const SELECT_SEQUENCES = `
  SELECT sequencename AS name, last_value::text AS "lastValue" FROM pg_sequences
   WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY sequencename`;

/** What the dump is of; `facts` is written into fixture.json beside what the dump adds. */
export interface DumpOptions {
  readonly databaseUrl: string;
  /** Folder of the migrations as the release has them. */
  readonly migrations: string;
  /** Where the files go; what is there is replaced. */
  readonly folder: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Dumps one snapshot, of an installation that may be running. Returns the rows of each table. */
export async function dumpDatabase(options: DumpOptions): Promise<Record<string, number>> {
  const { folder } = options;
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.join(folder, 'rows'), { recursive: true });
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { rows: tables } = await client.query<{ table: string; columns: string[] }>(SELECT_TABLES);
    const rows: Record<string, number> = {};
    for (const { table, columns } of tables) {
      const copy = client.query(copyTo(`COPY ${table} (${columns.join(', ')}) TO STDOUT`));
      await pipeline(copy, createWriteStream(path.join(folder, 'rows', `${table}.tsv`)));
      rows[table] = copy.rowCount;
    }
    const { rows: sequences } = await client.query(SELECT_SEQUENCES);
    const migrations = await hashMigrations(options.migrations);
    const fixture = { ...options.facts, migrations, tables, sequences };
    await writeFile(path.join(folder, 'fixture.json'), `${JSON.stringify(fixture, undefined, 2)}\n`);
    return rows;
  } finally {
    await client.end();
  }
}

/** The SHA-256 of each migration: one that is released never changes. */
async function hashMigrations(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => name !== 'schema.sql').toSorted();
  const hashes = names.map(async (name) => {
    const text = await readFile(path.join(folder, name), 'utf8');
    return [name, createHash('sha256').update(text).digest('hex')] as const;
  });
  return Object.fromEntries(await Promise.all(hashes));
}
