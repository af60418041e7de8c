/** The API's form of a time. */

/** @returns whole Unix seconds; 0 where there is no such time. */
export function secondsOf(time: Date | undefined): number {
  return time === undefined ? 0 : Math.floor(time.getTime() / 1000);
}
