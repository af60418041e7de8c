/**
 * Loaded before a test file, or before the built program that a test starts: from here on no one in that process waits
 * for a database connection while holding one, and nothing is taken for broken that is only slow.
 */
import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * How many times as long as in production the program waits for a slow answer, so that a slow machine changes the
 * outcome of no test. A test of such a time-out gives it a time of its own, or sets the variable to 1 for the program
 * that it starts.
 */
const FACTOR = Number(process.env['DARKROOM_TEST_TIME_OUTS'] ?? 6);

const program = new URL('../../dist/src/', import.meta.url);
// A thread inherits this import, and has no pool and no time-outs.
if (isMainThread && existsSync(new URL('main.js', program))) {
  const { lengthenTimeOuts } = await import(new URL('config/time-outs.js', program).href);
  lengthenTimeOuts(FACTOR);
  const { checkConnectionWaits } = await import(new URL('database/connection-waits.js', program).href);
  checkConnectionWaits();
}
