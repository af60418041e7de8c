/**
 * The location of this package's own files. The compiler rewrites import specifiers but neither `new URL(…)` nor data
 * files, so what is located by path is located here. Nothing runs from source.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory that contains `package.json`: this module is compiled to `dist/src`. */
export const PACKAGE_DIRECTORY = fileURLToPath(new URL('../../', import.meta.url)).replace(/[/\\]$/, '');

/** The program of a child process. */
export type ChildModule = 'decode-child' | 'encode-child' | 'inspect-child';

/** The absolute path of a child's program. */
export function childModulePath(name: ChildModule): string {
  return path.join(PACKAGE_DIRECTORY, 'dist/src', `${name}.js`);
}

/** All that a child of ours loads, by absolute path: this package, and the packages that it depends on. */
export function programFiles(): readonly string[] {
  const modules = nearestNodeModules(path.dirname(PACKAGE_DIRECTORY));
  const own = [PACKAGE_DIRECTORY, ...linkedPackages(modules)].flatMap((directory) =>
    ['package.json', 'dist/src', 'node_modules'].map((name) => path.join(directory, name)),
  );
  return [...own, modules].filter((file) => existsSync(file));
}

/** The directory of the packages that are installed for all of a workspace. */
function nearestNodeModules(directory: string): string {
  const found = path.join(directory, 'node_modules');
  const parent = path.dirname(directory);
  return existsSync(found) || parent === directory ? found : nearestNodeModules(parent);
}

/** Packages of the same workspace: they are links, to directories that are not among those installed. */
function linkedPackages(modules: string): readonly string[] {
  const text = readFileSync(path.join(PACKAGE_DIRECTORY, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(text) as { readonly dependencies: Readonly<Record<string, string>> };
  return Object.keys(dependencies)
    .map((name) => path.join(modules, name))
    .filter((directory) => existsSync(directory))
    .map((directory) => realpathSync(directory))
    .filter((directory) => !directory.startsWith(modules + path.sep));
}
