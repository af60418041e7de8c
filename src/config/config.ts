/**
 * The validated configuration: what every process receives instead of the environment. Grouped by the module that uses
 * it.
 */
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseUsd } from '../domain/money.ts';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import {
  readDatabase,
  readDirectDatabase,
  readStore,
  readTemporal,
  readTemporalUiUrl,
  readTraces,
} from './connections.ts';
import type { DatabaseConfig, StoreConfig, TemporalConfig, TraceConfig } from './connections.ts';
import { EnvironmentReader } from './environment.ts';
import type { UpstreamEnvironment } from './environment.ts';
import { rejectDevelopmentDefaults } from './likely-mistakes.ts';
import { publicUrlOf, readAdmin, readHttp, readMetrics } from './listeners.ts';
import type { AdminConfig, HttpConfig, MetricsConfig } from './listeners.ts';
import { PACKAGE_ROOT } from './package-root.ts';

/** Limits on JSON request bodies (src/http/bodies/body-allowance.ts); a megabyte is 1,000,000 bytes. */
export interface BodyConfig {
  /** Per account. */
  readonly mbPerMinute: number;
  /** The limit for all accounts together, in one process. */
  readonly inFlightMb: number;
}

export interface Config {
  readonly database: DatabaseConfig;
  readonly temporal: TemporalConfig;
  /** The address of Temporal's Web UI; undefined: not available to users of the dashboard. */
  readonly temporalUiUrl: string | undefined;
  readonly http: HttpConfig;
  readonly bodies: BodyConfig;
  /** Undefined: no admin listener. */
  readonly admin: AdminConfig | undefined;
  /** Undefined: metrics are not exposed. */
  readonly metrics: MetricsConfig | undefined;
  readonly store: StoreConfig;
  readonly urls: {
    readonly signingKey: string;
    /** Accepted, but not used for signing: the next key, or the previous one. */
    readonly signingKeyFallbacks: readonly string[];
    readonly lifetimeSeconds: number;
    /** How clients download bytes (contract §3). */
    readonly downloads: 'proxy' | 'direct';
  };
  readonly encryptionKey: string;
  /** Used to decrypt what the key does not, never to encrypt. */
  readonly encryptionKeyFallbacks: readonly string[];
  readonly outputRetentionDays: number;
  /** 0: inputs are retained. */
  readonly inputRetentionDays: number;
  /** 0: tasks are retained. */
  readonly taskRetentionDays: number;
  /** 0: text calls are retained without limit. */
  readonly textCallRetentionDays: number;
  /** The price of persistent storage, in micro-USD per GB (1e9 bytes) and month. */
  readonly storagePriceMicroUsdPerGbMonth: bigint;
  readonly modelsDir: string | undefined;
  readonly callbacks: {
    readonly offsetsSeconds: readonly number[];
    readonly headerPrefix: string;
    /** 0: a receiver always gets the whole schedule, however long it has been failing. */
    readonly oneAttemptAfterDays: number;
  };
  /** Whether upstreams of text models fetch images themselves. */
  readonly textImages: 'pass' | 'inline';
  readonly egress: {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
    readonly ports: readonly number[];
  };
  readonly worker: {
    readonly queues: readonly QueueName[];
    readonly engineThreads: number;
    /** Of this release, for Temporal's worker versioning; undefined: its workers have no version. */
    readonly buildId: string | undefined;
    /** Concurrent polls on each queue. */
    readonly polls: { readonly activities: number; readonly workflows: number };
    readonly scratchDir: string;
    /** How long a stopping worker waits for upstreams to finish. At least `shutdownGraceMs`. */
    readonly upstreamGraceMs: number;
  };
  /** Whether third-party media may be read only with complete isolation. */
  readonly requiresMediaSandbox: boolean;
  readonly upstreams: UpstreamEnvironment;
  /** Whether there is an access log. */
  readonly logsRequests: boolean;
  /** Undefined: no tracing. */
  readonly traces: TraceConfig | undefined;
  /** How long requests are still accepted when the process is stopping. */
  readonly drainMs: number;
  /** How long the event loop may be blocked; 0: no limit. */
  readonly hangMs: number;
  /** How far the clock of the process may deviate from that of the database; 0: no limit. */
  readonly maxClockSkewMs: number;
  readonly shutdownGraceMs: number;
  /** Whether `npm start` runs this process: messages then name its commands. */
  readonly isStandalone: boolean;
  /** How operators run `admin` on this installation, for messages to them. */
  readonly adminCommand: string;
}

