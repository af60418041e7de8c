/**
 * The location of this package's own files. The compiler rewrites import specifiers but neither `new URL(…)` nor data
 * files, so what is located by path is located here. Nothing runs from source.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory that contains `package.json`: this module is compiled to `dist/src`. */
export const PACKAGE_DIRECTORY = fileURLToPath(new URL('../../', import.meta.url)).replace(/[/\\]$/, '');

/** The program of a child process. */
export type ChildModule = 'decode-child' | 'encode-child' | 'inspect-child';

/** The absolute path of a child's program. */
export function childModule(name: ChildModule): string {
  return path.join(PACKAGE_DIRECTORY, 'dist/src', `${name}.js`);
}

/** All that a child of ours loads, by absolute path: this package, and the packages that it depends on. */
export function programFiles(): readonly string[] {
  const own = ['package.json', 'dist/src', 'node_modules'].map((name) => path.join(PACKAGE_DIRECTORY, name));
  return [...own, nearestNodeModules(path.dirname(PACKAGE_DIRECTORY))].filter((file) => existsSync(file));
}

/** The directory of the packages that are installed for all of a workspace. */
function nearestNodeModules(directory: string): string {
  const found = path.join(directory, 'node_modules');
  const parent = path.dirname(directory);
  return existsSync(found) || parent === directory ? found : nearestNodeModules(parent);
}
