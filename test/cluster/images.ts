/**
 * The images of the cluster, made here and imported into the node under the names that the chart and the manifests
 * use: ours, those of docker-compose.yml (test/containers/base-images.ts), and those that only a cluster has.
 */
import { cp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { composeImage } from '../deploy/compose-file.ts';
import { makeBaseImages, makeImage } from '../containers/base-images.ts';
import type { ImageRecipe } from '../containers/base-images.ts';
import type { Engine } from '../containers/engine.ts';
import { say, seconds } from '../containers/run.ts';
import { IMAGE, buildImage } from '../containers/stack.ts';
import { obtainExecutable } from '../support/versitygw.ts';
import { PAUSE_IMAGE } from './node-files.ts';
import type { Node } from './node.ts';

/** Of deploy/helm/examples/backing.yaml. */
const S3_IMAGE = 'versity/versitygw';
const DNS_IMAGE = 'darkroom.invalid/coredns';

/** By the name in the node, with its tag, that of the engine. */
export type ClusterImages = ReadonlyMap<string, string>;

/**
 * Makes them.
 *
 * @param programs the directory of the programs of Kubernetes. @param ours the names of our image, with their tags.
 */
export async function makeClusterImages(
  engine: Engine,
  programs: string,
  ours: readonly string[],
): Promise<ClusterImages> {
  const services = {
    POSTGRES_IMAGE: 'postgres',
    TEMPORAL_ADMIN_TOOLS_IMAGE: 'temporal-schema',
    TEMPORAL_SERVER_IMAGE: 'temporal',
    CADDY_IMAGE: 'proxy',
  } as const;
  const images = await makeBaseImages(engine, ['NODE_IMAGE', ...Object.keys(services)]);
  await buildImage(engine, images);
  const base = images['RUNTIME_IMAGE'] ?? '';
  const named = new Map<string, string>();
  for (const [variable, service] of Object.entries(services)) {
    named.set(composeImage(service).join(':'), images[variable] ?? '');
  }
  named.set(`${S3_IMAGE}:v1.8.0`, await makeImage(engine, base, s3Image()));
  named.set(`${DNS_IMAGE}:1`, await makeImage(engine, base, programImage(DNS_IMAGE, programs, 'coredns')));
  const [pause = ''] = PAUSE_IMAGE.split(':');
  named.set(PAUSE_IMAGE, await makeImage(engine, base, programImage(pause, programs, 'pause')));
  for (const name of ours) named.set(name, IMAGE);
  return named;
}

export async function importImages(engine: Engine, node: Node, images: ClusterImages): Promise<void> {
  const begun = Date.now();
  const archive = path.join(node.files.directory, 'images/archive.tar');
  await engine.docker(['save', '--output', archive, ...new Set(images.values())]);
  await node.importImages(archive);
  await rm(archive);
  for (const [name, made] of images) {
    if (name === made) continue;
    await node.inside('ctr', ['--namespace', 'k8s.io', 'images', 'tag', fullName(made), fullName(name)]);
  }
  say(`Imported ${images.size} images in ${seconds(Date.now() - begun)}.`);
}

/** With the registry that a short name implies. */
function fullName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return first.includes('.') ? name : `docker.io/${name}`;
}

/** Its entry point passes arguments to the program, like that of the real one. */
function s3Image(): ImageRecipe {
  return {
    name: `${S3_IMAGE}:v1.8.0`,
    dockerfile: `FROM {{base}}
COPY versitygw /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/versitygw"]
`,
    prepare: async (directory) => cp(await obtainExecutable(), path.join(directory, 'versitygw')),
  };
}

/** An image with nothing but one program. */
function programImage(name: string, programs: string, program: string): ImageRecipe {
  return {
    name: `${name}:1`,
    dockerfile: `FROM scratch
COPY ${program} /
ENTRYPOINT ["/${program}"]
`,
    async prepare(directory) {
      await cp(path.join(programs, program), path.join(directory, program));
      await writeFile(path.join(directory, '.dockerignore'), 'Dockerfile\n');
    },
  };
}
