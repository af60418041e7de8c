/**
 * The whole world of a campaign, all of it real: two api processes, two workers, PostgreSQL and Temporal on files, an
 * S3 server if one is available, the provider, the receivers, and a proxy on every connection between them.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AccountLimits } from '../../../src/accounts/accounts.ts';
import { packageFile, packageModule } from '../../../src/config/package-root.ts';
import { killGroup } from '../../../src/standalone/processes.ts';
import { clusterUrl, createCluster } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { reservePort } from '../../support/reserve-port.ts';
import { readInstallationId } from '../../../src/database/migrate.ts';
import { ensureSchedules } from '../../../src/temporal/schedules.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { createTestNamespace } from '../../support/test-namespace.ts';
import type { TestNamespace } from '../../support/test-namespace.ts';
import { whyNoS3Server } from '../../support/versitygw.ts';
import { LINKS } from '../schedule.ts';
import type { LinkName, PartName } from '../schedule.ts';
import { createWorldAccount } from './accounts.ts';
import type { WorldAccount } from './accounts.ts';
import { writeModels } from './models.ts';
import { startNeighbour } from './neighbour.ts';
import type { Neighbour } from './neighbour.ts';
import type { OwnEnd, Part } from './part.ts';
import { S3_BUCKET, filesOfStore, postgresPart, provideS3, rolePart, scriptPart, temporalPart } from './parts.ts';
import { copyProgram } from './program-copy.ts';
import type { Patch } from './program-copy.ts';
import { openLink } from './proxy.ts';
import type { Link } from './proxy.ts';

export interface World {
  readonly directory: string;
  /** Where clients reach the two api processes. */
  readonly apiUrls: readonly string[];
  readonly receiverUrl: string;
  readonly forbiddenUrl: string;
  readonly files: {
    readonly provider: string;
    readonly receivers: string;
    readonly clients: string;
    readonly connections: string;
    readonly scratch: string;
  };
  /** Why the store is a directory and not an S3 server; undefined if it is an S3 server. */
  readonly whyNoS3: string | undefined;
  /** `127.0.0.1:port` of everything that a process of ours may connect to. */
  readonly allowedAddresses: readonly string[];
  readonly callbackOffsetsSeconds: readonly number[];
  readonly testDatabase: TestDatabase;
  readonly installationId: string;
  readonly namespace: TestNamespace;
  readonly cluster: Cluster;
  part(name: PartName | 'receivers'): Part;
  /** The proxies of a link: one for each process that uses it. */
  links(name: LinkName): readonly Link[];
  setClock(role: 'api' | 'worker', offsetMs: number): Promise<void>;
  /** @param limits that differ from those that a campaign never reaches. */
  createAccount(name: string, microUsd: bigint, limits?: Partial<AccountLimits>): Promise<WorldAccount>;
  /** Starts a second installation in the namespace; the caller must stop it. */
  startNeighbour(): Promise<Neighbour>;
  /** The keys of all objects in the store, according to the store's own files. */
  storedObjects(): Promise<readonly string[]>;
  /** Makes everything in the store and the scratch directory older by this much. */
  ageFiles(byMs: number): Promise<void>;
  ownEnds(): readonly OwnEnd[];
  close(): Promise<void>;
}

const ROLES = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const;
/** Longer than any provider here takes for a response. */
const UPSTREAM_GRACE_SECONDS = 35;
const CALLBACK_OFFSETS_SECONDS = [0, 1, 2, 4, 8];

export interface WorldOptions {
  /** Without them all processes connect directly, and no link can be made faulty. */
  readonly hasProxies?: boolean;
  /** Additional environment of api and workers. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Modules to load into them before anything else, in addition to the campaign's own. */
  readonly preloads?: readonly string[];
}

