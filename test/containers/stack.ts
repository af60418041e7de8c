/**
 * docker-compose.yml as a user would start it, in a project of its own on free ports: with secrets in a file of
 * variables, by `docker compose` or by Debian's docker-compose 1.29, which does not support a project name in the
 * file.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parse, parseDocument } from 'yaml';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { reservePort } from '../support/reserve-port.ts';
import { COMPOSE_FILE } from '../deploy/compose-file.ts';
import { linksIn } from '../support/leftovers.ts';
import type { Engine } from './engine.ts';
import { CannotRunError, run, say, seconds, works } from './run.ts';

/** So that an installation on the same engine keeps its volumes. */
export const PROJECT = 'darkroom-test-containers';
export const IMAGE = 'darkroom:test-containers';
/** On loopback of each role's container. */
export const METRICS_PORT = 9464;

const SECRETS = [
  'POSTGRES_PASSWORD',
  'DARKROOM_DB_PASSWORD',
  'TEMPORAL_DB_PASSWORD',
  'URL_SIGNING_KEY',
  'ENCRYPTION_KEY',
];

export interface Stack {
  readonly httpsPort: number;
  readonly temporalUiPort: number;
  /** Runs compose. */
  compose(...args: readonly string[]): Promise<string>;
  /** The id of a service's container. */
  containerOf(service: string): Promise<string>;
  /** Continues with the container files of another release, in the same project with the same variables. */
  replaceFiles(files: ContainerFiles): Promise<void>;
  /** Removes containers, networks and volumes. */
  remove(): Promise<void>;
}

/** Builds our image. @param images the base images, by their variables in docker-compose.yml. */
export async function buildImage(engine: Engine, images: Readonly<Record<string, string>>): Promise<void> {
  const begun = Date.now();
  say('Building our image …');
  const bases = ['NODE_IMAGE', 'RUNTIME_IMAGE'].flatMap((name) => ['--build-arg', `${name}=${images[name]}`]);
  await engine.docker(['build', ...bases, '--tag', IMAGE, PACKAGE_ROOT]);
  say(`Built our image in ${seconds(Date.now() - begun)}.`);
}

export async function ownFiles(): Promise<ContainerFiles> {
  return { directory: PACKAGE_ROOT, compose: await readFile(COMPOSE_FILE, 'utf8') };
}

/** The container files of a release. */
export interface ContainerFiles {
  /** Where they are: their paths are relative to it. */
  readonly directory: string;
  /** docker-compose.yml. */
  readonly compose: string;
}

/** Prepares the project without starting it. @param variables the content of `.env` besides secrets and ports. */
export async function prepareStack(engine: Engine, variables: Readonly<Record<string, string>>): Promise<Stack> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-compose-'));
  const [httpsPort, httpPort, temporalUiPort] = [await reservePort(), await reservePort(), await reservePort()];
  const values = {
    ...variables,
    ...Object.fromEntries(SECRETS.map((name) => [name, randomBytes(32).toString('hex')])),
    DARKROOM_IMAGE: IMAGE,
    PUBLISH_HTTPS: `127.0.0.1:${httpsPort}`,
    PUBLISH_HTTP: `127.0.0.1:${httpPort}`,
    PUBLISH_TEMPORAL_UI: `127.0.0.1:${temporalUiPort}`,
    PUBLIC_URL: `https://localhost:${httpsPort}`,
    METRICS_PORT: String(METRICS_PORT),
  };
  const file = path.join(directory, '.env');
  const lines = Object.entries(values).map(([name, value]) => `${name}='${value}'`);
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });

  const [command, ...first] = await findCompose(engine);
  const composeFile = path.join(directory, 'docker-compose.yml');
  let root = PACKAGE_ROOT;
  const compose = (...args: readonly string[]): Promise<string> => {
    const options = ['--project-name', PROJECT, '--project-directory', root, '--env-file', file];
    const { environment } = engine;
    return run(command, [...first, ...options, '--file', composeFile, ...args], { environment });
  };
  const replaceFiles = async (files: ContainerFiles): Promise<void> => {
    root = files.directory;
    const text = files.compose.replace(/^name: .+$/m, '').replace('env_file: [.env]', `env_file: [${file}]`);
    await writeFile(composeFile, withNamedBridges(text, engine.mark));
  };
  await replaceFiles(await ownFiles());
  return {
    httpsPort,
    temporalUiPort,
    compose,
    replaceFiles,
    containerOf: async (service) => (await compose('ps', '--quiet', service)).split('\n')[0] ?? '',
    async remove() {
      await compose('down', '--volumes', '--remove-orphans', '--timeout', '20');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** So that the next run finds them, if this one is killed. */
function withNamedBridges(composeText: string, mark: string): string {
  const file = parseDocument(composeText);
  for (const [name, network] of new Map([['default', null], ...networksOf(composeText)])) {
    // The name of a link has 15 characters at most.
    const options = { 'com.docker.network.bridge.name': `${mark}-${name}`.slice(0, 15) };
    file.setIn(['networks', name], file.createNode({ ...network, driver_opts: options }));
  }
  return String(file);
}

function networksOf(composeText: string): ReadonlyMap<string, ComposeNetwork | null> {
  const { networks = {} } = parse(composeText) as { networks?: Readonly<Record<string, ComposeNetwork | null>> };
  return new Map(Object.entries(networks));
}

interface ComposeNetwork {
  readonly ipam?: { readonly config?: readonly { readonly subnet?: string }[] };
}

/**
 * Two links with the same network take each other's packets, and the stack would never become ready.
 *
 * @throws {CannotRunError} a link has the network of one in docker-compose.yml.
 */
export async function requireFreeNetworks(): Promise<void> {
  for (const network of networksOf((await ownFiles()).compose).values()) {
    for (const { subnet } of network?.ipam?.config ?? []) {
      const [taken] = subnet === undefined ? [] : await linksIn(subnet);
      if (taken === undefined) continue;
      throw new CannotRunError(
        `The network ${subnet} of docker-compose.yml is in use here by the link ${taken}. Stop the installation that ` +
          `has it; if an engine that is gone has left it behind, remove it: ip link delete ${taken}`,
      );
    }
  }
}

/** @returns the command of Compose. @throws {CannotRunError} there is none. */
export async function findCompose(engine: Engine): Promise<readonly [string, ...string[]]> {
  if (await works('docker', ['compose', 'version'], engine)) return ['docker', 'compose'];
  if (await works('docker-compose', ['version'], engine)) return ['docker-compose'];
  throw new CannotRunError(
    'There is neither the compose plug-in of docker nor docker-compose (Debian: docker-compose).',
  );
}
