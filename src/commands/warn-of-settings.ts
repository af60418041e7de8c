/** At its start a role reports which variables look like misspelled settings, and what production usually sets. */
import { unknownVariables, unsetForProduction } from '../config/likely-mistakes.ts';
import type { Logger } from '../telemetry/log.ts';

/** Under `npm start` the supervisor has already reported them, once for all roles. */
export function warnOfUnknownVariables(environment: NodeJS.ProcessEnv, logger: Logger): void {
  if (environment['DARKROOM_EMBEDDED'] === 'true') return;
  for (const { name, message } of unknownVariables(environment)) logger.warn({ variable: name }, message);
}

/** For roles that run for long, where this is a production system. */
export function warnOfUnsetVariables(environment: NodeJS.ProcessEnv, logger: Logger, role: 'api' | 'worker'): void {
  const unset = unsetForProduction(environment, role);
  if (unset.length === 0) return;
  const effects = unset.map(({ name, effect }) => `${name}: ${effect}`);
  logger.warn(
    { variables: unset.map(({ name }) => name) },
    `not set, although production usually does: ${effects.join('; ')}`,
  );
}
