/**
 * A pooler without a free session, one that is killed, and a PostgreSQL that restarts behind it, each under load: callers
 * are answered in time, and what was answered with success is there exactly once.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import pg from 'pg';
import { DatabaseUnavailableError, openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { whyNoPgBouncer } from '../support/pgbouncer-program.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import type { PgBouncer } from '../support/pgbouncer.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { startOwnPostgres } from './own-postgres.ts';
import type { OwnPostgres } from './own-postgres.ts';
import { Deposits } from './deposits.ts';
import type { Load } from './deposits.ts';

/** Callers at once: more than the pooler has sessions, and than one process has connections. */
const CALLERS = 60;

describe('behind PgBouncer', { skip: whyNoPgBouncer() }, () => {
  let postgres: OwnPostgres;
  let room: TestDatabase;
  let pooler: PgBouncer | undefined;
  let databases: Database[] = [];
  let load: Load | undefined;
  before(async () => {
    postgres = await startOwnPostgres();
    room = await createTestDatabase(undefined, postgres.url);
  });
  afterEach(async () => {
    await load?.stop();
    load = undefined;
    await Promise.all(databases.map((database) => database.close()));
    databases = [];
    await pooler?.stop();
    pooler = undefined;
  });
  after(async () => {
    await room?.close();
    await postgres?.stop();
  });

  /** Three processes, as far as the pooler knows. */
  async function openAll(settings: Readonly<Record<string, string | number>>): Promise<PgBouncer> {
    const started = await startPgBouncer(postgres.url, settings);
    pooler = started;
    const config = { url: started.through(room.url), poolSize: 10, isPooled: true };
    databases = [0, 1, 2].map(() => openDatabase(config, silentLogger()));
    return started;
  }

  it('one session serves all callers, one after the other', async () => {
    await openAll({ default_pool_size: 1 });
    const deposits = await Deposits.open(room.database, databases);

    load = deposits.load(CALLERS);
    await load.waitForSuccesses(200);
    await load.stop();

    assert.deepEqual(load.otherErrors, []);
    assert.deepEqual(await deposits.problems(), []);
  });

  it('while no session is given back, callers are turned away in time, and work again afterwards', async () => {
    const full = await openAll({ default_pool_size: 2, query_wait_timeout: 4 });
    const deposits = await Deposits.open(room.database, databases);
    const holders = [0, 1].map(() => new pg.Client({ connectionString: full.through(room.url) }));
    for (const holder of holders) {
      await holder.connect();
      await holder.query('BEGIN');
    }

    // They are turned away while the sessions are held.
    const results = await Promise.all(Array.from({ length: CALLERS }, () => deposits.make()));

    assert.ok(results.every((error) => error instanceof DatabaseUnavailableError));
    // None of them ran: none was confirmed, and the balances say the same.
    assert.deepEqual(await deposits.problems(), []);
    await Promise.all(holders.map((holder) => holder.end()));
    assert.equal(await deposits.make(), undefined);
    assert.deepEqual(await deposits.problems(), []);
  });

  it('that is killed under load and restarted: every success is there, once', async () => {
    const killed = await openAll({ default_pool_size: 5 });
    const deposits = await Deposits.open(room.database, databases);
    load = deposits.load(CALLERS);
    for (let round = 0; round < 3; round++) {
      await load.waitForSuccesses(100);
      await killed.kill();
      await load.waitForFailures(CALLERS / 3);
      await killed.start();
    }
    await load.waitForSuccesses(100);
    await load.stop();

    assert.deepEqual(load.otherErrors, []);
    assert.deepEqual(await deposits.problems(), []);
  });

  for (const how of ['SIGINT', 'SIGKILL'] as const) {
    it(`PostgreSQL that is ended by ${how} behind it under load and restarted: likewise`, async () => {
      await openAll({ default_pool_size: 5 });
      const deposits = await Deposits.open(room.database, databases);
      load = deposits.load(CALLERS);
      await load.waitForSuccesses(100);
      await postgres.kill(how);
      await load.waitForFailures(CALLERS / 3);
      await postgres.start();
      await load.waitForSuccesses(100);
      await load.stop();

      assert.deepEqual(load.otherErrors, []);
      assert.deepEqual(await deposits.problems(), []);
    });
  }
});
