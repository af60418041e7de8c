/** `darkroom migrate`: the database's schema, the Temporal namespace, search attributes and schedules. Run it first. */
import { loadDirectDatabaseConfig, loadLogConfig, loadTemporalConfig } from '../config/config.ts';
import type { TemporalConfig } from '../config/connections.ts';
import { openDatabase } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import { migrate, readInstallationId } from '../database/migrate.ts';
import { createLogger } from '../telemetry/log.ts';
import type { Logger } from '../telemetry/log.ts';
import { requireTemporal, temporalClient } from '../temporal/connection.ts';
import { ManualStepsError, scheduleStep } from '../temporal/manual-steps.ts';
import { installTemporalRuntime } from '../temporal/runtime.ts';
import { prepareNamespace } from '../temporal/prepare-namespace.ts';
import { allSchedules, ensureSchedules } from '../temporal/schedules.ts';
import { logProcessWarnings, warnOfUnknownVariables } from './process-lifecycle.ts';

export async function runMigrate(environment: NodeJS.ProcessEnv): Promise<void> {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'migrate' });
  logProcessWarnings(logger);
  warnOfUnknownVariables(environment, logger);
  const databaseConfig = loadDirectDatabaseConfig(environment);
  const temporalConfig = loadTemporalConfig(environment);
  const database = openDatabase(databaseConfig, logger);
  try {
    const applied = await migrate(databaseConfig.url, database, logger, { variable: databaseConfig.variable });
    logger.info({ applied }, applied.length === 0 ? 'schema up to date' : 'schema migrated');
    await prepareTemporal(temporalConfig, database, logger);
  } finally {
    await database.close();
  }
}

/** @throws {ManualStepsError} some steps need more permissions than our credentials have. */
async function prepareTemporal(config: TemporalConfig, database: Database, logger: Logger): Promise<void> {
  const installationId = await readInstallationId(database);
  await installTemporalRuntime(logger, false);
  const connection = await requireTemporal(config);
  try {
    const client = temporalClient(connection, config);
    const { isUsable, steps } = await prepareNamespace(connection, config, logger);
    // Without a namespace nothing in it can be queried.
    const { updated, forbidden } = isUsable
      ? await ensureSchedules(client, installationId)
      : { updated: [], forbidden: allSchedules(installationId) };
    if (updated.length > 0) logger.info({ schedules: updated }, 'schedules of an earlier release updated');
    const all = [...steps, ...forbidden.map((schedule) => scheduleStep(config, schedule))];
    if (all.length > 0) throw new ManualStepsError(all);
    logger.info({ namespace: config.namespace }, 'Temporal is prepared');
  } finally {
    await connection.close();
  }
}
