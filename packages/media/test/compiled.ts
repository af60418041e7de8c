/** The compiled modules of this package, for programs that run in other processes and threads. */
import path from 'node:path';
import { PACKAGE_DIRECTORY } from '../src/program-files.ts';

/** @param source a module by its path in the package: `src/decode.ts`. @returns the absolute path that Node loads. */
export function compiled(source: string): string {
  return path.join(PACKAGE_DIRECTORY, 'dist', source.replace(/\.ts$/, '.js'));
}
