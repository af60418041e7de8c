/**
 * How the admin commands find their database and what they print: readable lines, or JSON with `--json`.
 */
import type { Account } from '../accounts/accounts.ts';
import type { KeyListing } from '../accounts/keys.ts';
import { loadDatabaseConfig } from '../config/config.ts';
import { openDatabase } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import { formatUsd } from '../domain/money.ts';
import { locateDataFolder } from '../embedded/data-folder.ts';
import { readInstance } from '../embedded/instance.ts';
import { silentLogger } from '../telemetry/log.ts';

/** Something for the operator to mend; the message says how. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export interface AdminEnvironment {
  readonly database: Database;
  /** The configuration of the installation that is worked on. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Opens the database of the environment, or that of the installation which runs in the data folder. Says which on
 * standard error, so that JSON on standard output stays whole.
 *
 * @throws {AdminError} neither is there.
 */
export async function openInstallation(
  environment: NodeJS.ProcessEnv,
  dataDir: string | undefined,
): Promise<AdminEnvironment> {
  if (dataDir === undefined && (environment['DATABASE_URL'] ?? environment['DATABASE_URL_FILE'] ?? '') !== '') {
    const config = loadDatabaseConfig(environment);
    process.stderr.write(`using the database ${withoutPassword(config.url)} (DATABASE_URL)\n`);
    return { database: openDatabase(config, silentLogger()), environment };
  }
  const folder = locateDataFolder(dataDir, environment);
  const instance = await readInstance(folder);
  if (instance === undefined) {
    throw new AdminError(
      `nothing runs on the data folder ${folder}: run npm start first, name another with --data-dir, or set DATABASE_URL`,
    );
  }
  process.stderr.write(
    `using the database of the installation in ${folder} (${withoutPassword(instance.databaseUrl)})\n`,
  );
  const merged = { ...environment, ...instance.environment };
  return { database: openDatabase(loadDatabaseConfig(merged), silentLogger()), environment: merged };
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'that DATABASE_URL names';
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** An account with its money in decimal USD and its times in ISO 8601. */
export function presentAccount(account: Account): Record<string, unknown> {
  return {
    account: account.id,
    name: account.name,
    status: account.status,
    available: formatUsd(account.availableMicroUsd),
    held: formatUsd(account.heldMicroUsd),
    running: `${account.running} of ${account.limits.runningCap}`,
    queued: `${account.queued} of ${account.limits.queueCap}`,
    created: account.createdAt.toISOString(),
  };
}

export function presentKey(key: KeyListing): Record<string, unknown> {
  return {
    keyId: key.id,
    name: key.name,
    scopes: key.scopes.join(' '),
    created: key.createdAt.toISOString(),
    revoked: key.revokedAt?.toISOString() ?? 'no',
  };
}

/** Prints one record, or several with blank lines between them. */
export function print(result: unknown, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const records = Array.isArray(result) ? result : [result];
  const blocks = records.map((record: object) =>
    Object.entries(record)
      .map(([name, value]) => `${name.padEnd(10)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join('\n'),
  );
  process.stdout.write(`${blocks.join('\n\n')}\n`);
}
