/**
 * Packages from npm that only tests run: installed once for each lock, into a directory of its own in the user's cache.
 * The product does not depend on them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const INSTALL_TIMEOUT_MS = 10 * 60_000;
const MANIFEST = ['package.json', 'package-lock.json', '.npmrc'];

/**
 * Installs what the lock of a directory lists.
 *
 * @param name of the directory in the cache. @param what it is, for the message while it is installed.
 * @returns the directory with its `node_modules`.
 */
export async function installLocked(
  source: string,
  { name, what }: { readonly name: string; readonly what: string },
): Promise<string> {
  const lock = await readFile(path.join(source, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const base = process.env['XDG_CACHE_HOME'] ?? '';
  const cache = path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache');
  const directory = path.join(cache, 'darkroom', `${name}-${version}`);
  if (existsSync(directory)) return directory;
  await mkdir(path.dirname(directory), { recursive: true });
  const building = await mkdtemp(`${directory}-building-`);
  try {
    process.stderr.write(`Installing ${what} from npm, once; this takes a minute or so.\n`);
    for (const file of MANIFEST) await copyFile(path.join(source, file), path.join(building, file));
    await promisify(execFile)('npm', ['ci', '--ignore-scripts'], { cwd: building, timeout: INSTALL_TIMEOUT_MS });
    // Atomically: another run may be doing the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}

/** A directory below the installed packages, so that imports find them, with copies of files that use them. */
export async function directoryWith(installed: string, files: readonly string[]): Promise<string> {
  const directory = await mkdtemp(path.join(installed, 'run-'));
  for (const file of files) await copyFile(file, path.join(directory, path.basename(file)));
  return directory;
}
