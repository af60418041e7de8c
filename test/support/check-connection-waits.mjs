/**
 * Loaded before a test file, or before the built program that a test starts: from here on no one in that process waits
 * for a database connection while holding one.
 */
import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const module = new URL('../../dist/src/database/connection-waits.js', import.meta.url);
// A thread inherits this import, and has no pool.
if (isMainThread && existsSync(module)) {
  const { checkConnectionWaits } = await import(module.href);
  checkConnectionWaits();
}
