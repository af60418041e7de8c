/**
 * Waiting for what a test is not told of: asking again and again. The one bound on it is no promise about time, and no
 * test may lean on it; it only ends the waiting of a test that would hang.
 */

/**
 * Far above what anything takes on a slow machine that is busy with other programs. Engines give way to those (nice 10): a
 * film that takes seconds was waited for in vain for two minutes beside four of them.
 */
export const GIVE_UP_MS = 360_000;
const POLL_MS = 50;

/**
 * Waits until a condition holds. That it gives up after `GIVE_UP_MS` only ends a hanging test and asserts nothing about
 * time: whoever promises a time measures it.
 *
 * @param what is waited for, as the failure says it: `the output is persistent`. A function is asked then, and can tell
 *   how far it came.
 * @param pollMs between two looks; more where a look costs something, a log file that is read whole.
 * @throws {Error} it never came to that; or whatever the condition throws.
 */
export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  pollMs = POLL_MS,
): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(`waited in vain for ${GIVE_UP_MS / 1000} s: ${typeof what === 'string' ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
