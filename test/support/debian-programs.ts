/**
 * Programs that are neither in npm packages nor quick to build: one on the PATH, or that of Debian's package, which is
 * downloaded with apt and unpacked into the user's cache directory, so that nothing is installed.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../deploy/go-programs.ts';

const run = promisify(execFile);

export interface DebianProgram {
  /** Of its executable. */
  readonly name: string;
  /** Its package first, then those with the libraries that few machines have already. */
  readonly packages: readonly string[];
  /** The executable in the packages. */
  readonly file: string;
}

const DIRECTORIES_OF_SERVERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin'];

/** Why it is not available here; false if it is. */
export function whyNoDebianProgram(program: DebianProgram): string | false {
  if (findInstalled(program) !== undefined || existsSync(unpacked(program))) return false;
  const hasApt = ['apt-get', 'dpkg-deb'].every((name) => spawnSync(name, ['--version']).status === 0);
  return hasApt ? false : waysOut(program);
}

/** @returns the program, which any user may run who can reach it. @throws {Error} it cannot be had here. */
export async function obtainDebianProgram(program: DebianProgram): Promise<string> {
  return findInstalled(program) ?? (existsSync(unpacked(program)) ? unpacked(program) : await download(program));
}

function waysOut({ name }: DebianProgram): string {
  return `put ${name} on the PATH, or run on Debian, where apt-get downloads it`;
}

function findInstalled({ name }: DebianProgram): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(path.delimiter), ...DIRECTORIES_OF_SERVERS];
  return directories.map((directory) => path.join(directory, name)).find((file) => existsSync(file));
}

function unpacked({ name }: DebianProgram): string {
  return path.join(cacheDirectory(), name, 'run');
}

async function download(program: DebianProgram): Promise<string> {
  const { name, packages, file } = program;
  const directory = path.dirname(unpacked(program));
  await mkdir(cacheDirectory(), { recursive: true });
  const building = await mkdtemp(path.join(cacheDirectory(), `${name}-building-`));
  try {
    process.stderr.write(`Downloading ${name} with apt-get, once.\n`);
    await run('apt-get', ['download', ...packages], { cwd: building }).catch((error: unknown) => {
      throw new Error(`apt-get cannot download ${name}: ${waysOut(program)}`, { cause: error });
    });
    const downloaded = (await readdir(building)).filter((each) => each.endsWith('.deb'));
    for (const each of downloaded) await run('dpkg-deb', ['--extract', each, '.'], { cwd: building });
    const inLibraries = await readdir(path.join(building, 'usr/lib')).catch(() => []);
    const [libraries = ''] = inLibraries.filter((each) => each.includes('linux'));
    const script = [
      '#!/bin/sh',
      'here=$(dirname "$0")',
      `LD_LIBRARY_PATH="$here/usr/lib/${libraries}" exec "$here/${file}" "$@"`,
      '',
    ];
    await writeFile(path.join(building, 'run'), script.join('\n'), { mode: 0o755 });
    await run('chmod', ['-R', 'a+rX', building]);
    // Another run may have been faster: its program is the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(unpacked(program))) throw error;
    });
    return unpacked(program);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
