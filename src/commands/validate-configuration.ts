/**
 * `darkroom validate-configuration`: whether an api or a worker would accept its environment, without connecting to
 * anything. Run ahead of `migrate`, it keeps an upgrade whose processes could not start from changing the database.
 */
import { loadConfig, loadLogConfig } from '../config/config.ts';
import { ConfigurationError, EnvironmentReader } from '../config/environment.ts';
import { readEgressPolicy } from '../egress/policy.ts';
import { createLogger } from '../telemetry/log.ts';
import { warnOfUnknownVariables } from './process-lifecycle.ts';

/** @throws {ConfigurationError} with one line for each problem. */
export function runValidateConfiguration(environment: NodeJS.ProcessEnv): void {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'validate-configuration' });
  warnOfUnknownVariables(environment, logger);
  const problems = [
    ...problemsOf(() => loadConfig(environment)),
    ...problemsOf(() => {
      // By themselves, so that they are reported beside those of other settings.
      const read = new EnvironmentReader(environment);
      return readEgressPolicy({ allow: read.list('EGRESS_ALLOW'), deny: read.list('EGRESS_DENY'), ports: [] });
    }),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  logger.info('configuration is valid');
}

function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}
