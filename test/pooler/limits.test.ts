/** What a session would be set to is set for each transaction instead, and leaves nothing behind for the next client. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { DatabaseUnavailableError, LockTimeoutError, openDatabase } from '../../src/database/database.ts';
import type { Database, Queryable } from '../../src/database/database.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { whyNoPgBouncer } from '../support/pgbouncer-program.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import type { PgBouncer } from '../support/pgbouncer.ts';
import { adminUrl } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const SETTINGS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
const selectSettings = {
  name: 'select_settings',
  text: 'SELECT array_agg(current_setting(name) ORDER BY at) AS settings FROM unnest($1::text[]) WITH ORDINALITY AS s (name, at)',
};

describe('behind PgBouncer', { skip: whyNoPgBouncer() }, () => {
  let room: TestDatabase;
  let pooler: PgBouncer;
  let database: Database;
  /** Another client of the same session, which sets nothing. */
  let next: pg.Client;
  before(async () => {
    room = await createTestDatabase();
    // One session for all.
    pooler = await startPgBouncer(adminUrl(), { default_pool_size: 1 });
    database = openDatabase({ url: pooler.through(room.url), poolSize: 4, isPooled: true }, silentLogger());
    next = new pg.Client({ connectionString: pooler.through(room.url) });
    await next.connect();
    await database.query({ name: 'create_notes', text: 'CREATE TABLE notes (id int PRIMARY KEY, amount bigint)' });
    await database.query({ name: 'insert_note', text: 'INSERT INTO notes VALUES ($1, $2)' }, [1, 2n]);
  });
  after(async () => {
    await next?.end();
    await database?.close();
    await pooler?.stop();
    await room?.close();
  });

  async function settingsIn(queryable: Queryable): Promise<readonly string[] | undefined> {
    const [row] = await queryable.query<{ settings: readonly string[] }>(selectSettings, [SETTINGS]);
    return row?.settings;
  }

  it('a statement and a transaction have the timeouts that they have without it', async () => {
    const limits = ['15s', '2s', '10s'];

    assert.deepEqual(await settingsIn(database), limits);
    assert.deepEqual(await database.transaction(settingsIn), limits);
    assert.deepEqual(await settingsIn(room.database), limits);
  });

  it('the session has none of them afterwards', async () => {
    await settingsIn(database);
    await database.transaction(settingsIn);

    const { rows } = await next.query(selectSettings.text, [SETTINGS]);
    assert.deepEqual(rows, [{ settings: ['0', '0', '0'] }]);
  });

  it('a row that stays locked fails a statement alone and one in a transaction, and nothing else', async () => {
    const update = {
      name: 'update_note',
      text: 'UPDATE notes SET amount = amount + $2 WHERE id = $1 RETURNING amount',
    };
    await room.database.transaction(async (holder) => {
      await holder.query(update, [1, 1n]);
      const attempts = await Promise.allSettled([
        database.query(update, [1, 100n]),
        database.transaction((transaction) => transaction.query(update, [1, 100n])),
      ]);
      for (const attempt of attempts) {
        assert.equal(attempt.status, 'rejected');
        assert.ok(attempt.reason instanceof LockTimeoutError);
      }
    });

    assert.deepEqual(await database.query(update, [1, 10n]), [{ amount: 13n }]);
  });

  it('a statement that takes too long is ended by the server', async () => {
    await database
      .transaction(async (transaction) => {
        await transaction.query({ name: 'shorten', text: `SELECT set_config('statement_timeout', '200', true)` });
        await assert.rejects(
          transaction.query({ name: 'sleep', text: 'SELECT pg_sleep(10)' }),
          (error: unknown) =>
            error instanceof DatabaseUnavailableError && /statement timeout/.test(String(error.cause)),
        );
      })
      .catch((error: unknown) => assert.ok(error instanceof DatabaseUnavailableError));

    await database.check();
  });

  it('reads rows, no rows, and changes with and without values, as without it', async () => {
    const select = { name: 'select_notes', text: 'SELECT id, amount FROM notes WHERE id >= $1 ORDER BY id' };

    assert.deepEqual(await database.query(select, [1]), [{ id: 1, amount: 13n }]);
    assert.deepEqual(await database.query(select, [2]), []);
    assert.deepEqual(await database.query({ name: 'touch', text: 'UPDATE notes SET amount = 13' }), []);
    assert.deepEqual(await database.query({ name: 'nothing', text: 'SELECT' }), [{}]);
  });

  it('where the pooler tracks statements, each is prepared once, also after another that cannot be', async () => {
    // PostgreSQL itself, because no pooler is needed to see it.
    const named = openDatabase(
      { url: room.url, poolSize: 1, isPooled: true, preparesStatements: true },
      silentLogger(),
    );
    const uses = {
      name: 'select_uses',
      text: 'SELECT name, (generic_plans + custom_plans)::integer AS uses FROM pg_prepared_statements ORDER BY name',
    };
    try {
      assert.deepEqual(await named.query(uses), [{ name: 'select_uses', uses: 1 }]);
      assert.deepEqual(await named.query(uses), [{ name: 'select_uses', uses: 2 }]);
      await assert.rejects(named.query({ name: 'broken', text: 'SELECT nothing' }), /column "nothing" does not exist/);
      await assert.rejects(named.query({ name: 'broken', text: 'SELECT nothing' }), /column "nothing" does not exist/);
      assert.deepEqual(await settingsIn(named), ['15s', '2s', '10s']);
    } finally {
      await named.close();
    }
  });
});
