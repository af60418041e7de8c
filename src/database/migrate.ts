/**
 * Migrates the database to the schema of this release while other processes continue to work: forward-only SQL files in
 * `migrations/`, run by node-pg-migrate one after the other, each in a transaction of its own (migration-file.ts lists
 * which are not). A statement that cannot get its lock within `lockTimeoutMs` lets those that queue behind it proceed
 * and is retried later, so that no reader or writer waits longer than that because of a migration.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import type pg from 'pg';
import type { DatabaseVariable } from '../config/connections.ts';
import { packageFile } from '../config/package-root.ts';
import { backoffMs } from '../domain/waits.ts';
import { errorCodeOf, DarkroomError } from '../domain/darkroom-error.ts';
import { newId } from '../domain/ids.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Database, Statement } from './database.ts';
import { forgetForeignTransactions } from './foreign-transactions.ts';
import { watchBlockers } from './lock-blockers.ts';
import type { Blocker } from './lock-blockers.ts';
import { connectSession } from './pooler.ts';
import { migrationLoader } from './migration-file.ts';

export interface MigrateOptions {
  /** Where the SQL files are; default: those of this release. */
  readonly directory?: string;
  /** How long a statement waits for a lock that others would queue behind. Default 1 s. */
  readonly lockTimeoutMs?: number;
  /** How long to wait for the lock of a migration before giving up, in milliseconds. Default: 30 min. */
  readonly giveUpAfterMs?: number;
  /** How much of a restored table of events is changed at once, in pages. Default 4,000. */
  readonly eventPagesAtOnce?: number;
  /** The setting that has the address, for messages. */
  readonly variable?: DatabaseVariable | undefined;
}

const LOCK_TIMEOUT_MS = 1_000;
const GIVE_UP_AFTER_MS = 30 * 60_000;
/** Between two attempts others have at least twice the time that they waited for one. */
const LEAST_BACKOFF_IN_LOCK_TIMEOUTS = 2;
const MAX_BACKOFF_MS = 15_000;
/** A process that stalls inside a migration's transaction must not hold its lock for long. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
const ADVISORY_LOCK_POLL_MS = 100;
const ADVISORY_LOCK_LOG_EVERY_MS = 10_000;

/** A migration could not get its lock: other transactions held it all the time. */
export class MigrationLockError extends DarkroomError {
  override readonly name = 'MigrationLockError';
  override readonly kind = 'unavailable';
}

/**
 * Runs what has not run yet and gives the installation its id. Several processes may try at once, and it may be
 * interrupted at any point: running it again continues where it was.
 *
 * @returns the names of the migrations that this call ran.
 * @throws {MigrationLockError} other transactions held the locks for `giveUpAfterMs`.
 * @throws {PoolerError} the address is that of a pooler, which would give the locks to others.
 */
export async function migrate(
  databaseUrl: string,
  database: Database,
  logger: Logger,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  return withClient(databaseUrl, options.variable, async (client) => {
    const applied = await applyAll(client, database, logger, options);
    await database.query(createInstallation, [newId('inst')]);
    await forgetForeignTransactions(client, logger, options.eventPagesAtOnce);
    return applied;
  });
}

/**
 * The library closes a connection of its own without waiting for it: a caller that ends then meets one that is still
 * open.
 */
