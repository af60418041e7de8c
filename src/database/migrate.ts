/**
 * Brings the database to the schema of this release: forward-only SQL files in `migrations/`, run by node-pg-migrate
 * under its advisory lock, so that several processes may try at once.
 */
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { packageFile } from '../config/package-root.ts';
import { newId } from '../domain/ids.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Database, Statement } from './database.ts';

/** Runs what has not run yet and gives the installation its id. */
export async function migrate(databaseUrl: string, database: Database, logger: Logger): Promise<readonly string[]> {
  const applied = await withClient(databaseUrl, (client) => apply(client, logger));
  await database.query(createInstallation, [newId('inst')]);
  await database.query(forgetForeignTransactions);
  return applied.map((migration) => migration.name);
}

/** The library closes a connection of its own without waiting for it: whoever ends then meets one that is still open. */
async function withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString });
  // What is asked of it fails with the same error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

function apply(dbClient: pg.Client, logger: Logger): ReturnType<typeof runner> {
  return runner({
    dbClient,
    dir: packageFile('migrations'),
    migrationsTable: 'migrations',
    direction: 'up',
    count: Infinity,
    singleTransaction: true,
    advisoryLockMode: 'wait',
    verbose: false,
    logger: {
      debug: (line: string) => logger.debug(line),
      info: (line: string) => logger.debug(line),
      warn: (line: string) => logger.warn(line),
      error: (line: string) => logger.error(line),
    },
  });
}

/**
 * A database restored into another server has events of transactions that are yet to come there. They would look new to
 * every reader of the feed (tasks/feed.ts) until then.
 */
const forgetForeignTransactions: Statement = {
  name: 'forget_foreign_transactions',
  text: `UPDATE task_events SET xid = pg_snapshot_xmin(pg_current_snapshot())
          WHERE xid > pg_snapshot_xmax(pg_current_snapshot())`,
};

const createInstallation: Statement = {
  name: 'create_installation',
  text: 'INSERT INTO installation (id) VALUES ($1) ON CONFLICT (is_the_one) DO NOTHING',
};

const selectInstallation: Statement = { name: 'select_installation', text: 'SELECT id FROM installation' };

/**
 * The random id of this installation, which task ids are derived from (architecture, "The workflow ID is the
 * idempotency key").
 *
 * @throws {Error} the database was never migrated.
 */
export async function readInstallationId(database: Database): Promise<string> {
  const [row] = await database.query<{ id: string }>(selectInstallation);
  if (row === undefined) throw new Error('the database has no installation id: run the migrate command first');
  return row.id;
}