/** @param report is called with what takes long. The caller must call `close`. */
export async function openWorld(
  patches: readonly Patch[],
  report: (line: string) => void,
  { hasProxies = true, environment: more = {}, preloads = [] }: WorldOptions = {},
): Promise<World> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-chaos-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const at = (name: string): string => path.join(directory, name);
  const program = await copyProgram(at('program'), patches);
  const parts = new Map<string, Part>();
  const links = new Map<LinkName, Link[]>(LINKS.map((name) => [name, []]));
  const add = (part: Part): Part => {
    parts.set(part.name, part);
    return part;
  };
  const endAll = (): void => {
    for (const { pid } of parts.values()) if (pid !== undefined) killGroup(pid);
  };
  // However the campaign ends, no process of it stays.
  process.once('exit', endAll);

  const port = { postgres: await reservePort(), temporal: await reservePort(), provider: await reservePort() };
  const receiversPort = await reservePort();
  const forbiddenPort = await reservePort();
  const cluster: Cluster = {
    directory: at('postgres'),
    port: port.postgres,
    password: 'only-for-tests',
    isDurable: true,
  };
  await createCluster(cluster.directory, cluster.password);
  const openNamed = async (name: LinkName, target: number): Promise<Link> => {
    const link = hasProxies ? await openLink(target, await reservePort()) : straightTo(target);
    links.get(name)?.push(link);
    return link;
  };
  const urlOf = (link: Link): string => `http://127.0.0.1:${link.port}`;

  const noS3 = whyNoS3Server();
  const s3 = noS3 === false ? await provideS3(at('s3'), at('s3.log')) : undefined;
  if (s3 !== undefined) add(s3.part);
  const files = {
    provider: at('provider.jsonl'),
    receivers: at('receivers.jsonl'),
    clients: at('clients.jsonl'),
    connections: at('connections'),
    scratch: at('scratch'),
  };
  await mkdir(files.scratch);

  const providerLink = await openNamed('provider', port.provider);
  const textLink = await openNamed('text', port.provider);
  const receiversLink = await openNamed('receivers', receiversPort);
  add(postgresPart(cluster, at('postgres.log')));
  add(temporalPart(await temporalPart.cli(report), port.temporal, at('temporal.sqlite'), at('temporal.log')));
  const providerArgs = ['--ledger', files.provider, '--port', String(port.provider), '--public', urlOf(providerLink)];
  add(scriptPart('provider', packageModule('test/chaos/provider/main.ts'), providerArgs, at('provider.log')));
  const receiverArgs = [
    '--log',
    files.receivers,
    '--port',
    String(receiversPort),
    '--forbidden',
    String(forbiddenPort),
  ];
  add(scriptPart('receivers', packageModule('test/chaos/receivers/main.ts'), receiverArgs, at('receivers.log')));
  report('starting PostgreSQL, Temporal, the store, the provider and the receivers');
  await Promise.all([...parts.values()].map((part) => part.start()));

  const testDatabase = await createTestDatabase(undefined, clusterUrl(cluster, 'postgres'));
  const namespace = await createTestNamespace(`127.0.0.1:${port.temporal}`);
  const installationId = await readInstallationId(testDatabase.database);
  await ensureSchedules(namespace.client, installationId);
  await writeModels(at('models'), { provider: urlOf(providerLink), text: urlOf(textLink) });

  const secrets = { URL_SIGNING_KEY: randomBytes(24).toString('hex'), ENCRYPTION_KEY: randomBytes(24).toString('hex') };
  const apiPorts = [await reservePort(), await reservePort()];
  const clientLinks = [await openNamed('clients', apiPorts[0] ?? 0), await openNamed('clients', apiPorts[1] ?? 0)];
  const allowed = new Set([providerLink.port, textLink.port, receiversLink.port]);
  for (const name of ROLES) {
    const role = name.startsWith('api') ? 'api' : 'worker';
    const postgres = await openNamed(`${role}-postgres`, port.postgres);
    const temporal = await openNamed(`${role}-temporal`, port.temporal);
    const store = s3 === undefined ? undefined : await openNamed(`${role}-s3`, s3.port);
    for (const link of [postgres, temporal, store]) if (link !== undefined) allowed.add(link.port);
    const databaseUrl = new URL(testDatabase.url);
    databaseUrl.port = String(postgres.port);
    // It identifies the process of a transaction to PostgreSQL (trials/freeze.ts).
    databaseUrl.searchParams.set('application_name', name);
    const environment = {
      ...secrets,
      ...(s3 === undefined || store === undefined
        ? { STORE_URL: `file://${at('store')}` }
        : { STORE_URL: `s3://${S3_BUCKET}/objects`, S3_ENDPOINT: urlOf(store), ...s3.credentials }),
      DATABASE_URL: databaseUrl.href,
      TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
      TEMPORAL_NAMESPACE: namespace.name,
      MODELS_DIR: at('models'),
      SCRATCH_DIR: files.scratch,
      UPSTREAM_CHAOS_KEY: 'chaos-key',
      PORT: String(apiPorts[name === 'api-2' ? 1 : 0]),
      PUBLIC_URL: urlOf(clientLinks[0] ?? providerLink),
      EGRESS_ALLOW: `${urlOf(providerLink)},${urlOf(receiversLink)}`,
      CALLBACK_OFFSETS_SECONDS: CALLBACK_OFFSETS_SECONDS.join(','),
      SHUTDOWN_GRACE_SECONDS: '5',
      UPSTREAM_GRACE_SECONDS: String(UPSTREAM_GRACE_SECONDS),
      ENGINE_THREADS: '1',
      NODE_OPTIONS: ['test/chaos/world/preload.mjs', ...preloads].map(importOption).join(' '),
      CHAOS_CLOCK_FILE: at(`${role}.clock`),
      CHAOS_CONNECTIONS_FILE: files.connections,
      ...more,
    };
    add(rolePart(name, role, program, environment, at(`${name}.log`)));
  }
  report('starting two api processes and two workers');
  await Promise.all(ROLES.map(async (name) => parts.get(name)?.start()));

  const storeDirectory = s3 === undefined ? at('store') : path.join(at('s3'), S3_BUCKET, 'objects');
  return {
    directory,
    apiUrls: clientLinks.map(urlOf),
    receiverUrl: urlOf(receiversLink),
    forbiddenUrl: `http://127.0.0.1:${forbiddenPort}`,
    files,
    whyNoS3: noS3 === false ? undefined : noS3,
    allowedAddresses: [...allowed].map((allowedPort) => `127.0.0.1:${allowedPort}`),
    callbackOffsetsSeconds: CALLBACK_OFFSETS_SECONDS,
    testDatabase,
    installationId,
    namespace,
    cluster,
    part(name) {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`there is no ${name} in this world`);
      return part;
    },
    links: (name) => links.get(name) ?? [],
    setClock: (role, offsetMs) => writeFile(at(`${role}.clock`), String(offsetMs)),
    createAccount: (name, microUsd, limits) => createWorldAccount(testDatabase.database, name, microUsd, limits),
    startNeighbour: () =>
      startNeighbour({
        directory,
        program,
        cluster,
        namespace,
        temporalAddress: `127.0.0.1:${port.temporal}`,
        modelsDirectory: at('models'),
        providerUrl: urlOf(providerLink),
        add,
      }),
    storedObjects: () => filesOfStore(storeDirectory),
    ageFiles: async (byMs) => {
      const objects = (await filesOfStore(storeDirectory)).map((key) => path.join(storeDirectory, key));
      const scratch = (await readdir(files.scratch)).map((name) => path.join(files.scratch, name));
      await Promise.all([...objects, ...scratch].map((file) => makeOlder(file, byMs)));
    },
    ownEnds: () => [...parts.values()].flatMap(({ ownEnds }) => ownEnds),
    async close() {
      await namespace.close().catch(() => undefined);
      await testDatabase.database.close().catch(() => undefined);
      for (const part of [...parts.values()].toReversed()) await part.kill();
      for (const link of [...links.values()].flat()) await link.close();
      process.removeListener('exit', endAll);
    },
  };
}

/** A file that is gone meanwhile needs no change. */
async function makeOlder(file: string, byMs: number): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  const modifiedAt = new Date(found.mtimeMs - byMs);
  await utimes(file, modifiedAt, modifiedAt).catch(() => undefined);
}

function importOption(file: string): string {
  return `--import ${pathToFileURL(packageFile(file)).href}`;
}

/** A direct connection without a proxy. */
function straightTo(port: number): Link {
  const nothing = { connections: 0, bytes: 0 };
  return { port, set: () => nothing, met: nothing, close: () => Promise.resolve() };
}
