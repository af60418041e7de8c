/** Release 0.1.0 from the history of this repository: its container files, and its image, which is built once. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import type { Engine } from './engine.ts';
import { run, say, works } from './run.ts';
import type { ContainerFiles } from './stack.ts';

/** "Record release 0.1.0". */
const COMMIT = 'fc6e49a8388f3366b06b0786cbb901083056efa2';
const IMAGE = `darkroom:test-${COMMIT.slice(0, 8)}`;

/**
 * What its operators had to change, as later releases did: the api, which starts first, may get the proxy's fixed
 * address, and the engine may give another network of the project the range that contains it. Then it does not start.
 */
const SUBNET = /^ +- subnet: 172\.30\.87\.0\/24$/m;

/** Its files name their images without variables. */
const IMAGES: Readonly<Record<string, RegExp>> = {
  POSTGRES_IMAGE: /\bpostgres:18$/gm,
  TEMPORAL_ADMIN_TOOLS_IMAGE: /\btemporalio\/admin-tools:\S+$/gm,
  TEMPORAL_SERVER_IMAGE: /\btemporalio\/server:\S+$/gm,
  TEMPORAL_UI_IMAGE: /\btemporalio\/ui:\S+$/gm,
  CADDY_IMAGE: /\bcaddy:2$/gm,
};

export interface FormerRelease {
  readonly files: ContainerFiles;
  /** Removes its files; its image stays for the next run. */
  remove(): Promise<void>;
}

/** @param images the base images. @throws {Error} this is a clone without the history. */
export async function obtainFormerRelease(
  engine: Engine,
  images: Readonly<Record<string, string>>,
): Promise<FormerRelease> {
  const git = (...args: readonly string[]): Promise<string> => run('git', args, { directory: PACKAGE_ROOT });
  if (!(await works('git', ['cat-file', '-e', COMMIT], { directory: PACKAGE_ROOT }))) {
    throw new Error(`the history lacks ${COMMIT.slice(0, 8)}, release 0.1.0: fetch it (git fetch --unshallow)`);
  }
  const directory = path.join(os.tmpdir(), `darkroom-${COMMIT.slice(0, 8)}-${process.pid}`);
  await mkdir(directory);
  const archive = path.join(directory, 'release.tar');
  await git('archive', '--output', archive, COMMIT);
  await run('tar', ['--extract', '--file', archive, '--directory', directory]);
  await rm(archive);
  if (!(await works('docker', ['image', 'inspect', IMAGE], engine))) {
    say('Building the image of release 0.1.0 …');
    const dockerfile = path.join(directory, 'Dockerfile');
    const text = await readFile(dockerfile, 'utf8');
    await writeFile(dockerfile, text.replaceAll(/^FROM node:\S+/gm, `FROM ${images['NODE_IMAGE']}`));
    await engine.docker(['build', '--tag', IMAGE, directory]);
  }
  const released = await readFile(path.join(directory, 'docker-compose.yml'), 'utf8');
  const compose = withEdgeNetwork(released);
  return {
    files: { directory, compose: withImages(compose, { ...images, DARKROOM_IMAGE: IMAGE }) },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

function withImages(compose: string, images: Readonly<Record<string, string>>): string {
  const ours = compose.replaceAll(/^( +image: )darkroom$/gm, `$1${images['DARKROOM_IMAGE']}`);
  return Object.entries(IMAGES).reduce((text, [name, pattern]) => text.replaceAll(pattern, images[name] ?? ''), ours);
}

function withEdgeNetwork(compose: string): string {
  return compose.replace(SUBNET, `$&\n          ip_range: 172.30.87.128/25`).replaceAll('172.30.87.', '10.213.86.');
}
