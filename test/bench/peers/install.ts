/**
 * What the peers need, none of which is a dependency of Darkroom: packages of npm, pinned by `packages/`, and a Redis
 * or Valkey. Both are kept in the user's cache.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageFile } from '../../../src/config/package-root.ts';

const run = promisify(execFile);

const PACKAGES = 'test/bench/peers/packages';
const SCRIPTS = ['host.mjs', 'darkroom.mjs', 'dbos.mjs', 'restate.mjs', 'bullmq.mjs'];
/** What Debian's server needs that a machine may not have; `redis-server` itself has only a link into `redis-tools`. */
const DEBIAN_PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'];
const SERVERS = ['redis-server', 'valkey-server'];

/** @returns the directory with the packages and, beside them, the scripts of the peers. */
export async function installPeers(report: (line: string) => void): Promise<string> {
  const lock = await readFile(packageFile(`${PACKAGES}/package-lock.json`));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  const directory = await obtain(`peers-${version}`, async (target) => {
    report('Installing the packages of the peers.');
    for (const name of ['package.json', 'package-lock.json']) {
      await copyFile(packageFile(`${PACKAGES}/${name}`), path.join(target, name));
    }
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: target });
  });
  for (const name of SCRIPTS) await copyFile(packageFile(`test/bench/peers/${name}`), path.join(directory, name));
  return directory;
}

export interface RedisProgram {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly version: string;
}

/** One of the PATH, or Debian's, unpacked in the cache. @throws {Error} there is none. */
export async function obtainRedis(report: (line: string) => void): Promise<RedisProgram> {
  for (const command of SERVERS) {
    const version = await versionOf(command, {}).catch(() => undefined);
    if (version !== undefined) return { command, environment: {}, version };
  }
  const directory = await obtain('redis-debian', async (target) => {
    report("Unpacking Debian's Redis.");
    try {
      await run('apt-get', ['download', ...DEBIAN_PACKAGES], { cwd: target });
      const files = (await readdir(target)).filter((name) => name.endsWith('.deb'));
      for (const file of files) await run('dpkg', ['-x', file, '.'], { cwd: target });
    } catch (error) {
      throw new Error('there is no redis-server or valkey-server on the PATH, and Debian has none here: install one', {
        cause: error,
      });
    }
  });
  const [libraries = ''] = await readdir(path.join(directory, 'usr/lib'));
  const environment = { LD_LIBRARY_PATH: path.join(directory, 'usr/lib', libraries) };
  const command = path.join(directory, 'usr/bin/redis-server');
  return { command, environment, version: await versionOf(command, environment) };
}

async function versionOf(command: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await run(command, ['--version'], { env: { ...process.env, ...environment } });
  return /v=\S+/.exec(stdout)?.[0].slice(2) ?? stdout.trim();
}

/** A directory of the cache, which appears only when it is complete. */
async function obtain(name: string, fill: (target: string) => Promise<void>): Promise<string> {
  const { XDG_CACHE_HOME: base } = process.env;
  const cache = path.join(base !== undefined && path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache'));
  const directory = path.join(cache, 'darkroom', name);
  if (await exists(directory)) return directory;
  await mkdir(path.dirname(directory), { recursive: true });
  const partial = await mkdtemp(`${directory}.partial-`);
  try {
    await fill(partial);
    await rename(partial, directory).catch(async (error: unknown) => {
      // Another run was faster.
      if (!(await exists(directory))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return directory;
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
