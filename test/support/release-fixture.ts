/**
 * Loads the database of an earlier release, as `scripts/release-fixture` recorded it, so that upgrades are tested with
 * the data of that release and not with what this one would have written.
 */
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { adminUrl } from './test-database.ts';

/** The release whose installations upgrade to this state. */
export const LAST_RELEASE = '1.0.0';

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
    await migrateTo(url.href, fixture);
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

/** Applies the release's own migrations, which are among ours and never change. */
async function migrateTo(url: string, { migrations }: ReleaseFixture): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-release-'));
  const database = openDatabase({ url, poolSize: 2 }, silentLogger());
  try {
    for (const name of Object.keys(migrations)) {
      await copyFile(packageFile(path.join('migrations', name)), path.join(directory, name));
    }
    await migrate(url, database, silentLogger(), { directory });
  } finally {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function load(client: pg.Client, directory: string, fixture: ReleaseFixture): Promise<void> {
  await client.query('BEGIN');
  // What the migrations have inserted is among the rows.
  await client.query(`TRUNCATE ${fixture.tables.map(({ table }) => table).join(', ')}`);
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
