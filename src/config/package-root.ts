/**
 * The location of the program's own files. The compiler rewrites import specifiers but neither `new URL(…)` nor data
 * files, so everything that is located by path (models, migrations, worker threads, the workflow bundle) is located
 * here. Nothing runs from source: tests, benchmarks and tools are compiled to `dist` as well.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

function findPackageRoot(): string {
  let directory = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(directory, 'package.json'))) {
    const parent = path.dirname(directory);
    if (parent === directory)
      throw new Error('package.json not found above the program: the installation is incomplete');
    directory = parent;
  }
  return directory;
}

/** The directory that contains `package.json`. */
export const PACKAGE_ROOT = findPackageRoot();

/** A data file or directory that the package ships, by its path from the package's root: `models`, `migrations`. */
export function packageFile(relativePath: string): string {
  return path.join(PACKAGE_ROOT, relativePath);
}

/**
 * The compiled form of one of our modules, by its source path: `src/temporal/build-workflow-bundle.ts`, or a test of a workspace's
 * package, `packages/media/test/decode.test.ts`.
 */
export function packageModule(relativeSourcePath: string): string {
  const [, ofPackage = '', file = relativeSourcePath] =
    /^(packages[/\\][^/\\]+)[/\\](.*)$/.exec(relativeSourcePath) ?? [];
  return path.join(PACKAGE_ROOT, ofPackage, 'dist', file.replace(/\.ts$/, '.js'));
}
