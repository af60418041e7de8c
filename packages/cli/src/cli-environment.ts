/**
 * The environment of the command line: arguments, environment variables, the three streams, and Ctrl-C. Everything
 * else in this directory takes them from here and does not access the process itself.
 */

export interface CliEnvironment {
  /** The arguments, without the name of the program. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Fires at Ctrl-C, with an `InterruptedError`. */
  readonly interrupt: AbortSignal;
  /** The name of the program in messages that suggest another command: `npm run cli --`. */
  readonly programName: string;
}
