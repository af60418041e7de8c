/** What a process says where its settings do not fit what is between it and PostgreSQL, and that nothing else fails. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import type { DatabaseConfig } from '../../src/config/connections.ts';
import { migrate } from '../../src/database/migrate.ts';
import { PoolerError } from '../../src/database/pooler.ts';
import { acquireSessionLock } from '../../src/database/session-lock.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { whyNoPgBouncer } from '../support/pgbouncer-program.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import type { PgBouncer } from '../support/pgbouncer.ts';
import { adminUrl } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

describe('behind PgBouncer', { skip: whyNoPgBouncer() }, () => {
  let room: TestDatabase;
  let strict: PgBouncer;
  let lenient: PgBouncer;
  let bySession: PgBouncer;
  let byStatement: PgBouncer;
  const opened: Database[] = [];
  before(async () => {
    room = await createTestDatabase();
    [strict, lenient, bySession, byStatement] = await Promise.all([
      startPgBouncer(adminUrl()),
      startPgBouncer(adminUrl(), {
        ignore_startup_parameters: 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
      }),
      startPgBouncer(adminUrl(), { pool_mode: 'session' }),
      startPgBouncer(adminUrl(), { pool_mode: 'statement' }),
    ]);
  });
  after(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await Promise.all([strict, lenient, bySession, byStatement].map((pooler) => pooler?.stop()));
    await room?.close();
  });

  function open(pooler: PgBouncer, config: Partial<DatabaseConfig> = {}): Database {
    const database = openDatabase({ url: pooler.through(room.url), poolSize: 4, ...config }, silentLogger());
    opened.push(database);
    return database;
  }

  async function assertPoolerError(work: Promise<unknown>, message: RegExp): Promise<void> {
    await assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof PoolerError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }

  it('a process whose settings do not say so reports it, whichever statement it begins with', async () => {
    const database = open(strict);

    await assertPoolerError(database.verify(), /^DATABASE_URL: .*statement_timeout.* DATABASE_POOLER=transaction/);
    await assertPoolerError(database.check(), /DATABASE_POOLER=transaction/);
  });

  it('likewise where the pooler drops the settings of a session instead of rejecting them', async () => {
    await assertPoolerError(open(lenient).verify(), /ignores the settings of a session.* DATABASE_POOLER=transaction/);
  });

  it('named statements that the pooler does not track are found at the start', async () => {
    const database = open(strict, { isPooled: true, preparesStatements: true });

    await assertPoolerError(database.verify(), /^DATABASE_URL: the pooler does not keep track .*DATABASE_STATEMENTS/);
  });

  it('and while running, where one client has prepared a statement in the session of another', async () => {
    const [one, other] = [0, 1].map(() => open(strict, { isPooled: true, preparesStatements: true }));
    assert.ok(one && other);
    await one.query({ name: 'shared', text: 'SELECT 1' });

    await assertPoolerError(other.query({ name: 'shared', text: 'SELECT 1' }), /DATABASE_STATEMENTS/);
  });

  it('a pooler that allows no transactions is reported', async () => {
    const database = open(byStatement, { isPooled: true });

    await assertPoolerError(database.verify(), /Set its pool_mode to transaction/);
  });

  it('the right settings are accepted, with a session for each client too', async () => {
    await open(strict, { isPooled: true }).verify();
    await open(bySession, { isPooled: true }).verify();
  });

  it('migrate is rejected before it changes anything, and runs where each client has a session', async () => {
    await assertPoolerError(
      migrate(strict.through(room.url), room.database, silentLogger()),
      /^postgres:\/\/127\.0\.0\.1:\d+\/test_\w+ is a pooler .* migrate needs a session .*DATABASE_DIRECT_URL/,
    );

    assert.deepEqual(await migrate(bySession.through(room.url), room.database, silentLogger()), []);
  });

  it('migrate is rejected while others keep all sessions of the pooler changing hands', async () => {
    const database = open(strict, { isPooled: true });
    let isOver = false;
    const busy = Array.from({ length: 4 }, async () => {
      while (!isOver) await database.check();
    });
    try {
      await assertPoolerError(migrate(strict.through(room.url), room.database, silentLogger()), /is a pooler/);
    } finally {
      isOver = true;
      await Promise.all(busy);
    }
  });

  it('a lock of a session is rejected as well', async () => {
    await assertPoolerError(acquireSessionLock({ url: strict.through(room.url) }, 'a lock'), /the lock "a lock" needs/);
  });

  it('a wrong password, and a database that does not exist, are reported as such', async () => {
    const url = new URL(strict.through(room.url));
    url.password = 'wrong';
    const wrong = openDatabase({ url: url.href, poolSize: 1, isPooled: true }, silentLogger());
    opened.push(wrong);
    await assert.rejects(wrong.verify(), /^DatabaseAccessDeniedError: DATABASE_URL: PostgreSQL denies access/);

    const elsewhere = new URL(strict.through(room.url));
    elsewhere.pathname = '/nothing_of_that_name';
    const missing = openDatabase({ url: elsewhere.href, poolSize: 1, isPooled: true }, silentLogger());
    opened.push(missing);
    await assert.rejects(missing.verify(), /^DatabaseAccessDeniedError: .*nothing_of_that_name/);
  });
});
