/**
 * Where the program's own files lie. The compiler rewrites import specifiers but neither `new URL(…)` nor data files,
 * so everything that is found by path (models, migrations, worker threads, the workflow bundle) is found here. Nothing
 * runs from source: tests, benchmarks and tools are compiled below `dist` as well.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

function findPackageRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error('package.json not found above the program: the installation is incomplete');
    folder = parent;
  }
  return folder;
}

/** The folder that holds `package.json`. */
export const PACKAGE_ROOT = findPackageRoot();

/** A data file or folder that the package ships, by its path from the package's root: `models`, `migrations`. */
export function packageFile(relativePath: string): string {
  return path.join(PACKAGE_ROOT, relativePath);
}

/** What the compiler made of a module of ours, by its source path (`src/engines/thread.ts`). */
export function packageModule(relativeSourcePath: string): string {
  return path.join(PACKAGE_ROOT, 'dist', relativeSourcePath.replace(/\.ts$/, '.js'));
}
