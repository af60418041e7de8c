/** At its start a role reports which variables look like misspelled settings. */
import { unknownVariables } from '../config/unknown-variables.ts';
import type { Logger } from '../telemetry/log.ts';

/** Under `npm start` the supervisor has already reported them, once for all roles. */
export function warnOfUnknownVariables(environment: NodeJS.ProcessEnv, logger: Logger): void {
  if (environment['DARKROOM_EMBEDDED'] === 'true') return;
  for (const { name, message } of unknownVariables(environment)) logger.warn({ variable: name }, message);
}
