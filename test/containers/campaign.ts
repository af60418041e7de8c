/** The frame of a command that changes the machine: what it has made is removed at its end, also when it is interrupted. */
import { CannotRunError, say, seconds } from './run.ts';

/** What is undone at the end, in reverse order; emptied as it is done. */
export const toUndo: (() => Promise<void>)[] = [];

/** @param remaining how many of the first things are not undone yet. */
export async function cleanUp(remaining = 0): Promise<void> {
  while (toUndo.length > remaining) {
    const undo = toUndo.pop();
    await undo?.().catch((error: unknown) => {
      say(`Not cleaned up: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    });
  }
}

/** Runs the command to its end. @param main returns the exit code; 2 is for a `CannotRunError`. */
export async function runCampaign(main: (args: readonly string[]) => Promise<number>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say('Interrupted: cleaning up …');
      void cleanUp().finally(() => process.exit(130));
    });
  }
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    say(error instanceof CannotRunError ? error.message : String(error instanceof Error ? error.stack : error));
    process.exitCode = error instanceof CannotRunError ? 2 : 1;
  } finally {
    await cleanUp();
  }
}

/**
 * Runs a check, and prints how it ended.
 *
 * @param onFailure shows what helps to find the cause.
 * @returns 1 if it failed, and 0 if it held.
 */
export async function report(
  name: string,
  check: () => Promise<string | undefined>,
  onFailure: () => Promise<void>,
): Promise<number> {
  const begun = Date.now();
  try {
    const found = await check();
    say(`ok      ${name} (${seconds(Date.now() - begun)})${found === undefined ? '' : `: ${found}`}`);
    return 0;
  } catch (error) {
    say(`FAILED  ${name} (${seconds(Date.now() - begun)}): ${error instanceof Error ? error.message : String(error)}`);
    await onFailure();
    return 1;
  }
}
