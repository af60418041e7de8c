/**
 * When polling a task again is worthwhile (contract §3 `Retry-After`): at first when the model is usually done, then
 * in steps that grow with the task's age.
 */

/** No client is advised to wait longer: a task may be over sooner than usual. */
const LONGEST_SECONDS = 30;
/** A task that takes longer than usual is polled after a tenth of its age: polls grow with its logarithm. */
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