/**
 * Reads the configuration of a process.
 *
 * @throws {ConfigurationError} with one line for each problem.
 */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const read = new EnvironmentReader(environment);
  const config: Config = {
    database: readDatabase(read),
    temporal: readTemporal(read),
    temporalUiUrl: readTemporalUiUrl(read),
    http: readHttp(read),
    bodies: { mbPerMinute: read.integer('BODY_MB_PER_MINUTE'), inFlightMb: read.integer('BODY_MB_IN_FLIGHT') },
    admin: readAdmin(read),
    metrics: readMetrics(read),
    store: readStore(read),
    urls: {
      signingKey: read.longSecret('URL_SIGNING_KEY'),
      signingKeyFallbacks: read.longSecrets('URL_SIGNING_KEY_FALLBACKS'),
      lifetimeSeconds: read.integer('URL_LIFETIME_SECONDS'),
      downloads: readDownloads(read),
    },
    encryptionKey: read.longSecret('ENCRYPTION_KEY'),
    encryptionKeyFallbacks: read.longSecrets('ENCRYPTION_KEY_FALLBACKS'),
    outputRetentionDays: read.integer('OUTPUT_RETENTION_DAYS'),
    inputRetentionDays: read.integer('INPUT_RETENTION_DAYS'),
    taskRetentionDays: readRowRetention(read, 'TASK_RETENTION_DAYS', 'tasks'),
    textCallRetentionDays: readRowRetention(read, 'TEXT_CALL_RETENTION_DAYS', 'text calls'),
    storagePriceMicroUsdPerGbMonth: readStoragePrice(read),
    modelsDir: read.text('MODELS_DIR') || undefined,
    callbacks: {
      offsetsSeconds: readOffsets(read),
      headerPrefix: readHeaderPrefix(read),
      oneAttemptAfterDays: read.integer('CALLBACK_DISABLE_AFTER_DAYS'),
    },
    egress: { allow: read.list('EGRESS_ALLOW'), deny: read.list('EGRESS_DENY'), ports: read.integers('EGRESS_PORTS') },
    textImages: read.text('TEXT_IMAGES') === 'inline' ? 'inline' : 'pass',
    worker: {
      queues: readQueues(read),
      engineThreads: read.integer('ENGINE_THREADS'),
      buildId: readBuildId(read),
      polls: { activities: read.integer('ACTIVITY_POLLS'), workflows: read.integer('WORKFLOW_POLLS') },
      scratchDir: read.text('SCRATCH_DIR') || os.tmpdir(),
      upstreamGraceMs: Math.max(read.integer('UPSTREAM_GRACE_SECONDS'), read.integer('SHUTDOWN_GRACE_SECONDS')) * 1000,
    },
    requiresMediaSandbox: read.text('MEDIA_SANDBOX') === 'required',
    upstreams: read.upstreams(),
    logsRequests: read.boolean('LOG_REQUESTS'),
    traces: readTraces(read),
    drainMs: read.integer('DRAIN_SECONDS') * 1000,
    hangMs: read.integer('HANG_SECONDS') * 1000,
    maxClockSkewMs: read.integer('CLOCK_SKEW_SECONDS') * 1000,
    shutdownGraceMs: read.integer('SHUTDOWN_GRACE_SECONDS') * 1000,
    isStandalone: read.boolean('DARKROOM_EMBEDDED'),
    adminCommand: adminCommandOf(environment),
  };
  rejectDevelopmentDefaults(read);
  read.throwIfBroken();
  return config;
}

/** Loads only some settings. @throws {ConfigurationError} with the problems of these. */
function loadOnly<Settings>(
  environment: NodeJS.ProcessEnv,
  readSettings: (read: EnvironmentReader) => Settings,
): Settings {
  const read = new EnvironmentReader(environment);
  const settings = readSettings(read);
  read.throwIfBroken();
  return settings;
}

