/**
 * The packages that users install, as they are published: the npm packages and the Python SDK. In the repository they
 * are marked as private, so that none is published by accident; that mark is removed here.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Directories below `packages`, in the order in which they depend on each other. */
export const NPM_PACKAGES = ['sdk-js', 'ai-sdk-provider'];

/** PyPI rejects a package with this classifier. */
const PRIVATE_CLASSIFIER = '"Private :: Do Not Upload", ';

/**
 * @param target the directory for the archives.
 * @param repository `owner/name` at GitHub, as in the provenance that npm compares the manifest with; undefined: the
 *   packages name none.
 * @returns the archives' names.
 */
export async function packNpmPackages(
  root: string,
  target: string,
  repository: string | undefined,
): Promise<readonly string[]> {
  const files: string[] = [];
  for (const name of NPM_PACKAGES) {
    files.push(
      await inTemporaryDirectory(async (directory) => {
        const packed = await npmPack(path.join(root, 'packages', name), directory);
        await run('tar', ['-xzf', path.join(directory, packed), '-C', directory]);
        const unpacked = path.join(directory, 'package');
        await makePublic(path.join(unpacked, 'package.json'), repositoryField(repository, `packages/${name}`));
        return npmPack(unpacked, target, ['--ignore-scripts']);
      }),
    );
  }
  return files;
}

async function npmPack(directory: string, target: string, options: readonly string[] = []): Promise<string> {
  const before = new Set(await readdir(target));
  await run('npm', ['pack', '--pack-destination', target, ...options], { cwd: directory });
  const [file, ...others] = (await readdir(target)).filter((name) => name.endsWith('.tgz') && !before.has(name));
  if (file === undefined || others.length > 0) throw new Error(`npm pack made no archive of ${directory}`);
  return file;
}

/** Without it, npm rejects a package with provenance (E422). */
function repositoryField(repository: string | undefined, directory: string): object {
  if (repository === undefined) return {};
  return { repository: { type: 'git', url: `git+https://github.com/${repository}.git`, directory } };
}

/** Without the mark, and without what only its development needs. */
async function makePublic(file: string, repository: object): Promise<void> {
  const {
    private: _,
    scripts: _scripts,
    devDependencies: _devDependencies,
    ...manifest
  } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  const published = { ...manifest, ...repository, publishConfig: { access: 'public' } };
  await writeFile(file, `${JSON.stringify(published, undefined, 2)}\n`);
}

/**
 * Builds the wheel and the source archive.
 *
 * @param python one that has the packages `build` and `hatchling`.
 * @param epochSeconds the time of all files in them.
 * @returns their names.
 */
export async function buildPythonPackage(
  root: string,
  target: string,
  { python, epochSeconds }: { readonly python: string; readonly epochSeconds: number },
): Promise<readonly string[]> {
  return inTemporaryDirectory(async (directory) => {
    const source = path.join(directory, 'source');
    await cp(path.join(root, 'packages/sdk-python'), source, { recursive: true });
    const project = path.join(source, 'pyproject.toml');
    const text = await readFile(project, 'utf8');
    if (!text.includes(PRIVATE_CLASSIFIER)) throw new Error(`${project}: no classifier ${PRIVATE_CLASSIFIER}`);
    await writeFile(project, text.replace(PRIVATE_CLASSIFIER, ''));
    const built = path.join(directory, 'built');
    await mkdir(built);
    const command = [python, '-m', 'build', '--no-isolation', '--outdir', built, source];
    await run('env', [`SOURCE_DATE_EPOCH=${epochSeconds}`, ...command]);
    const files = (await readdir(built)).toSorted();
    for (const file of files) await cp(path.join(built, file), path.join(target, file));
    return files;
  });
}

async function inTemporaryDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-release-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
