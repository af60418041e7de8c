/**
 * The last release from the history of this repository: its container files, and its image, which is built once. It is
 * the commit that left its fixture behind (test/fixtures/releases).
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { LAST_RELEASE } from '../support/release-fixture.ts';
import type { Engine } from './engine.ts';
import { run, say, works } from './run.ts';
import type { ContainerFiles } from './stack.ts';

/** Its base images are variables; its own image is that of the release, whatever `.env` says. */
const OWN_IMAGE = /\$\{DARKROOM_IMAGE:-darkroom\}/g;

export interface LastRelease {
  readonly version: string;
  readonly files: ContainerFiles;
  /** Removes its files; its image stays for the next run. */
  remove(): Promise<void>;
}

/** @param images the base images. @throws {Error} this is a clone without the history. */
export async function obtainLastRelease(
  engine: Engine,
  images: Readonly<Record<string, string>>,
): Promise<LastRelease> {
  const git = (...args: readonly string[]): Promise<string> => run('git', args, { directory: PACKAGE_ROOT });
  if ((await git('rev-parse', '--is-shallow-repository')) === 'true') {
    throw new Error(`the history may lack release ${LAST_RELEASE}: fetch it (git fetch --unshallow)`);
  }
  const commit = await git('log', '-1', '--format=%H', '--', `test/fixtures/releases/${LAST_RELEASE}/fixture.json`);
  const image = `darkroom:test-${commit.slice(0, 8)}`;
  const directory = path.join(os.tmpdir(), `darkroom-${commit.slice(0, 8)}-${process.pid}`);
  await mkdir(directory);
  const archive = path.join(directory, 'release.tar');
  await git('archive', '--output', archive, commit);
  await run('tar', ['--extract', '--file', archive, '--directory', directory]);
  await rm(archive);
  if (!(await works('docker', ['image', 'inspect', image], engine))) {
    say(`Building the image of release ${LAST_RELEASE} …`);
    const bases = ['NODE_IMAGE', 'RUNTIME_IMAGE'].flatMap((name) => ['--build-arg', `${name}=${images[name]}`]);
    await engine.docker(['build', ...bases, '--tag', image, directory]);
  }
  const compose = await readFile(path.join(directory, 'docker-compose.yml'), 'utf8');
  return {
    version: LAST_RELEASE,
    files: { directory, compose: compose.replaceAll(OWN_IMAGE, image) },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
