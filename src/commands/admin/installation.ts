/**
 * How an admin command runs: on which installation, the database of the environment or that of the installation that
 * runs in the data directory, and how its result is printed.
 */
import { loadDatabaseConfig } from '../../config/config.ts';
import { openDatabase } from '../../database/database.ts';
import type { Database } from '../../database/database.ts';
import { resolveDataDirectory } from '../../standalone/data-directory.ts';
import { readInstance } from '../../standalone/instance.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { AdminError, explainError } from './admin-error.ts';

export interface OpenInstallation {
  readonly database: Database;
  /** The configuration of the installation that is worked on. */
  readonly environment: NodeJS.ProcessEnv;
  /** Upstreams whose credentials only its processes have, by name. */
  readonly upstreamKeys: readonly string[];
}

/** The options of every admin command. */
export type CommonOptions = Readonly<{ json?: boolean; dataDir?: string }>;

/** Creates the action of a command: opens the installation, prints what `work` returns, and closes it. */
export type OnInstallation = <Parameters extends readonly unknown[]>(
  work: (installation: OpenInstallation, ...parameters: Parameters) => Promise<unknown>,
) => (...parameters: Parameters) => Promise<void>;

/** @param environment of the process. @param readOptions called once the arguments are parsed. */
export function createRunner(environment: NodeJS.ProcessEnv, readOptions: () => CommonOptions): OnInstallation {
  return (work) =>
    async (...parameters) => {
      const { json, dataDir } = readOptions();
      const installation = await openInstallation(environment, dataDir);
      try {
        print(await work(installation, ...parameters), json === true);
      } catch (error) {
        throw explainError(error);
      } finally {
        await installation.database.close();
      }
    };
}

/**
 * Prints which one it is on standard error, so that standard output remains valid JSON.
 *
 * @throws {AdminError} there is neither.
 */
async function openInstallation(
  environment: NodeJS.ProcessEnv,
  dataDir: string | undefined,
): Promise<OpenInstallation> {
  if (dataDir === undefined && (environment['DATABASE_URL'] ?? environment['DATABASE_URL_FILE'] ?? '') !== '') {
    const config = loadDatabaseConfig(environment);
    process.stderr.write(`using the database ${withoutPassword(config.url)} (DATABASE_URL)\n`);
    return { database: openDatabase(config, silentLogger()), environment, upstreamKeys: [] };
  }
  const directory = resolveDataDirectory(dataDir, environment);
  const instance = await readInstance(directory);
  if (instance === undefined) {
    throw new AdminError(
      `nothing runs on the data directory ${directory}: run npm start first, name another with --data-dir, or set DATABASE_URL`,
    );
  }
  process.stderr.write(
    `using the database of the installation in ${directory} (${withoutPassword(instance.databaseUrl)})\n`,
  );
  const merged = { ...environment, ...instance.environment };
  const { upstreamKeys = [] } = instance;
  return { database: openDatabase(loadDatabaseConfig(merged), silentLogger()), environment: merged, upstreamKeys };
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'that DATABASE_URL names';
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

const LEAST_NAME_WIDTH = 10;

/**
 * Prints one record, or several with blank lines between them: readable lines, or JSON with `--json`, where a list is a
 * list and a number a number. Money is in decimal USD, and times are in ISO 8601; null means absent or unlimited.
 */
export function print(result: unknown, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const records = Array.isArray(result) ? (result as readonly object[]) : [result as object];
  process.stdout.write(`${records.map(block).join('\n\n')}\n`);
}

function block(record: object): string {
  const entries = Object.entries(record);
  const width = Math.max(LEAST_NAME_WIDTH, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)} ${readable(value)}`).join('\n');
}

function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '-';
  if (!Array.isArray(value)) return typeof value === 'object' ? membersOf(value) : JSON.stringify(value);
  if (value.length === 0) return 'none';
  return value.every((member) => typeof member === 'object') ? table(value as readonly object[]) : value.join(' ');
}

/** A record within another: `tasks 3, captured 0.12`. */
function membersOf(record: object): string {
  const members = Object.entries(record).map(([name, value]) => `${name} ${readable(value)}`);
  return members.length === 0 ? 'none' : members.join(', ');
}

/** Records of one kind, one per line below the names of their fields. */
function table(records: readonly object[]): string {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = [
    names,
    ...records.map((record) => names.map((name) => readable((record as Record<string, unknown>)[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => `\n  ${line.trimEnd()}`).join('');
}
