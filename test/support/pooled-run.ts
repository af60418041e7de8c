/**
 * How the program reaches the databases of a test run: directly, or, with `DARKROOM_TEST_POOLER=pgbouncer` in the
 * environment of the run, through a PgBouncer in transaction mode. Tests connect past it for what needs a session, as
 * `migrate` does.
 */
import type { DatabaseConfig } from '../../src/config/config.ts';

/** The address of the run's pooler, for the processes of the tests. */
export const POOLER_VARIABLE = 'DARKROOM_TEST_POOLER_URL';

/** Ports in front of the pooler (database-wire.ts), beside its own. */
const pooledPorts = new Set<string>();

function poolerUrl(): string | undefined {
  return process.env[POOLER_VARIABLE];
}

/** The URL of the run's PostgreSQL. @throws {Error} the file was run without `npm test`. */
export function adminUrl(): string {
  const url = process.env['DARKROOM_TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('no test services: run this file with npm test -- <file>');
  return url;
}

/** The URL of the server that the program uses: that of the run's pooler, or of its PostgreSQL. */
export function servingUrl(): string {
  return poolerUrl() ?? adminUrl();
}

/** Says that what is behind this port of 127.0.0.1 is the run's pooler, if `target` is. */
export function inheritPooling(target: string, port: string): void {
  if (isPooled(target)) pooledPorts.add(port);
}

function isPooled(url: string): boolean {
  const pooler = poolerUrl();
  if (pooler === undefined) return false;
  const { port } = new URL(url);
  return port === new URL(pooler).port || pooledPorts.has(port);
}

/** @param server the URL of a server, or of what is in front of it. @returns that of PostgreSQL, for sessions. */
export function directServer(server: string): string {
  return isPooled(server) ? adminUrl() : server;
}

/**
 * How the program reaches a database.
 *
 * @param url of the database on PostgreSQL itself. @param server what the program connects to; default: that of the run.
 */
export function programConfig(url: string, server: string = servingUrl()): Pick<DatabaseConfig, 'url' | 'isPooled'> {
  const isOfRun = poolerUrl() !== undefined && new URL(url).port === new URL(adminUrl()).port;
  if (!isOfRun) return { url };
  const through = new URL(url);
  through.port = new URL(server).port;
  return { url: through.href, isPooled: true };
}

/** The same as variables of a process. */
export function programEnvironment(url: string, server?: string): Record<string, string> {
  const config = programConfig(url, server);
  if (config.isPooled !== true) return { DATABASE_URL: config.url };
  return { DATABASE_URL: config.url, DATABASE_DIRECT_URL: url, DATABASE_POOLER: 'transaction' };
}
