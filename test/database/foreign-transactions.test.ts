/** A database that was restored into another server: its events are marked as old, however many there are. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import pino from 'pino';
import { migrate } from '../../src/database/migrate.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const EVENTS = 5_000;
/** Of 8 kB, with fewer than 200 events each. */
const PAGES_AT_ONCE = 4;
const MOST_AT_ONCE = PAGES_AT_ONCE * 200;
/** Some batches complete before it is reached, and some remain after it. */
const FUSE = 3_000;

const RESTORE = {
  name: 'test_restore',
  text: `INSERT INTO task_events (task_id, seq, type, xid)
         SELECT 'tk-svc-' || n, 1, 'accepted', '9000000000000' FROM generate_series(1, ${EVENTS}) n`,
};
const WRITE_HERE = {
  name: 'test_write_here',
  text: `INSERT INTO task_events (task_id, seq, type) VALUES ('tk-svc-here', 1, 'accepted') RETURNING xid::text`,
};
const READ_HERE = { name: 'test_read_here', text: `SELECT xid::text FROM task_events WHERE task_id = 'tk-svc-here'` };
const COUNT_FOREIGN = {
  name: 'test_count_foreign',
  text: `SELECT count(*)::integer AS count FROM task_events WHERE xid > pg_snapshot_xmax(pg_current_snapshot())`,
};
/** Records how many events each statement changes. */
const WATCH = [
  'CREATE TABLE changes (events integer)',
  `CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN INSERT INTO changes SELECT count(*) FROM changed; RETURN NULL; END $$`,
  `CREATE TRIGGER note_change AFTER UPDATE ON task_events REFERENCING NEW TABLE AS changed
     FOR EACH STATEMENT EXECUTE FUNCTION note_change()`,
];
const READ_CHANGES = { name: 'test_changes', text: 'SELECT events FROM changes' };
/** Fails the statement that changes an event in the middle, as a server shutdown would. */
const SET_FUSE = [
  `CREATE FUNCTION blow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'interrupted'; END $$`,
  `CREATE TRIGGER fuse BEFORE UPDATE ON task_events FOR EACH ROW
     WHEN (OLD.task_id = 'tk-svc-${FUSE}') EXECUTE FUNCTION blow()`,
];
const REMOVE_FUSE = ['DROP TRIGGER fuse ON task_events'];

describe('migrating a database that was restored into another server', () => {
  let test: TestDatabase;
  let lines: string[];
  beforeEach(async () => {
    test = await createTestDatabase();
    lines = [];
    await run(WATCH);
    await test.database.query(RESTORE);
  });
  afterEach(() => test.close());

  async function run(statements: readonly string[]): Promise<void> {
    for (const text of statements) await test.database.query({ name: '', text });
  }

  const migrateIt = (): Promise<readonly string[]> => {
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    return migrate(test.url, test.database, logger, { eventPagesAtOnce: PAGES_AT_ONCE });
  };

  async function countForeign(): Promise<number> {
    const [row] = await test.database.query<{ count: number }>(COUNT_FOREIGN);
    return row?.count ?? assert.fail();
  }

  async function readChanges(): Promise<readonly number[]> {
    const rows = await test.database.query<{ events: number }>(READ_CHANGES);
    return rows.map(({ events }) => events);
  }

  it('marks its events as old in batches, reports progress, and leaves events of this server unchanged', async () => {
    const here = await test.database.query(WRITE_HERE);

    await migrateIt();

    assert.equal(await countForeign(), 0);
    assert.deepEqual(await test.database.query(READ_HERE), here);
    const changes = await readChanges();
    assert.ok(changes.length > 1 && Math.max(...changes) <= MOST_AT_ONCE, `${changes.join(', ')} at once`);
    assert.equal(
      changes.reduce((sum, events) => sum + events, 0),
      EVENTS,
    );
    const progress = lines.filter((line) => line.includes('were forgotten'));
    assert.equal(progress.length, changes.length);
    const { events, pages, ofPages } = JSON.parse(progress.at(-1) ?? '{}') as Record<string, number>;
    assert.deepEqual([events, pages], [EVENTS, ofPages]);
  });

  it('resumes where it was interrupted', async () => {
    await run(SET_FUSE);
    await assert.rejects(migrateIt(), /interrupted/);
    const left = await countForeign();
    assert.ok(left > 0 && left < FUSE, `${left} of ${EVENTS} are left`);

    await run(REMOVE_FUSE);
    await migrateIt();

    assert.equal(await countForeign(), 0);
    const changes = await readChanges();
    assert.equal(
      changes.reduce((sum, events) => sum + events, 0),
      EVENTS,
      'some were changed twice',
    );
  });

  it('does nothing the next time', async () => {
    await migrateIt();
    const before = await readChanges();

    await migrateIt();

    assert.deepEqual(await readChanges(), before);
  });
});
