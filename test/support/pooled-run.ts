/**
 * How the program reaches the databases of a test run: directly, or, with `DARKROOM_TEST_POOLER=pgbouncer` in the
 * environment of the run, through a PgBouncer in transaction mode. Tests connect past it for what needs a session, as
 * `migrate` does.
 */
import type { DatabaseConfig } from '../../src/config/connections.ts';

/** The address of the run's pooler, for the processes of the tests. */
export const POOLER_VARIABLE = 'DARKROOM_TEST_POOLER_URL';

/** The PostgreSQL behind each pooler of this process, and behind what is in front of one, by port of 127.0.0.1. */
const directServers = new Map<string, string>();

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

/** Whether the processes of the program are to reach PostgreSQL through a pooler in this run. */
export function isPooledRun(): boolean {
  return poolerUrl() !== undefined;
}

/** Says that a URL is that of a pooler in front of this server, or of something that leads to one. */
export function addPooler(url: string, server: string): void {
  const direct = findDirectServer(server) ?? server;
  directServers.set(new URL(url).port, direct);
}

function findDirectServer(server: string): string | undefined {
  const { port } = new URL(server);
  const pooler = poolerUrl();
  const isOfRun = pooler !== undefined && port === new URL(pooler).port;
  return isOfRun ? adminUrl() : directServers.get(port);
}

/** @param server the URL of a server, or of what is in front of it. @returns that of PostgreSQL, for sessions. */
export function directServer(server: string): string {
  return findDirectServer(server) ?? server;
}

/**
 * How the program reaches a database.
 *
 * @param url of the database on PostgreSQL itself. @param server what the program connects to; default: that of the run.
 */
export function programConfig(url: string, server: string = servingUrl()): Pick<DatabaseConfig, 'url' | 'isPooled'> {
  const direct = findDirectServer(server);
  if (direct === undefined || new URL(url).port !== new URL(direct).port) return { url };
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