/** The log's settings are read first and alone, so that a broken configuration can be logged. */
export function loadLogConfig(environment: NodeJS.ProcessEnv): { level: string; format: 'json' | 'pretty' } {
  return loadOnly(environment, (read) => ({
    level: read.text('LOG_LEVEL'),
    format: read.text('LOG_FORMAT') === 'pretty' ? 'pretty' : 'json',
  }));
}

/** What `admin` needs for the object store. */
export function loadStoreConfig(environment: NodeJS.ProcessEnv): StoreConfig {
  return loadOnly(environment, readStore);
}

/** What `admin` needs for the database. */
export function loadDatabaseConfig(environment: NodeJS.ProcessEnv): DatabaseConfig {
  return loadOnly(environment, readDatabase);
}

/** What `migrate` needs for the database: the way to it without a pooler. */
export function loadDirectDatabaseConfig(environment: NodeJS.ProcessEnv): DatabaseConfig {
  return loadOnly(environment, readDirectDatabase);
}

/** What `migrate` needs for Temporal. */
export function loadTemporalConfig(environment: NodeJS.ProcessEnv): TemporalConfig {
  return loadOnly(environment, readTemporal);
}

/** What the environment says about upstreams. */
export function loadUpstreamEnvironment(environment: NodeJS.ProcessEnv): UpstreamEnvironment {
  return loadOnly(environment, (read) => read.upstreams());
}

/** The encryption keys: first the one that encrypts, then those that only decrypt. */
export function loadEncryptionKeys(environment: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  return loadOnly(environment, (read) => [
    read.longSecret('ENCRYPTION_KEY'),
    ...read.longSecrets('ENCRYPTION_KEY_FALLBACKS'),
  ]);
}

/** The keys with which download URLs are accepted apart from the current one, and the minimum lifetime of a URL. */
export function loadUrlRotation(
  environment: NodeJS.ProcessEnv,
): Pick<Config['urls'], 'signingKeyFallbacks' | 'lifetimeSeconds'> {
  return loadOnly(environment, (read) => ({
    signingKeyFallbacks: read.longSecrets('URL_SIGNING_KEY_FALLBACKS'),
    lifetimeSeconds: read.integer('URL_LIFETIME_SECONDS'),
  }));
}

/** The token of the admin listener; empty if there is none. */
export function loadAdminToken(environment: NodeJS.ProcessEnv): string {
  return loadOnly(environment, (read) => read.longSecret('ADMIN_TOKEN'));
}

/** The prefix of all our URLs. */
export function loadPublicUrl(environment: NodeJS.ProcessEnv): string {
  return loadOnly(environment, (read) => publicUrlOf(readHttp(read)));
}

/** The retention of temporary outputs, in days. */
export function loadOutputRetentionDays(environment: NodeJS.ProcessEnv): number {
  return loadOnly(environment, (read) => read.integer('OUTPUT_RETENTION_DAYS'));
}

/** A file store has no endpoint that could serve its files. */
function readDownloads(read: EnvironmentReader): 'proxy' | 'direct' {
  const downloads = read.text('DOWNLOADS') === 'direct' ? 'direct' : 'proxy';
  if (downloads === 'direct' && !read.text('STORE_URL').startsWith('s3:')) {
    read.report('DOWNLOADS: direct needs a STORE_URL of an S3 bucket');
  }
  return downloads;
}

/**
 * As long as stored responses and batches refer to tasks, and longer than a callback is retried with the default
 * schedule or a history is retained.
 */
const MIN_ROW_RETENTION_DAYS = 30;

function readRowRetention(
  read: EnvironmentReader,
  name: 'TASK_RETENTION_DAYS' | 'TEXT_CALL_RETENTION_DAYS',
  rows: string,
): number {
  const days = read.integer(name);
  if (days !== 0 && days < MIN_ROW_RETENTION_DAYS) {
    read.report(
      `${name}: ${days} is too few: set at least ${MIN_ROW_RETENTION_DAYS}, or 0 to retain ${rows} without limit`,
    );
  }
  return days;
}

