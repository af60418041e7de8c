/**
 * Migrations while processes are at work: the database of a release is migrated while the statements of that release keep
 * running and a reader holds its snapshot and its lock. No other session waits, and the migration completes; if it is
 * interrupted, or several processes try at once, running it again is enough.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { MigrationLockError, migrate } from '../../src/database/migrate.ts';
import type { MigrateOptions } from '../../src/database/migrate.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { LAST_RELEASE, createReleaseDatabase } from '../support/release-fixture.ts';
import type { ReleaseDatabase } from '../support/release-fixture.ts';
import { startReleaseLoad } from '../support/release-load.ts';
import type { ReleaseLoad } from '../support/release-load.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const LOCK_TIMEOUT_MS = 300;
/** Far above a wait for `LOCK_TIMEOUT_MS`, on a slow machine too, and shorter than a queue behind the reader lasts. */
const MOST_WAIT_MS = 5_000;
/** Rounds of every old statement between two attempts of the migration. */
const ROUNDS = 3;

/** After the last task of the fixture, and before any of the test. */
const RECORDED_BY = '2026-11-30 18:12Z';
const COLUMN = '-- Up Migration\nALTER TABLE tasks ADD COLUMN note text;\n';
const INDEX = `-- Up Migration (no transaction)
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_by_note ON tasks (account_id, note);
`;
const BACKFILL = `-- Up Migration (no transaction)
-- Repeat until no row changes
UPDATE tasks SET note = 'old' WHERE id IN (SELECT id FROM tasks WHERE note IS NULL AND created_at < '${RECORDED_BY}' LIMIT 5);
ALTER TABLE tasks DROP CONSTRAINT IF EXISTS tasks_note_check;
ALTER TABLE tasks ADD CONSTRAINT tasks_note_check CHECK (length(note) < 100) NOT VALID;
ALTER TABLE tasks VALIDATE CONSTRAINT tasks_note_check;
`;

