/**
 * Where the program's own files lie. The compiler rewrites import specifiers but neither `new URL(…)` nor data files,
 * so everything that is found by path (models, migrations, worker threads, the workflow bundle) is found here, from
 * source and from `dist` alike.
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

/** Whether the program runs as compiled JavaScript below `dist`. */
export const RUNS_FROM_DIST = fileURLToPath(import.meta.url).startsWith(path.join(PACKAGE_ROOT, 'dist') + path.sep);

/** A data file or folder that the package ships, by its path from the package's root: `models`, `migrations`. */
export function packageFile(relativePath: string): string {
  return path.join(PACKAGE_ROOT, relativePath);
}

/** A module of ours by its source path (`src/engines/thread.ts`): that file, or what the compiler made of it. */
export function packageModule(relativeSourcePath: string): string {
  if (!RUNS_FROM_DIST) return path.join(PACKAGE_ROOT, relativeSourcePath);
  return path.join(PACKAGE_ROOT, 'dist', relativeSourcePath.replace(/\.ts$/, '.js'));
}