/** What Temporal accepts as a part of a version's name, and what a tag of an image may be. */
const BUILD_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

function readBuildId(read: EnvironmentReader): string | undefined {
  const buildId = read.text('WORKER_BUILD_ID');
  if (buildId === '') return undefined;
  if (!BUILD_ID.test(buildId)) {
    read.report(
      `WORKER_BUILD_ID: "${buildId}" is not 1 to 63 letters, digits and . _ -, beginning with one of the former`,
    );
  }
  return buildId;
}

function readStoragePrice(read: EnvironmentReader): bigint {
  const text = read.text('STORAGE_USD_PER_GB_MONTH');
  const price = parseUsd(text);
  if (price === undefined) read.report(`STORAGE_USD_PER_GB_MONTH: "${text}" is not a decimal amount such as 0.05`);
  return price ?? 0n;
}

function readOffsets(read: EnvironmentReader): number[] {
  const offsets = read.integers('CALLBACK_OFFSETS_SECONDS');
  if (offsets.length === 0 || offsets[0] !== 0 || offsets.some((at, index) => at < (offsets[index - 1] ?? 0))) {
    read.report('CALLBACK_OFFSETS_SECONDS: must start with 0 and never decrease, e.g. 0,60,300,1200');
  }
  return offsets;
}

/** Also used by `npm start`, which reports errors before it starts anything. */
export function readHeaderPrefix(read: EnvironmentReader): string {
  const prefix = read.text('CALLBACK_HEADER_PREFIX');
  if (!/^[A-Za-z](?:[A-Za-z0-9-]{0,39}[A-Za-z0-9])?$/.test(prefix)) {
    read.report(
      `CALLBACK_HEADER_PREFIX: "${prefix}" is not the beginning of a header name: want letters, digits and hyphens, such as X-Darkroom`,
    );
  } else if (prefix.toLowerCase() === 'webhook') {
    read.report(`CALLBACK_HEADER_PREFIX: "${prefix}" is that of the Standard Webhooks headers, which are sent as well`);
  }
  return prefix;
}

function readQueues(read: EnvironmentReader): QueueName[] {
  const names = read.list('WORKER_QUEUES');
  const known = Object.keys(TASK_QUEUES) as QueueName[];
  const queues: QueueName[] = [];
  for (const name of names) {
    const queue = known.find((candidate) => candidate === name);
    if (queue === undefined) read.report(`WORKER_QUEUES: "${name}" is not one of ${known.join(', ')}`);
    else if (!queues.includes(queue)) queues.push(queue);
  }
  if (names.length === 0) read.report(`WORKER_QUEUES is empty: name at least one of ${known.join(', ')}`);
  return queues;
}

/** The data directory of `npm start` if none is named: the only one that a second terminal finds by itself. */
export const DEFAULT_DATA_DIRECTORY = path.join(PACKAGE_ROOT, 'data');

/**
 * How operators run `admin` where this process runs, so that the commands in messages work when pasted: the prefix of
 * the group and the command, `npm run admin --`. It depends on the deployment: a checkout has npm scripts, a container
 * image has only the program.
 *
 * @param dataDir absolute, of the installation that `npm start` runs; undefined: the installation consists of
 *   services.
 * @param hasScripts whether the package has its npm scripts.
 */
export function adminCommand(
  dataDir: string | undefined,
  hasScripts: boolean = existsSync(path.join(PACKAGE_ROOT, 'scripts')),
): string {
  // As in the runbook, because how a command is run in the container is known only outside it.
  if (!hasScripts) return 'admin';
  const isNamed = dataDir !== undefined && dataDir !== DEFAULT_DATA_DIRECTORY;
  return `npm run admin --${isNamed ? ` --data-dir ${quoted(dataDir)}` : ''}`;
}

/** The same for the installation of an environment. @param environment of one of its processes. */
export function adminCommandOf(environment: NodeJS.ProcessEnv): string {
  const read = new EnvironmentReader(environment);
  return adminCommand(read.boolean('DARKROOM_EMBEDDED') ? read.text('DATA_DIR') || undefined : undefined);
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}
