/**
 * What the command line is given from outside: arguments, environment, the three streams, and Ctrl-C. Everything else in
 * this folder takes it from here, so that nothing reads the process by itself.
 */

export interface World {
  /** Without the program itself. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Fires at Ctrl-C, with an `InterruptedError`. */
  readonly interrupt: AbortSignal;
  /** How the program is called where it is told to be called again: `npm run cli --`. */
  readonly programName: string;
}
