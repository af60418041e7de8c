/**
 * How long the program waits for what answers at once while it works: the database, Temporal, a thread, a peer that
 * connects. These time-outs only distinguish what is broken from what is slow, so tests, which run on machines of any
 * speed, lengthen all of them by one factor.
 */
let factor = 1;

/**
 * For tests only, before any module of the program is loaded.
 *
 * @param by at least 1.
 * @public loaded by test/support/prepare-program.mjs, by a path that is computed.
 */
export function lengthenTimeOuts(by: number): void {
  factor = by;
}

/** @param ms the time-out in production. @returns what it is in this process, in milliseconds. */
export function timeOutMs(ms: number): number {
  return ms * factor;
}
