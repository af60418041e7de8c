/**
 * Simulates a machine for processes of ours, as far as its disk goes: a directory with an installation, a home and a
 * directory for temporary files of its own. If Linux allows it, its processes have a mount namespace in which nothing
 * else can be written or shared: the directories for temporary files, which contain other machines and the object
 * store, and the package that tests run from are empty, the rest of the disk is read-only, and so is the
 * installation. The network and the clock are shared.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { Role } from '../support/darkroom.ts';
import { copyPackage } from './package-copy.ts';

/** Starts in the directory that is the first argument; the others are a command. */
const INSIDE = 'cd "$1"; shift; exec "$@"';

/**
 * The same in a mount namespace of its own: the directory first, then those that are emptied, `--`, and the command.
 * The directory may be inside one of them: it is held open while they are covered. Each command replaces itself by
 * the next, so that the process keeps its id.
 */
const APART = `set -e
own=$1; shift
exec 9<"$own"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs none "$1"; fi
  shift
done
shift
mkdir -p "$own"
mount --no-canonicalize --bind /proc/self/fd/9 "$own"
exec 9<&-
mount --bind "$own/app" "$own/app"
mount -o remount,bind,ro "$own/app"
mount -o remount,bind,ro /
cd "$own"
exec "$@"`;

const EMPTIED = [...new Set([os.tmpdir(), '/tmp', '/var/tmp', '/dev/shm', PACKAGE_ROOT])];

function apart(directory: string): readonly string[] {
  return ['unshare', '--mount', 'sh', '-c', APART, 'sh', directory, ...EMPTIED, '--'];
}

/**
 * Why machines can only have directories of their own here, for a test's message; false if they have disks of their
 * own.
 */
export function whyNotApart(): string | false {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'darkroom-apart-'));
  try {
    mkdirSync(path.join(directory, 'app'));
    const [command = '', ...args] = apart(directory);
    const tried = spawnSync(command, [...args, process.execPath, '--version'], { encoding: 'utf8' });
    if (tried.status === 0) return false;
    return `no mount namespaces here: ${(tried.stderr ?? '').trim() || (tried.error?.message ?? 'unshare failed')}`;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export class Machine {
  /** Contains everything of the machine. */
  readonly directory: string;
  readonly scratchDirectory: string;
  readonly temporaryDirectory: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #program: readonly string[];

  private constructor(directory: string, environment: NodeJS.ProcessEnv, program: readonly string[]) {
    this.directory = directory;
    this.scratchDirectory = path.join(directory, 'scratch');
    this.temporaryDirectory = path.join(directory, 'tmp');
    this.#environment = { ...environment, ...this.#ownDirectories() };
    this.#program = program;
  }

  /**
   * Installs the program.
   *
   * @param directory is created, below the directory for temporary files.
   * @param isApart whether it has a disk of its own (`whyNotApart`).
   */
  static async setUp(directory: string, environment: NodeJS.ProcessEnv, isApart: boolean): Promise<Machine> {
    await mkdir(directory);
    for (const name of ['home', 'tmp', 'scratch']) await mkdir(path.join(directory, name));
    const file = await copyPackage(path.join(directory, 'app'));
    const inside = isApart ? apart(directory) : ['sh', '-c', INSIDE, 'sh', directory];
    return new Machine(directory, environment, [...inside, process.execPath, file]);
  }

  /** A role that runs on this machine. */
  role(role: 'api' | 'worker', environment: Readonly<Record<string, string>> = {}): Role {
    const logFile = path.join(this.directory, 'log');
    return new Role(role, { ...this.#environment, ...environment }, logFile, this.#program);
  }

  /** Runs a subcommand of the program on this machine until it ends. @returns its output. */
  async run(...args: readonly string[]): Promise<string> {
    const [command = '', ...rest] = this.#program;
    return (await promisify(execFile)(command, [...rest, ...args], { env: this.#environment })).stdout;
  }

  #ownDirectories(): Readonly<Record<string, string>> {
    return {
      HOME: path.join(this.directory, 'home'),
      TMPDIR: this.temporaryDirectory,
      SCRATCH_DIR: this.scratchDirectory,
    };
  }
}
