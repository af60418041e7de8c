/**
 * Programs from PyPI that wide tests run: each installed once, into an environment of its own in the user's cache
 * directory; only the wide tests depend on them.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../deploy/go-programs.ts';

const LEAST_PYTHON = [3, 10] as const;
const INSTALL_TIMEOUT_MS = 10 * 60_000;
/** The names of newer versions where the plain name is an older one. */
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];

/** A package of PyPI, in the version that the tests were written for. */
export interface PythonPackage {
  readonly name: string;
  readonly version: string;
  /** Versions that it was used with at its time, if it does not work with current ones: `pydantic==2.11.10`. */
  readonly constraints?: readonly string[];
}

/** Why a package is not available here, for the `skip` of a test; false if it is. */
export function whyNoPackage(wanted: PythonPackage): string | false {
  if (existsSync(pythonOf(cachedDirectory(wanted))) || findPython() !== undefined) return false;
  const { name, version } = wanted;
  return `no ${name}: put Python ${LEAST_PYTHON.join('.')} or newer on the PATH, and version ${version} is installed from PyPI`;
}

/** @returns the Python that has it, in the environment's own `bin`. */
export async function obtainPackage(wanted: PythonPackage): Promise<string> {
  const { name, version, constraints = [] } = wanted;
  const directory = cachedDirectory(wanted);
  const python = pythonOf(directory);
  if (existsSync(python)) return python;
  await mkdir(path.dirname(directory), { recursive: true });
  const building = await mkdtemp(`${directory}-building-`);
  try {
    process.stderr.write(`Installing ${name} ${version} from PyPI, once; this takes a minute or so.\n`);
    const run = promisify(execFile);
    await run(findPython() ?? 'python3', ['-m', 'venv', building], { timeout: INSTALL_TIMEOUT_MS });
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    const packages = [`${name}==${version}`, ...constraints];
    await run(pythonOf(building), [...install, ...packages], { timeout: INSTALL_TIMEOUT_MS });
    // Atomically: another run may be doing the same. `python -m` works wherever the environment is moved.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(python)) throw error;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return python;
}

function cachedDirectory({ name, version }: PythonPackage): string {
  return path.join(cacheDirectory(), `${name}-${version}`);
}

function pythonOf(environment: string): string {
  return path.join(environment, 'bin', 'python');
}

function findPython(): string | undefined {
  const check = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${LEAST_PYTHON.join(', ')}))`;
  return PYTHONS.find((python) => spawnSync(python, ['-c', check]).status === 0);
}
