/** What the program prints and exits with when a command fails. */
import { DarkroomError } from '../domain/darkroom-error.ts';

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

/** With its stack; errors of native code have none. */
function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
}