describe('migrating during operation', () => {
  let directory: string;
  let release: ReleaseDatabase;
  let database: Database;
  let reader: pg.Client;
  let load: ReleaseLoad | undefined;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-migrations-'));
    await cp(packageFile('migrations'), directory, { recursive: true });
    await writeFile(path.join(directory, '9001_note.sql'), COLUMN);
    await writeFile(path.join(directory, '9002_note_index.sql'), INDEX);
    await writeFile(path.join(directory, '9003_note_backfill.sql'), BACKFILL);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  beforeEach(async () => {
    release = await createReleaseDatabase(LAST_RELEASE);
    database = openDatabase({ url: release.url, poolSize: 4 }, silentLogger());
    reader = new pg.Client({ connectionString: release.url, application_name: 'a long report' });
    await reader.connect();
  });
  afterEach(async () => {
    await load?.stop().catch(() => undefined);
    load = undefined;
    await reader.end();
    await database.close();
    await release.close();
  });

  function run(options: MigrateOptions = {}, onLine: (line: string) => void = () => undefined) {
    const logger = pino({ level: 'info' }, { write: onLine });
    return migrate(release.url, database, logger, { directory, lockTimeoutMs: LOCK_TIMEOUT_MS, ...options });
  }

  /** Applies the migrations of this release, so that those of the test are the next. */
  async function migrateToThisRelease(): Promise<void> {
    await migrate(release.url, database, silentLogger());
  }

  async function startLoad(): Promise<ReleaseLoad> {
    const [account = { id: '', keyId: '' }] = release.fixture.samples.accounts;
    await database.query({
      name: 'enrich',
      text: 'UPDATE account_counters SET available_micro_usd = 1000000000, queue_cap = 1000000',
    });
    load = await startReleaseLoad({ url: release.url, version: LAST_RELEASE, account, mostWaitMs: MOST_WAIT_MS });
    return load;
  }

  async function hasRounds(running: ReleaseLoad, rounds: number): Promise<void> {
    const before = new Map(running.answered);
    await waitFor('the old statements are answered', () =>
      [...running.answered].every(([name, count]) => count >= (before.get(name) ?? 0) + rounds),
    );
  }

  async function isIndexValid(): Promise<boolean | undefined> {
    const [row] = await database.query<{ isValid: boolean }>({
      name: 'is_valid',
      text: `SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass('tasks_by_note')`,
    });
    return row?.isValid;
  }

  /** The session that builds the index and waits for the reader, once there is one. */
  async function buildingPid(): Promise<number> {
    let pid = 0;
    await waitFor('the index waits for the reader', async () => {
      const [row] = await database.query<{ pid: number }>({
        name: 'building',
        text: `SELECT pid FROM pg_stat_activity
                WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND cardinality(pg_blocking_pids(pid)) > 0
                  AND datname = current_database()`,
      });
      pid = row?.pid ?? 0;
      return pid !== 0;
    });
    return pid;
  }

  it('does not block creates and reads of the old release while a reader delays its lock, and succeeds', async () => {
    const running = await startLoad();
    await hasRounds(running, ROUNDS);
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT count(*) FROM tasks');
    const retries: string[] = [];

    const migrating = run({}, (line) => {
      if (line.includes('is tried again')) retries.push(line);
    });
    migrating.catch(() => undefined);
    for (let tries = 1; tries <= 2; tries++) {
      await waitFor('the migration has given way', () => retries.length >= tries);
      await hasRounds(running, ROUNDS);
    }
    await reader.query('COMMIT');
    const applied = await migrating;
    await hasRounds(running, ROUNDS);
    await running.stop();

    assert.deepEqual(applied.slice(-3), ['9001_note', '9002_note_index', '9003_note_backfill']);
    assert.match(retries[0] ?? '', /"application":"a long report"/);
    assert.equal(await isIndexValid(), true);
    const [left] = await database.query<{ count: bigint }>({
      name: 'left',
      text: `SELECT count(*) FROM tasks WHERE note IS NULL AND created_at < '${RECORDED_BY}'`,
    });
    assert.equal(left?.count, 0n);
  });

  it('builds an index while the old release works, and waits for a snapshot without blocking others', async () => {
    await migrateToThisRelease();
    const running = await startLoad();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT count(*) FROM accounts');

    const migrating = run();
    migrating.catch(() => undefined);
    await buildingPid();
    await hasRounds(running, ROUNDS);
    await reader.query('COMMIT');
    await migrating;
    await running.stop();

    assert.equal(await isIndexValid(), true);
  });

  it('rebuilds an index that an interrupted run left invalid', async () => {
    await migrateToThisRelease();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT count(*) FROM accounts');
    const interrupted = run();
    interrupted.catch(() => undefined);
    await database.query({ name: 'end', text: 'SELECT pg_terminate_backend($1)' }, [await buildingPid()]);
    await assert.rejects(interrupted);
    await reader.query('COMMIT');
    assert.equal(await isIndexValid(), false);

    const applied = await run();

    assert.deepEqual(applied, ['9002_note_index', '9003_note_backfill']);
    assert.equal(await isIndexValid(), true);
  });

  it('is run once by several processes at once, also while it builds an index', async () => {
    const runs = await Promise.all(Array.from({ length: 4 }, () => run()));

    const applied = runs.flat();
    assert.equal(applied.length, new Set(applied).size);
    assert.ok(applied.includes('9002_note_index'));
    assert.equal(await isIndexValid(), true);
  });

  it('gives up when its lock is never free, names the holder, and changes nothing', async () => {
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM tasks');

    const failed = run({ giveUpAfterMs: 0 });

    await assert.rejects(failed, (error: unknown) => {
      assert.ok(error instanceof MigrationLockError);
      assert.match(error.message, /"application":"a long report"/);
      return true;
    });
    await reader.query('COMMIT');
    assert.ok((await run()).includes('9001_note'), 'it goes on where it was');
  });
});
