/**
 * The programs inside the Temporal images of docker-compose.yml, built from the same sources with Go (90 s on 2 cores)
 * and kept in the user's cache folder: for running the topology where there is no container engine.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const BUILD_TIMEOUT_MS = 20 * 60_000;

/** By the name that they have in the images: the package they are built from. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'temporal-server': 'go.temporal.io/server/cmd/server',
  'temporal-sql-tool': 'go.temporal.io/server/cmd/tools/sql',
};

/** Why the programs cannot be had here, for the `skip` of a test; false where they can. */
export function whyNoTemporalPrograms(version: string): string | false {
  if (isComplete(folderOf(version))) return false;
  if (spawnSync('go', ['version']).status === 0) return false;
  return `no Temporal server to test with: put Go on the PATH, and ${version} is built from source`;
}

/** The folder that holds them, for a PATH. */
export async function obtainTemporalPrograms(version: string): Promise<string> {
  const folder = folderOf(version);
  if (isComplete(folder)) return folder;
  await mkdir(folder, { recursive: true });
  const building = await mkdtemp(path.join(folder, 'building-'));
  try {
    process.stderr.write(`Building the Temporal server ${version} with Go, once; this takes some minutes.\n`);
    const packages = Object.values(PROGRAMS).map((name) => `${name}@v${version}`);
    await promisify(execFile)('go', ['install', '-ldflags', '-s -w', ...packages], {
      env: { ...process.env, GOBIN: building },
      timeout: BUILD_TIMEOUT_MS,
    });
    // One by one and each in one step: another run may be doing the same, and both build the same programs.
    for (const [name, source] of Object.entries(PROGRAMS)) {
      await rename(path.join(building, path.basename(source)), path.join(folder, name));
    }
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return folder;
}

function folderOf(version: string): string {
  const base = process.env['XDG_CACHE_HOME'];
  const cache = base !== undefined && path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache');
  return path.join(cache, 'darkroom', `temporal-server-${version}`);
}

function isComplete(folder: string): boolean {
  return Object.keys(PROGRAMS).every((name) => existsSync(path.join(folder, name)));
}
