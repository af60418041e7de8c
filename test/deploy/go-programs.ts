/** Programs that tests build from their Go modules once, and store in the user's cache directory. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const BUILD_TIMEOUT_MS = 90 * 60_000;

export interface GoPrograms {
  /** The directory in the cache, e.g. `temporal-server-1.31.2`. */
  readonly directory: string;
  /** With its `v`. */
  readonly version: string;
  /** The package that each program is built from, by the program's name. */
  readonly packages: Readonly<Record<string, string>>;
  /** Where the packages do not all have that version: the directory of a module that requires their modules. */
  readonly module?: string;
  /** Variables that the linker sets, by their names with their packages. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Where tests store what is expensive to obtain. */
export function cacheDirectory(): string {
  const base = process.env['XDG_CACHE_HOME'];
  const cache = base !== undefined && path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache');
  return path.join(cache, 'darkroom');
}

/** Why the programs are not available here; false if they are. */
export function whyNoGoPrograms(programs: GoPrograms): string | false {
  if (isComplete(programs) || spawnSync('go', ['version']).status === 0) return false;
  return `put Go on the PATH, and ${programs.directory} is built from source`;
}

/** The directory that contains them, for a PATH. */
export async function obtainGoPrograms(programs: GoPrograms): Promise<string> {
  const directory = path.join(cacheDirectory(), programs.directory);
  if (isComplete(programs)) return directory;
  await mkdir(directory, { recursive: true });
  const building = await mkdtemp(path.join(directory, 'building-'));
  try {
    process.stderr.write(`Building ${programs.directory} with Go, once; this takes some minutes.\n`);
    await build(programs, building);
    // One by one and each atomically: another run may be doing the same, and both build the same programs.
    for (const [name, source] of Object.entries(programs.packages)) {
      await rename(path.join(building, path.basename(source)), path.join(directory, name));
    }
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}

async function build({ packages, version, module, variables = {} }: GoPrograms, to: string): Promise<void> {
  const set = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  const flags = ['-ldflags', ['-s', '-w', ...set].join(' ')];
  const names = Object.values(packages);
  if (module === undefined) {
    await promisify(execFile)('go', ['install', ...flags, ...names.map((name) => `${name}@${version}`)], {
      env: { ...process.env, GOBIN: to },
      timeout: BUILD_TIMEOUT_MS,
    });
    return;
  }
  const copy = await mkdtemp(path.join(os.tmpdir(), 'go-module-'));
  try {
    // Go adds the versions of all that these modules require.
    await cp(module, copy, { recursive: true });
    await promisify(execFile)('go', ['build', '-mod=mod', '-trimpath', ...flags, '-o', `${to}${path.sep}`, ...names], {
      cwd: copy,
      // Programs for images without a C library too.
      env: { ...process.env, CGO_ENABLED: '0' },
      timeout: BUILD_TIMEOUT_MS,
    });
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function isComplete({ directory, packages }: GoPrograms): boolean {
  return Object.keys(packages).every((name) => existsSync(path.join(cacheDirectory(), directory, name)));
}
