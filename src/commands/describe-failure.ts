/**
 * What the program prints and exits with when a command fails. A command for people prints a message; what ends a role
 * is the last line of its log, in the format of the log: whatever collects logs must find the reason.
 */
import { DarkroomError } from '../domain/darkroom-error.ts';
import { createLogger } from '../telemetry/log.ts';

/**
 * The exit code for an invalid configuration (EX_CONFIG of sysexits.h): a restart would not help (standalone/part.ts).
 */
const EX_CONFIG = 78;

export interface Failure {
  /** Without a newline at its end. */
  readonly message: string;
  readonly exitCode: number;
}

/** The message of an error of ours says how to resolve it, so that no stack is needed. Any other error is a bug. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof DarkroomError && error.kind !== 'internal') {
    return { message: error.message, exitCode: error.kind === 'configuration_invalid' ? EX_CONFIG : 1 };
  }
  return { message: describeBug(error), exitCode: 1 };
}

/**
 * Reports the failure of a role.
 *
 * @returns the exit code.
 */
export function reportRoleFailure(role: string, error: unknown, environment: NodeJS.ProcessEnv): number {
  const { message, exitCode } = describeFailure(error);
  // The settings of the log may themselves be what is wrong.
  if (environment['LOG_FORMAT'] === 'pretty') {
    process.stderr.write(`${message}\n`);
  } else {
    const isBug = !(error instanceof DarkroomError) || error.kind === 'internal';
    const logger = createLogger({ level: 'fatal', format: 'json', role });
    // Written before this returns.
    if (isBug) logger.fatal({ err: error, exitCode }, `the process ends: ${summaryOf(error)}`);
    else logger.fatal({ exitCode }, message);
  }
  return exitCode;
}

function summaryOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** With its stack; errors of native code have none. */
function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
}
