/**
 * A database for one test file: a clone of a template that was migrated once per run. Under an advisory lock, because
 * test files start simultaneously.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { directServer, programConfig, programEnvironment, servingUrl } from './pooled-run.ts';

export { adminUrl } from './pooled-run.ts';

const TEMPLATE = 'darkroom_template';
const LOCK = 20_261_121;

export interface TestDatabase {
  /** On PostgreSQL itself, for sessions of tests and for `migrate`. */
  readonly url: string;
  /** The variables with which processes of the program reach it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly database: Database;
  /** The same past the pooler, if there is one, for what only a session of its own can do: `VACUUM`, for example. */
  readonly direct: Database;
  close(): Promise<void>;
}

function urlOf(admin: string, name: string): string {
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * @param observe called with the name of every statement that goes through `database`.
 * @param server the URL of the server that the program reaches it on; default: the run's.
 */
export async function createTestDatabase(
  observe?: (statement: string) => void,
  server: string = servingUrl(),
): Promise<TestDatabase> {
  const postgres = directServer(server);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(postgres, async (admin) => {
    await admin.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount === 0) await createTemplate(postgres, admin);
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  });
  const url = urlOf(postgres, name);
  const config = programConfig(url, server);
  const database = openDatabase({ ...config, poolSize: 10 }, silentLogger(), observe);
  const direct = config.isPooled === true ? openDatabase({ url, poolSize: 2 }, silentLogger(), observe) : database;
  // Each installation has an id of its own, and so has each clone: its tasks' workflow ids are unique.
  await database.query({ name: 'new_installation', text: 'UPDATE installation SET id = $1' }, [
    `inst_${randomBytes(8).toString('hex')}`,
  ]);
  return {
    url,
    environment: programEnvironment(url, server),
    database,
    direct,
    async close() {
      await database.close();
      if (direct !== database) await direct.close();
      await asAdmin(postgres, (admin) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

async function createTemplate(server: string, admin: pg.Client): Promise<void> {
  const building = `${TEMPLATE}_building`;
  await admin.query(`DROP DATABASE IF EXISTS ${building}`);
  await admin.query(`CREATE DATABASE ${building}`);
  const database = openDatabase({ url: urlOf(server, building), poolSize: 2 }, silentLogger());
  try {
    await migrate(urlOf(server, building), database, silentLogger());
  } finally {
    await database.close();
  }
  await admin.query(`ALTER DATABASE ${building} RENAME TO ${TEMPLATE}`);
}

async function asAdmin<T>(server: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
