/** `darkroom migrate`: the database's schema, the Temporal namespace, search attributes and schedules. Run it first. */
import { loadDatabaseConfig, loadLogConfig, loadTemporalConfig } from '../config/config.ts';
import { openDatabase } from '../database/database.ts';
import { migrate, readInstallationNames } from '../database/migrate.ts';
import type { InstallationNames } from '../database/migrate.ts';
import { createLogger } from '../telemetry/log.ts';
import { requireTemporal, temporalClient } from '../temporal/connection.ts';
import { ManualStepsError, formerScheduleStep, scheduleSteps } from '../temporal/manual-steps.ts';
import { installTemporalRuntime } from '../temporal/runtime.ts';
import { prepareNamespace } from '../temporal/prepare-namespace.ts';
import { allSchedules, ensureSchedules, retireFormerSchedules } from '../temporal/schedules.ts';
import { warnOfUnknownVariables } from './warn-of-unknown-variables.ts';

const NOTHING_FORMER = { deleted: [], left: [], unpaused: new Map<string, string>() };

export async function runMigrate(environment: NodeJS.ProcessEnv): Promise<void> {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'migrate' });
  warnOfUnknownVariables(environment, logger);
  const databaseConfig = loadDatabaseConfig(environment);
  const temporalConfig = loadTemporalConfig(environment);
  const database = openDatabase(databaseConfig, logger);
  let installation: InstallationNames;
  try {
    const applied = await migrate(databaseConfig.url, database, logger);
    logger.info({ applied }, applied.length === 0 ? 'the schema is up to date' : 'the schema was migrated');
    installation = await readInstallationNames(database);
  } finally {
    await database.close();
  }
  await installTemporalRuntime(logger, false);
  const connection = await requireTemporal(temporalConfig);
  try {
    const client = temporalClient(connection, temporalConfig);
    const { isUsable, steps } = await prepareNamespace(connection, temporalConfig, logger);
    // Without a namespace nothing can be asked about what belongs into it.
    const { updated, forbidden } = isUsable
      ? await ensureSchedules(client, installation.id)
      : { updated: [], forbidden: allSchedules(installation.id) };
    if (updated.length > 0) logger.info({ schedules: updated }, 'schedules of an earlier release were updated');
    const former =
      isUsable && installation.hadSharedNames ? await retireFormerSchedules(client, installation.id) : NOTHING_FORMER;
    if (former.deleted.length > 0)
      logger.info({ schedules: former.deleted }, 'schedules of an earlier release were deleted');
    const all = [
      ...steps,
      ...scheduleSteps(temporalConfig, forbidden, former.unpaused),
      ...former.left.map((id) => formerScheduleStep(temporalConfig, id)),
    ];
    if (all.length > 0) throw new ManualStepsError(all);
    logger.info({ namespace: temporalConfig.namespace }, 'Temporal is prepared');
  } finally {
    await connection.close();
  }
}
