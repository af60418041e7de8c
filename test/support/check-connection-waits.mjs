/**
 * Loaded before a test file, or before the built program that a test starts: from here on nobody in that process waits
 * for a database connection while holding one. Source and build are two modules with a switch each.
 */
import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const MODULES = ['../../src/database/connection-waits.ts', '../../dist/src/database/connection-waits.js'];

// Only whoever can load TypeScript runs from source; the built program is started without it.
const isSource = process.execArgv.includes('tsx');
const module = new URL(MODULES[isSource ? 0 : 1], import.meta.url);
// A thread inherits this import, has no pool, and could not load TypeScript so early.
if (isMainThread && existsSync(module)) {
  const { checkConnectionWaits } = await import(module.href);
  checkConnectionWaits();
}
