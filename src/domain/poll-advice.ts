/**
 * When polling a task again is worthwhile (contract §3 `Retry-After`): at first when the model is usually done, then
 * in steps that grow with the task's age.
 */

/** The longest interval that a client is advised to wait: a task may end sooner than usual. */
const LONGEST_SECONDS = 30;
/**
 * The polling interval of a task that takes longer than usual, as a share of its age. The number of polls then grows
 * with the logarithm of the age.
 */
const SHARE_OF_AGE = 0.1;

/**
 * @param typicalSeconds what the model usually takes. @param ageSeconds since the task was created.
 * @returns whole seconds, 1 to 30.
 */
export function secondsUntilNextPoll(typicalSeconds: number, ageSeconds: number): number {
  const left = typicalSeconds - ageSeconds;
  const wait = left > 0 ? left : ageSeconds * SHARE_OF_AGE;
  return Math.min(Math.max(Math.ceil(wait), 1), LONGEST_SECONDS);
}
