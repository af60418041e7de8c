import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it, mock } from 'node:test';
import { timeOutMs } from '../../src/config/time-outs.ts';
import { DatabaseUnavailableError, UniqueViolationError, openDatabase } from '../../src/database/database.ts';
import { NestedConnectionError } from '../../src/database/connection-waits.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate, readInstallationId } from '../../src/database/migrate.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { programConfig } from '../support/pooled-run.ts';

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  ({ database } = testDatabase);
  await database.query({ name: 'create_notes', text: 'CREATE TABLE notes (id int PRIMARY KEY, amount bigint)' });
});
after(() => testDatabase.close());

const insert = { name: 'insert_note', text: 'INSERT INTO notes (id, amount) VALUES ($1, $2)' };
const select = { name: 'select_notes', text: 'SELECT id, amount FROM notes WHERE id = $1' };

describe('a statement', () => {
  it('passes bigint as bigint, beyond the range of a number, in both directions', async () => {
    await database.query(insert, [1, 9_007_199_254_740_993n]);

    assert.deepEqual(await database.query(select, [1]), [{ id: 1, amount: 9_007_199_254_740_993n }]);
  });

  it('that breaks a unique constraint reports which', async () => {
    await database.query(insert, [2, 0n]);

    await assert.rejects(database.query(insert, [2, 0n]), (error: unknown) => {
      assert.ok(error instanceof UniqueViolationError);
      assert.equal(error.constraint, 'notes_pkey');
      return true;
    });
  });
});

describe('a failed statement', () => {
  const failWith = (state: string) =>
    database.query({
      name: `fail_${state}`,
      text: `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`,
    });

  // Disk full, and a file that may not grow, for which PostgreSQL has no better code than an internal error.
  for (const state of ['53100', '58030', 'XX000', '40P01']) {
    it(`is the server's fault when its state is ${state}, and can be retried`, async () => {
      await assert.rejects(failWith(state), DatabaseUnavailableError);
    });
  }

  it('is its own fault otherwise', async () => {
    await assert.rejects(failWith('22012'), (error: unknown) => !(error instanceof DatabaseUnavailableError));
  });
});

describe('a transaction', () => {
  it('is rolled back by any error of its work, and its connection is used again', async () => {
    class Stop extends Error {}
    for (let time = 0; time < 25; time++) {
      const work = database.transaction(async (transaction) => {
        await transaction.query(insert, [100 + time, 0n]);
        throw new Stop();
      });
      await assert.rejects(work, Stop);
    }

    assert.deepEqual(await database.query(select, [100]), []);
  });

  it('translates the errors of its statements too', async () => {
    await database.query(insert, [3, 0n]);

    await assert.rejects(
      database.transaction((transaction) => transaction.query(insert, [3, 0n])),
      UniqueViolationError,
    );
  });

  it('returns the result of its work, once it is committed', async () => {
    const id = await database.transaction(async (transaction) => {
      await transaction.query(insert, [4, 0n]);
      return 4;
    });

    assert.equal((await database.query(select, [id])).length, 1);
  });
});

describe('requesting a connection inside a transaction that holds one', () => {
  it('fails immediately in tests, naming both call sites, at any depth', async () => {
    const deep = async (): Promise<void> => {
      await Promise.resolve();
      await database.check();
    };
    const asks: Readonly<Record<string, () => Promise<unknown>>> = {
      select_notes: () => database.query(select, [1]),
      'a transaction': () => database.transaction(async () => {}),
      check: deep,
    };
    for (const [what, ask] of Object.entries(asks)) {
      await assert.rejects(database.transaction(ask), (error: unknown) => {
        assert.ok(error instanceof NestedConnectionError);
        assert.match(error.message, new RegExp(`^${what} waits for a connection`));
        assert.match(error.message, /the transaction began:\n +at .*database\.test/s);
        return true;
      });
    }
    assert.deepEqual(await database.transaction((transaction) => transaction.query(select, [100])), []);
  });

  it('is allowed for another pool, and for work that outlives the transaction', async () => {
    const other = openDatabase({ ...programConfig(testDatabase.url), poolSize: 1 }, silentLogger());
    let release = (): void => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const outliving = await database.transaction(async () => {
      await other.check();
      return { work: isReleased.then(() => database.check()) };
    });
    release();

    await outliving.work;

    await other.close();
  });
});

