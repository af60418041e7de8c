/** A role says at its start which variables look like misspelt settings. */
import { unknownVariables } from '../config/unknown-variables.ts';
import type { Logger } from '../telemetry/log.ts';

/** Under `npm start` its supervisor has said it, once for all roles. */
export function warnOfUnknownVariables(environment: NodeJS.ProcessEnv, logger: Logger): void {
  if (environment['DARKROOM_EMBEDDED'] === 'true') return;
  for (const { name, message } of unknownVariables(environment)) logger.warn({ variable: name }, message);
}
