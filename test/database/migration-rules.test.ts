/** Migrations that were written after the last release follow the rules of docs/operations/backup-and-upgrade.md, "Writing a migration". */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { LAST_RELEASE, createReleaseDatabase, readReleaseFixture } from '../support/release-fixture.ts';
import { migrationProblems } from './migration-rules.ts';
import type { MigrationText } from './migration-rules.ts';

const EARLIER: readonly MigrationText[] = [
  { name: '0001', text: 'CREATE TABLE tasks (id text);\nCREATE TABLE outputs (id text);' },
];

/** Each breaks one rule. */
const FORBIDDEN: Readonly<Record<string, readonly [text: string, problem: RegExp]>> = {
  'an index that stops writes': ['CREATE INDEX a ON tasks (id);', /stops writes to tasks/],
  'a unique index that stops writes': ['CREATE UNIQUE INDEX a\n  ON tasks (id);', /stops writes to tasks/],
  'a concurrent index in a transaction': [
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON tasks (id);',
    /needs a file without a transaction/,
  ],
  'an index that an interrupted run would meet again': [
    '-- Up Migration (no transaction)\nCREATE INDEX CONCURRENTLY a ON tasks (id);',
    /IF NOT EXISTS/,
  ],
  'a statement that cannot be repeated': [
    '-- Up Migration (no transaction)\nALTER TABLE tasks ADD COLUMN a text;',
    /not repeatable/,
  ],
  'a new type': ['ALTER TABLE tasks ALTER COLUMN id TYPE varchar;', /rewrites the table/],
  'SET NOT NULL': ['ALTER TABLE tasks ALTER COLUMN id SET NOT NULL;', /reads the whole table/],
  'a column that old inserts leave empty': ['ALTER TABLE tasks ADD COLUMN a text NOT NULL;', /needs a DEFAULT/],
  'a default that is computed by row': [
    'ALTER TABLE tasks ADD COLUMN a uuid DEFAULT gen_random_uuid();',
    /may rewrite the table/,
  ],
  'a generated column': ['ALTER TABLE tasks ADD COLUMN a int GENERATED ALWAYS AS (1) STORED;', /rewrites the table/],
  'a check of a new column': ['ALTER TABLE tasks ADD COLUMN a int CHECK (a > 0);', /reads the whole table/],
  'a constraint that is checked at once': ['ALTER TABLE tasks ADD CONSTRAINT a CHECK (id > 0);', /NOT VALID/],
  'a new name': ['ALTER TABLE tasks RENAME COLUMN id TO name;', /knows the old name/],
  'two tables in one transaction': [
    'ALTER TABLE tasks ADD COLUMN a text;\nALTER TABLE outputs ADD COLUMN a text;',
    /locks tasks, outputs/,
  ],
  'a reference, which locks the other table': [
    'ALTER TABLE tasks ADD COLUMN a text;\nCREATE TABLE b (id text REFERENCES outputs (id));',
    /locks tasks, outputs/,
  ],
  'a change of all rows': ["UPDATE tasks SET id = '';", /all rows of tasks/],
  'a batch without an end': [
    "-- Up Migration (no transaction)\n-- Repeat until no row changes\nUPDATE tasks SET id = '' WHERE id <> '';",
    /needs a LIMIT/,
  ],
  'a column that the release before reads': ['ALTER TABLE tasks DROP COLUMN id;', /last used by/],
};

const ALLOWED: Readonly<Record<string, string>> = {
  'a table with its indexes': 'CREATE TABLE a (id text NOT NULL CHECK (id > 0));\nCREATE INDEX b ON a (id);',
  'a column with a constant default':
    'ALTER TABLE tasks ADD COLUMN a int NOT NULL DEFAULT 0, ADD COLUMN b timestamptz;',
  'a concurrent index': '-- Up Migration (no transaction)\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a ON tasks (id);',
  'a constraint in two steps':
    '-- Up Migration (no transaction)\nALTER TABLE tasks DROP CONSTRAINT IF EXISTS a;\nALTER TABLE tasks ADD CONSTRAINT a CHECK (id > 0) NOT VALID;\nALTER TABLE tasks VALIDATE CONSTRAINT a;',
  'rows in batches':
    "-- Up Migration (no transaction)\n-- Repeat until no row changes\nUPDATE tasks SET id = '' WHERE id IN (SELECT id FROM tasks WHERE id <> '' LIMIT 1000);",
  'dropping what an earlier release used last': '-- Contract: last used by 1.0.0\nALTER TABLE tasks DROP COLUMN id;',
};

describe('the rules of migrations', () => {
  for (const [name, [text, problem]] of Object.entries(FORBIDDEN)) {
    it(`forbid ${name}`, () => {
      const problems = migrationProblems({ name: '0002', text }, EARLIER);

      assert.equal(problems.length > 0, true);
      assert.match(problems.join('\n'), problem);
    });
  }
  for (const [name, text] of Object.entries(ALLOWED)) {
    it(`allow ${name}`, () => assert.deepEqual(migrationProblems({ name: '0002', text }, EARLIER), []));
  }

  it('are followed by every migration after the last release', async () => {
    const released = new Set(Object.keys((await readReleaseFixture(LAST_RELEASE)).migrations));
    const names = (await readdir(packageFile('migrations'))).filter((name) => name !== 'schema.sql').toSorted();
    const files = await Promise.all(
      names.map(async (name) => ({ name, text: await readFile(packageFile(path.join('migrations', name)), 'utf8') })),
    );

    const problems = files.flatMap((file, position) =>
      released.has(file.name) ? [] : migrationProblems(file, files.slice(0, position)),
    );

    assert.deepEqual(problems, []);
  });

  /** Migrates the database of the last release, which rejects that a table is rewritten. @param directory default: ours. */
  async function migrateWithoutRewrites(directory?: string): Promise<void> {
    const release = await createReleaseDatabase(LAST_RELEASE);
    const database = openDatabase({ url: release.url, poolSize: 2 }, silentLogger());
    try {
      await database.query({
        name: 'reject_rewrite',
        text: `CREATE FUNCTION reject_rewrite() RETURNS event_trigger LANGUAGE plpgsql AS $$
               BEGIN RAISE EXCEPTION 'rewrites %', pg_event_trigger_table_rewrite_oid()::regclass; END $$`,
      });
      await database.query({
        name: 'on_rewrite',
        text: 'CREATE EVENT TRIGGER on_rewrite ON table_rewrite EXECUTE FUNCTION reject_rewrite()',
      });

      await migrate(release.url, database, silentLogger(), directory === undefined ? {} : { directory });
    } finally {
      await database.close();
      await release.close();
    }
  }

  it('hold in PostgreSQL: no migration after the last release rewrites a table', () => migrateWithoutRewrites());

  it('hold in PostgreSQL, which finds one that rewrites a table', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-migrations-'));
    try {
      await cp(packageFile('migrations'), directory, { recursive: true });
      const text = '-- Up Migration\nALTER TABLE tasks ALTER COLUMN progress TYPE integer;\n';
      await writeFile(path.join(directory, '9001_rewrite.sql'), text);

      await assert.rejects(migrateWithoutRewrites(directory), /rewrites tasks/);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
