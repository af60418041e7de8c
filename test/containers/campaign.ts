/** The frame of a command that changes the machine: what it has made is removed at its end, also when it is interrupted. */
import { CannotRunError, say } from './run.ts';

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
