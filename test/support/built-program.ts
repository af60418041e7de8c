/**
 * The program as it is deployed, for tests that start it as a process: `npm test` has built it by then. Compiled, it
 * starts in a fraction of the time that it takes from source, and a run starts it about a hundred times.
 */
import { existsSync } from 'node:fs';
import { packageFile } from '../../src/config/package-root.ts';

/** @returns the arguments of `node` before those of the program. @throws {Error} nothing is built. */
export function builtProgram(): readonly string[] {
  const file = packageFile('dist/src/main.js');
  if (!existsSync(file)) throw new Error('nothing is built: run this file with npm test -- <file>');
  return [`--import=${packageFile('test/support/prepare-program.mjs')}`, file];
}