describe('an unavailable database', () => {
  it('is reported as unavailable: unreachable, of a name that does not resolve, or disconnected midway', async () => {
    const urls = ['postgres://nobody@127.0.0.1:1/none', 'postgres://nobody@no-such-host.invalid/none'];
    for (const url of urls) {
      const away = openDatabase({ url, poolSize: 2 }, silentLogger());
      await assert.rejects(away.check(), DatabaseUnavailableError);
      await assert.rejects(
        away.transaction(async () => {}),
        DatabaseUnavailableError,
      );
      await away.close();
    }
    const other = openDatabase({ ...programConfig(testDatabase.url), poolSize: 1 }, silentLogger());
    await assert.rejects(
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<{ pid: number }>({
          name: 'own_pid',
          text: 'SELECT pg_backend_pid() AS pid',
        });
        await other.query({ name: 'cut_off', text: 'SELECT pg_terminate_backend($1)' }, [row?.pid]);
        await transaction.query(select, [1]);
      }),
      DatabaseUnavailableError,
    );
    await other.close();
  });

  it('ends the transaction in progress, and never the process', async () => {
    const own = openDatabase({ ...programConfig(testDatabase.url), poolSize: 1 }, silentLogger());
    const work = own.transaction(async (transaction) => {
      const [row] = await transaction.query<{ pid: number }>({
        name: 'own_pid',
        text: 'SELECT pg_backend_pid() AS pid',
      });
      const cutOff = 'SELECT pg_terminate_backend($1, 10000) AS is_gone';
      assert.deepEqual(await database.query({ name: 'cut_off_and_wait', text: cutOff }, [row?.pid]), [
        { is_gone: true },
      ]);
      // The connection is closed while no statement is running on it.
      await database.check();
      await transaction.query(select, [1]);
    });

    await assert.rejects(work, DatabaseUnavailableError);
    await own.check();
    await own.close();
  });

  it('is used again once it is back', async () => {
    await database.query({
      name: 'cut_all_off',
      text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    });

    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => database.check()));

    for (const answer of answers) {
      if (answer.status === 'rejected') assert.ok(answer.reason instanceof DatabaseUnavailableError);
    }
    await database.check();
  });
});

describe('a migration', () => {
  it('of an empty database from several processes at once has the same result as once', async () => {
    const empty = await createTestDatabase();
    try {
      await empty.database.query({ name: 'drop_all', text: 'DROP SCHEMA public CASCADE' });
      await empty.database.query({ name: 'create_public', text: 'CREATE SCHEMA public' });

      const ends = await Promise.allSettled(
        Array.from({ length: 3 }, () => migrate(empty.url, empty.database, silentLogger())),
      );

      // Not before all have ended: those that still run would lose their connections, and hide why one failed.
      const runs = ends.map((end) => {
        if (end.status === 'rejected') throw end.reason;
        return end.value;
      });
      assert.equal(runs.filter((applied) => applied.length > 0).length, 1);
      assert.equal(new Set(runs.flat()).size, runs.flat().length);
      assert.match(await readInstallationId(empty.database), /^inst_/);
    } finally {
      await empty.close();
    }
  });

  it('that runs again changes nothing: the installation keeps its id', async () => {
    const installationId = await readInstallationId(database);

    assert.deepEqual(await migrate(testDatabase.url, database, silentLogger()), []);

    assert.equal(await readInstallationId(database), installationId);
  });

  it('never creates a second installation in one database', async () => {
    const other = await createTestDatabase();
    try {
      assert.notEqual(await readInstallationId(other.database), await readInstallationId(database));
      await assert.rejects(
        other.database.query({ name: 'second', text: `INSERT INTO installation (id) VALUES ('inst_2')` }),
        UniqueViolationError,
      );
    } finally {
      await other.close();
    }
  });
});

describe('a busy pool', () => {
  it('is waited for as long as a statement may take, and then reported as unavailable', async () => {
    const busy = openDatabase({ ...programConfig(testDatabase.url), poolSize: 1 }, silentLogger());
    const [begun, release] = [new EventEmitter(), new EventEmitter()];
    const held = busy.transaction(async (transaction) => {
      await transaction.query(select, [1]);
      begun.emit('begun');
      await once(release, 'release');
    });
    await once(begun, 'begun');
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const patient = busy.query(select, [1]);
      mock.timers.tick(timeOutMs(15_000));
      release.emit('release');
      await Promise.all([held, patient]);

      const begunAgain = once(begun, 'begun');
      const heldAgain = busy.transaction(async () => {
        begun.emit('begun');
        await once(release, 'release');
      });
      await begunAgain;
      const rejected = assert.rejects(busy.query(select, [1]), DatabaseUnavailableError);
      mock.timers.tick(timeOutMs(20_000));
      await rejected;
      release.emit('release');
      await heldAgain;
    } finally {
      mock.timers.reset();
    }
    await busy.close();
  });

  it('rejects a connection that is not established, long before that', async () => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const connected = once(silent, 'connection');
    const { port } = silent.address() as AddressInfo;
    const unavailable = openDatabase({ url: `postgres://x:x@127.0.0.1:${port}/x`, poolSize: 1 }, silentLogger());
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const rejected = assert.rejects(unavailable.query(select, [1]), DatabaseUnavailableError);
      const [socket] = (await connected) as [Socket];
      mock.timers.tick(timeOutMs(5_000));
      await rejected;
      socket.destroy();
    } finally {
      mock.timers.reset();
    }
    silent.close();
    await unavailable.close();
  });
});