async function withClient<T>(
  connectionString: string,
  variable: DatabaseVariable | undefined,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connectSession(connectionString, 'darkroom migrate', 'migrate', variable);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Ends with the migration lock: the rest of the migration is for one process as well, and its session ends soon. */
async function applyAll(
  client: pg.Client,
  database: Database,
  logger: Logger,
  options: MigrateOptions,
): Promise<readonly string[]> {
  const directory = options.directory ?? packageFile('migrations');
  const { lockTimeoutMs = LOCK_TIMEOUT_MS, giveUpAfterMs = GIVE_UP_AFTER_MS } = options;
  // An index of a large table takes as long as it takes, whatever the role's settings say.
  await client.query('SET statement_timeout = 0');
  await client.query(`SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`);
  const applied: string[] = [];
  let failures = 0;
  let since = Date.now();
  await acquireMigrationLock(client, logger);
  for (;;) {
    const blockers = await watchBlockers(client, database, logger, lockTimeoutMs);
    try {
      // Again after a failure: it may have ended a statement that had set its own.
      await client.query(`SET lock_timeout = ${lockTimeoutMs}`);
      const migration = await applyNext(client, directory, lockTimeoutMs, logger);
      if (migration === undefined) break;
      logger.info({ migration }, 'migration applied');
      applied.push(migration);
      [failures, since] = [0, Date.now()];
    } catch (error) {
      // A connection that was lost has nothing to roll back, and the first error is more specific.
      await client.query('ROLLBACK').catch(() => undefined);
      if (!isLockFailure(error)) throw error;
      await blockers.stop();
      if (Date.now() - since > giveUpAfterMs) throw lockError(error, giveUpAfterMs, blockers.last());
      const waitMs = retryDelayMs(failures++, lockTimeoutMs);
      logger.warn({ err: error, attempt: failures, retryInMs: waitMs, blockers: blockers.last() }, RETRIED);
      await sleep(waitMs);
    } finally {
      await blockers.stop();
    }
  }
  return applied;
}

/** Hidden files, and the schema that all migrations result in, which is generated for readers. */
const NO_MIGRATIONS = String.raw`(\..*|schema\.sql)`;

const RETRIED = 'a migration could not have its lock, and is tried again';

/** @returns the name of the migration that ran; undefined: none was left. */
async function applyNext(
  dbClient: pg.Client,
  dir: string,
  lockTimeoutMs: number,
  logger: Logger,
): Promise<string | undefined> {
  // A failure is thrown as well; these lines are worth reading only if something is wrong with the statement.
  const debug = (line: string): void => logger.debug(line);
  const [migration] = await runner({
    dbClient,
    dir,
    migrationsTable: 'migrations',
    migrationLoaderStrategies: migrationLoader(lockTimeoutMs, logger),
    ignorePattern: NO_MIGRATIONS,
    direction: 'up',
    count: 1,
    singleTransaction: false,
    // It waits for its lock inside a statement, which the concurrent index of another process would wait for in turn.
    noLock: true,
    verbose: false,
    logger: { debug, info: debug, warn: debug, error: debug },
  });
  return migration?.name;
}

/** Polls: see `noLock`. The session holds it; it ends with the connection. */
async function acquireMigrationLock(client: pg.Client, logger: Logger): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += ADVISORY_LOCK_POLL_MS) {
    const { rows } = await client.query<{ isOurs: boolean }>('SELECT pg_try_advisory_lock($1) AS "isOurs"', [
      PG_MIGRATE_LOCK_ID,
    ]);
    if (rows[0]?.isOurs === true) return;
    if (waitedMs % ADVISORY_LOCK_LOG_EVERY_MS === 0) logger.info('waiting for another process that migrates');
    await sleep(ADVISORY_LOCK_POLL_MS);
  }
}

/** 55P03: no lock within `lock_timeout`. 40P01: a deadlock, of which it was the victim. */
function isLockFailure(error: unknown): error is Error {
  const code = errorCodeOf(error);
  return code === '55P03' || code === '40P01';
}

function lockError(cause: Error, afterMs: number, blockers: readonly Blocker[]): MigrationLockError {
  return new MigrationLockError(
    `a migration could not have its lock for ${Math.round(afterMs / 1000)} s, because of these transactions: ` +
      `${JSON.stringify(blockers)}. End them (SELECT pg_terminate_backend(pid)) and run migrate again.`,
    { cause },
  );
}

/** Several processes may migrate at once: they come back at different times. */
function retryDelayMs(failures: number, lockTimeoutMs: number): number {
  const firstMs = LEAST_BACKOFF_IN_LOCK_TIMEOUTS * lockTimeoutMs;
  return Math.round(
    backoffMs({ firstMs, maxMs: Math.max(firstMs, MAX_BACKOFF_MS) }, failures) * (1 + Math.random() / 4),
  );
}

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
