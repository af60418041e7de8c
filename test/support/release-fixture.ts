/**
 * Loads the database of an earlier release, as `tools/release-fixture` recorded it, so that upgrades are tested with
 * the data of that release and not with what this one would have written.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { packageFile } from '../../src/config/package-root.ts';
import { adminUrl } from './test-database.ts';

/** fixture.json of a release. */
export interface ReleaseFixture {
  readonly version: string;
  /** The key that its webhook secrets are encrypted with; it belongs to the sample data alone. */
  readonly encryptionKey: string;
  /** SHA-256 of each migration as it was released. */
  readonly migrations: Readonly<Record<string, string>>;
  readonly tables: readonly { readonly table: string; readonly columns: readonly string[] }[];
  readonly sequences: readonly { readonly name: string; readonly lastValue: string }[];
  readonly samples: {
    readonly accounts: readonly { readonly id: string; readonly key: string; readonly keyId: string }[];
    readonly tasks: Readonly<Record<string, { readonly taskId: string; readonly status: string }>>;
    readonly replay: {
      readonly key: string;
      readonly idempotencyKey: string;
      readonly body: unknown;
      readonly taskId: string;
    };
  };
}

export interface ReleaseDatabase {
  readonly url: string;
  readonly fixture: ReleaseFixture;
  close(): Promise<void>;
}

function directoryOf(version: string): string {
  return packageFile(path.join('test/fixtures/releases', version));
}

export async function readReleaseFixture(version: string): Promise<ReleaseFixture> {
  return JSON.parse(await readFile(path.join(directoryOf(version), 'fixture.json'), 'utf8')) as ReleaseFixture;
}

/** Creates a database of its own from the fixture, on the run's PostgreSQL. The caller closes it. */
export async function createReleaseDatabase(version: string): Promise<ReleaseDatabase> {
  const fixture = await readReleaseFixture(version);
  const name = `release_${randomBytes(6).toString('hex')}`;
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  await withClient(adminUrl(), (admin) => admin.query(`CREATE DATABASE ${name}`));
  const close = (): Promise<unknown> =>
    withClient(adminUrl(), (admin) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
  try {
    await withClient(url.href, (client) => load(client, directoryOf(version), fixture));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: url.href,
    fixture,
    async close() {
      await close();
    },
  };
}

async function load(client: pg.Client, directory: string, fixture: ReleaseFixture): Promise<void> {
  await client.query('BEGIN');
  await client.query(await readFile(path.join(directory, 'schema.sql'), 'utf8'));
  // node-pg-migrate's own table, which no migration creates.
  await client.query(
    'CREATE TABLE migrations (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL)',
  );
  // References are complete only at the end, and triggers already ran when the rows were written.
  await client.query('SET LOCAL session_replication_role = replica');
  for (const { table, columns } of fixture.tables) {
    const copy = client.query(copyFrom(`COPY ${table} (${columns.join(', ')}) FROM STDIN`));
    await pipeline(createReadStream(path.join(directory, 'rows', `${table}.tsv`)), copy);
  }
  for (const { name, lastValue } of fixture.sequences) {
    await client.query('SELECT setval($1::regclass, $2::bigint)', [name, lastValue]);
  }
  await client.query('COMMIT');
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
