/** A clock of the database that a test moves. */
import type { DatabaseClock } from '../../src/database/database-clock.ts';

/** @param now milliseconds since 1970. */
export function movedClock(now: () => number): DatabaseClock {
  return {
    now,
    read: () => Promise.resolve(now()),
    skewMs: () => 0,
    isRight: () => true,
    measure: () => Promise.resolve(true),
    waitUntil: () => Promise.resolve(),
    start() {},
    close: () => Promise.resolve(),
  };
}
