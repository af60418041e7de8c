/** `darkroom migrate`: the database's schema, the Temporal namespace, search attributes and schedules. Run it first. */
import { loadDatabaseConfig, loadLogConfig, loadTemporalConfig } from '../config/config.ts';
import { openDatabase } from '../database/database.ts';
import { migrate } from '../database/migrate.ts';
import { createLogger } from '../telemetry/log.ts';
import { requireTemporal, temporalClient } from '../temporal/connection.ts';
import { ManualStepsError, scheduleStep } from '../temporal/manual-steps.ts';
import { prepareNamespace } from '../temporal/prepare-namespace.ts';
import { allSchedules, ensureSchedules } from '../temporal/schedules.ts';

export async function runMigrate(environment: NodeJS.ProcessEnv): Promise<void> {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'migrate' });
  const databaseConfig = loadDatabaseConfig(environment);
  const temporalConfig = loadTemporalConfig(environment);
  const database = openDatabase(databaseConfig, logger);
  try {
    const applied = await migrate(databaseConfig.url, database, logger);
    logger.info({ applied }, applied.length === 0 ? 'the schema is up to date' : 'the schema was migrated');
  } finally {
    await database.close();
  }
  const connection = await requireTemporal(temporalConfig);
  try {
    const { isUsable, steps } = await prepareNamespace(connection, temporalConfig, logger);
    // Without a namespace nothing can be asked about what belongs into it.
    const { updated, forbidden } = isUsable
      ? await ensureSchedules(temporalClient(connection, temporalConfig))
      : { updated: [], forbidden: allSchedules() };
    if (updated.length > 0) logger.info({ schedules: updated }, 'schedules of an earlier release were updated');
    const all = [...steps, ...forbidden.map((schedule) => scheduleStep(temporalConfig, schedule))];
    if (all.length > 0) throw new ManualStepsError(all);
    logger.info({ namespace: temporalConfig.namespace }, 'Temporal is prepared');
  } finally {
    await connection.close();
  }
}
