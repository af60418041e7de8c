/**
 * Which installation the admin commands work on: the database of the environment, or that of the installation that
 * runs in the data directory.
 */
import { loadDatabaseConfig } from '../../config/config.ts';
import { openDatabase } from '../../database/database.ts';
import type { Database } from '../../database/database.ts';
import { resolveDataDirectory } from '../../standalone/data-directory.ts';
import { readInstance } from '../../standalone/instance.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { AdminError, explainError } from './admin-error.ts';
import { print } from './print.ts';

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
