/**
 * PgBouncer for tests: one on the PATH, or that of Debian's package, which is downloaded with apt and unpacked into the
 * user's cache directory, so that nothing is installed.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../deploy/go-programs.ts';

const run = promisify(execFile);

/** With the libraries that few machines have already; Debian 12 and Ubuntu call them so. */
const PACKAGES = ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'];
const DIRECTORIES_OF_SERVERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin'];
const WAYS_OUT = 'put pgbouncer on the PATH, or run on Debian, where apt-get downloads it';

/** Why PgBouncer is not available here; false if it is. */
export function whyNoPgBouncer(): string | false {
  if (findInstalled() !== undefined || existsSync(unpacked())) return false;
  const hasApt = ['apt-get', 'dpkg-deb'].every((name) => spawnSync(name, ['--version']).status === 0);
  return hasApt ? false : WAYS_OUT;
}

/** @returns the program, which any user may run who can reach it. @throws {Error} it cannot be had here. */
export async function obtainPgBouncer(): Promise<string> {
  return findInstalled() ?? (existsSync(unpacked()) ? unpacked() : await download());
}

/** Its major and minor version, as one number: 118 is 1.18. */
export async function versionOf(program: string): Promise<number> {
  const { stdout } = await run(program, ['--version']);
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined || minor === undefined) throw new Error(`${program} does not say its version: ${stdout}`);
  return Number(major) * 100 + Number(minor);
}

function findInstalled(): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(path.delimiter), ...DIRECTORIES_OF_SERVERS];
  return directories.map((directory) => path.join(directory, 'pgbouncer')).find((file) => existsSync(file));
}

function unpacked(): string {
  return path.join(cacheDirectory(), 'pgbouncer', 'run');
}

async function download(): Promise<string> {
  const directory = path.dirname(unpacked());
  await mkdir(cacheDirectory(), { recursive: true });
  const building = await mkdtemp(path.join(cacheDirectory(), 'pgbouncer-building-'));
  try {
    process.stderr.write('Downloading PgBouncer with apt-get, once.\n');
    await run('apt-get', ['download', ...PACKAGES], { cwd: building }).catch((error: unknown) => {
      throw new Error(`apt-get cannot download PgBouncer: ${WAYS_OUT}`, { cause: error });
    });
    const packages = (await readdir(building)).filter((name) => name.endsWith('.deb'));
    for (const name of packages) await run('dpkg-deb', ['--extract', name, '.'], { cwd: building });
    const [libraries = ''] = (await readdir(path.join(building, 'usr/lib'))).filter((name) => name.includes('linux'));
    const script = [
      '#!/bin/sh',
      'here=$(dirname "$0")',
      `LD_LIBRARY_PATH="$here/usr/lib/${libraries}" exec "$here/usr/sbin/pgbouncer" "$@"`,
      '',
    ];
    await writeFile(path.join(building, 'run'), script.join('\n'), { mode: 0o755 });
    await run('chmod', ['-R', 'a+rX', building]);
    // Another run may have been faster: its program is the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(unpacked())) throw error;
    });
    return unpacked();
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
