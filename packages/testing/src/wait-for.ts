/**
 * Waits for a condition that a test is not notified of, by polling. Its one limit is no promise about time, and no
 * test may rely on it; it only ends a test that would hang.
 */

/**
 * Far longer than anything takes on a slow machine that is busy with other programs. Engines have a lower priority
 * than those (nice 10): on a third of two cores, a video that takes seconds was not finished after six minutes.
 */
export const GIVE_UP_MS = 1_200_000;
const POLL_MS = 50;

/**
 * Waits until a condition holds. That it gives up after `GIVE_UP_MS` only ends a hanging test and asserts nothing
 * about time: a test that promises a time measures it.
 *
 * @param what is waited for, for the error message: `the output is persistent`. A function is called then, and can
 *   report how far it came.
 * @param pollMs between two checks; longer if a check is expensive, such as a log file that is read completely.
 * @throws {Error} the condition never held; or whatever the condition throws.
 */
export async function waitFor(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  pollMs = POLL_MS,
): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(
        `timed out after ${GIVE_UP_MS / 1000} s waiting for: ${typeof what === 'string' ? what : what()}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
