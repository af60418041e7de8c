/** Programs from Maven Central that wide tests run: each is one JAR, stored in the user's cache directory. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../deploy/go-programs.ts';

const LEAST_JAVA = 11;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/** An artifact that contains all that it needs, in the version that the tests were written for. */
export interface MavenProgram {
  readonly group: string;
  readonly name: string;
  readonly version: string;
}

/** Why Java cannot be compiled here, for the `skip` of a test; false if it can. */
export function whyNoMaven(): string | false {
  // The compiler, which a mere runtime does not have; its version is on either output.
  const { status, stdout, stderr } = spawnSync('javac', ['-version'], { encoding: 'utf8' });
  const version = Number(/javac (\d+)/.exec(`${stdout}${stderr}`)?.[1]);
  const isReady = status === 0 && version >= LEAST_JAVA && spawnSync('mvn', ['-version']).status === 0;
  return isReady ? false : `put a JDK ${LEAST_JAVA} or newer and Maven on the PATH`;
}

/** @returns its JAR. */
export async function obtainJar({ group, name, version }: MavenProgram): Promise<string> {
  const file = `${name}-${version}.jar`;
  const jar = path.join(cacheDirectory(), file);
  if (existsSync(jar)) return jar;
  await mkdir(cacheDirectory(), { recursive: true });
  const loading = await mkdtemp(`${jar}-loading-`);
  try {
    process.stderr.write(`Loading ${name} ${version} with Maven, once; this takes a minute or so.\n`);
    const copy = ['dependency:copy', `-Dartifact=${group}:${name}:${version}`, `-DoutputDirectory=${loading}`];
    // Not in a project: Maven would read its file.
    await promisify(execFile)('mvn', ['-B', '-q', ...copy], { cwd: loading, timeout: DOWNLOAD_TIMEOUT_MS });
    // Atomically: another run may be doing the same.
    await rename(path.join(loading, file), jar);
  } finally {
    await rm(loading, { recursive: true, force: true });
  }
  return jar;
}
