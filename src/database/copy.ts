/**
 * Copies all of an installation's database into another, empty one: from that of `npm start` to one of the
 * operator's, and from one major release of PostgreSQL to the next, which cannot read each other's files. Rows are
 * transferred as text, which every release reads; the target gets its schema from the migrations and not from the
 * source.
 */
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Logger } from '../telemetry/log.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** The copy cannot be made; nothing was changed in the source, and nothing stays in the target. */
export class DatabaseCopyError extends DarkroomError {
  override readonly name = 'DatabaseCopyError';
  override readonly kind = 'operator_action_required';
}

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly logger: Logger;
  /** Called for each table when it is done. */
  readonly onCopied?: (copied: CopiedTable) => void;
}

/** The table of the migrations that ran (migrate.ts). It is not copied, because each database has its own. */
const MIGRATIONS = 'migrations';

const SELECT_MIGRATIONS = `SELECT name FROM ${MIGRATIONS} ORDER BY name`;
const SELECT_OTHERS = `SELECT count(*)::integer AS others FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
/** Excludes generated columns, which the target database generates itself. */
const SELECT_COLUMNS = `SELECT c.table_name AS "table", array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
                          FROM information_schema.columns c
                          JOIN information_schema.tables t USING (table_schema, table_name)
                         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
                           AND c.table_name <> '${MIGRATIONS}'
                         GROUP BY c.table_name ORDER BY c.table_name`;
const SELECT_REFERENCES = `SELECT DISTINCT conrelid::regclass::text AS "table", confrelid::regclass::text AS "refersTo"
                             FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid`;
const SELECT_SEQUENCES = `SELECT sequencename AS name, last_value AS "lastValue" FROM pg_sequences WHERE schemaname = 'public'`;

/**
 * Copies everything in one snapshot of the source and one transaction of the target.
 *
 * @returns what was copied, table by table.
 * @throws {DatabaseCopyError} the source is in use or of another release, or the target has accounts already.
 */
export async function copyDatabase({ from, to, logger, onCopied }: CopyOptions): Promise<readonly CopiedTable[]> {
  return withClient(from, async (source) => {
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await requireQuiet(source);
    await migrateTarget(to, logger);
    const copied = await withClient(to, async (target) => {
      await target.query('BEGIN');
      await requireSameSchema(source, target);
      await requireEmpty(target);
      const tables = await copyAll(source, target, onCopied);
      await copySequences(source, target);
      await target.query('COMMIT');
      await target.query('ANALYZE');
      return tables;
    });
    // Rows from another server have that server's transaction numbers, which this repairs.
    await migrateTarget(to, logger);
    return copied;
  });
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'darkroom database copy' });
  client.on('error', () => undefined);
  await client.connect().catch((error: unknown) => {
    throw new DatabaseCopyError(`${placeOf(url)} does not answer: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    });
  });
  try {
    return await work(client);
  } finally {
    // An open transaction ends with its connection, rolled back.
    await client.end().catch(() => undefined);
  }
}

/** An address without its password. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'the database';
  const { host, pathname } = new URL(url);
  return `the database ${host}${pathname}`;
}

/** Requires that no api or worker is connected: what it wrote after the snapshot would be lost. */
async function requireQuiet(source: pg.Client): Promise<void> {
  const { rows } = await source.query<{ others: number }>(SELECT_OTHERS);
  const others = rows[0]?.others ?? 0;
  if (others === 0) return;
  throw new DatabaseCopyError(
    `the source is in use by ${others} other connection(s): stop the api and the worker first`,
  );
}

async function migrateTarget(url: string, logger: Logger): Promise<void> {
  const database = openDatabase({ url, poolSize: 2 }, logger);
  try {
    await migrate(url, database, logger);
  } finally {
    await database.close();
  }
}

async function requireSameSchema(source: pg.Client, target: pg.Client): Promise<void> {
  const namesOf = async (client: pg.Client): Promise<string> => {
    const { rows } = await client.query<{ name: string }>(SELECT_MIGRATIONS);
    return rows.map(({ name }) => name).join(', ');
  };
  const [has, wants] = [await namesOf(source).catch(() => 'none'), await namesOf(target)];
  if (has === wants) return;
  throw new DatabaseCopyError(`the source is not of this release: run migrate on it first (it has ${has})`);
}

async function requireEmpty(target: pg.Client): Promise<void> {
  const { rows } = await target.query<{ isUsed: boolean }>('SELECT EXISTS (SELECT FROM accounts) AS "isUsed"');
  if (rows[0]?.isUsed === true) throw new DatabaseCopyError('the target has accounts already: name an empty database');
}

async function copyAll(
  source: pg.Client,
  target: pg.Client,
  onCopied: CopyOptions['onCopied'],
): Promise<readonly CopiedTable[]> {
  const { rows: tables } = await source.query<{ table: string; columns: string[] }>(SELECT_COLUMNS);
  const { rows: references } = await source.query<{ table: string; refersTo: string }>(SELECT_REFERENCES);
  const names = tables.map(({ table }) => quoted(table)).join(', ');
  // The migrations have inserted an installation id there, which is not this one's.
  await target.query(`TRUNCATE ${names} CASCADE`);
  const copied: CopiedTable[] = [];
  for (const { table, columns } of inOrder(tables, references)) {
    const list = `(${columns.map(quoted).join(', ')})`;
    const reading = source.query(copyTo(`COPY ${quoted(table)} ${list} TO STDOUT`));
    const writing = target.query(copyFrom(`COPY ${quoted(table)} ${list} FROM STDIN`));
    await pipeline(reading, writing);
    const done = { table, rows: writing.rowCount ?? 0 };
    copied.push(done);
    onCopied?.(done);
  }
  return copied;
}

/** Referenced tables come first. */
function inOrder<T extends { readonly table: string }>(
  tables: readonly T[],
  references: readonly { readonly table: string; readonly refersTo: string }[],
): readonly T[] {
  const ordered: T[] = [];
  let left = [...tables];
  while (left.length > 0) {
    const isLeft = (name: string): boolean => left.some(({ table }) => table === name);
    const free = left.filter(({ table }) => !references.some((each) => each.table === table && isLeft(each.refersTo)));
    if (free.length === 0) throw new Error('tables refer to each other in a circle');
    ordered.push(...free);
    left = left.filter((table) => !free.includes(table));
  }
  return ordered;
}

async function copySequences(source: pg.Client, target: pg.Client): Promise<void> {
  const { rows } = await source.query<{ name: string; lastValue: string | null }>(SELECT_SEQUENCES);
  for (const { name, lastValue } of rows) {
    if (lastValue !== null) await target.query('SELECT setval($1::regclass, $2)', [quoted(name), lastValue]);
  }
}

function quoted(identifier: string): string {
  return pg.escapeIdentifier(identifier);
}
