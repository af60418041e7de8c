/**
 * The checked configuration: what every process is given instead of the environment. Grouped by the room that uses it.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import { EnvironmentReader } from './environment.ts';

export interface DatabaseConfig {
  readonly url: string;
  readonly poolSize: number;
}

export interface TemporalConfig {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey: string | undefined;
  /** Absent: no TLS. All PEM. */
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
}

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash; undefined: the address that the listener gets. */
  readonly publicUrl: string | undefined;
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | undefined;
  /** Empty: nobody's forwarding headers are believed. */
  readonly trustedProxies: BlockList;
  readonly requiresHttps: boolean;
}

export interface StoreConfig {
  readonly storeUrl: string;
  readonly s3: {
    readonly endpoint: string | undefined;
    readonly region: string;
    readonly accessKeyId: string | undefined;
    readonly secretAccessKey: string | undefined;
  };
}

export interface Config {
  readonly database: DatabaseConfig;
  readonly temporal: TemporalConfig;
  readonly http: HttpConfig;
  readonly store: StoreConfig;
  readonly urls: { readonly signingKey: string; readonly lifetimeSeconds: number };
  readonly encryptionKey: string;
  readonly outputRetentionDays: number;
  readonly modelsDir: string | undefined;
  readonly callbacks: { readonly offsetsSeconds: readonly number[]; readonly headerPrefix: string };
  readonly egress: { readonly allow: readonly string[]; readonly ports: readonly number[] };
  readonly worker: { readonly queues: readonly QueueName[]; readonly engineThreads: number };
  readonly upstreamSecrets: Readonly<Record<string, string>>;
  readonly shutdownGraceMs: number;
  /** Whether `npm start` runs this process: messages then name its commands. */
  readonly isEmbedded: boolean;
}

/** The log's settings are read first and alone, so that a broken configuration can be logged. */
export function loadLogConfig(environment: NodeJS.ProcessEnv): { level: string; format: 'json' | 'pretty' } {
  const read = new EnvironmentReader(environment);
  const level = read.text('LOG_LEVEL');
  const format = read.text('LOG_FORMAT');
  read.throwIfBroken();
  return { level, format: format === 'pretty' ? 'pretty' : 'json' };
}

/**
 * Reads the configuration of a process.
 *
 * @throws {ConfigurationError} with one line for each problem.
 */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const read = new EnvironmentReader(environment);
  const config: Config = {
    database: { url: read.text('DATABASE_URL'), poolSize: read.integer('DATABASE_POOL_SIZE') },
    temporal: readTemporal(read),
    http: readHttp(read),
    store: {
      storeUrl: read.text('STORE_URL'),
      s3: {
        endpoint: read.text('S3_ENDPOINT') || undefined,
        region: read.text('S3_REGION'),
        accessKeyId: read.text('S3_ACCESS_KEY_ID') || undefined,
        secretAccessKey: read.text('S3_SECRET_ACCESS_KEY') || undefined,
      },
    },
    urls: {
      signingKey: readLongSecret(read, 'URL_SIGNING_KEY'),
      lifetimeSeconds: read.integer('URL_LIFETIME_SECONDS'),
    },
    encryptionKey: readLongSecret(read, 'ENCRYPTION_KEY'),
    outputRetentionDays: read.integer('OUTPUT_RETENTION_DAYS'),
    modelsDir: read.text('MODELS_DIR') || undefined,
    callbacks: { offsetsSeconds: readOffsets(read), headerPrefix: readHeaderPrefix(read) },
    egress: { allow: read.list('EGRESS_ALLOW'), ports: read.integers('EGRESS_PORTS') },
    worker: { queues: readQueues(read), engineThreads: read.integer('ENGINE_THREADS') },
    upstreamSecrets: read.upstreamSecrets(),
    shutdownGraceMs: read.integer('SHUTDOWN_GRACE_SECONDS') * 1000,
    isEmbedded: read.boolean('DARKROOM_EMBEDDED'),
  };
  read.throwIfBroken();
  return config;
}

/** Only what `migrate` and `admin` need of the configuration beside the database. */
export function loadDatabaseConfig(environment: NodeJS.ProcessEnv): DatabaseConfig {
  const read = new EnvironmentReader(environment);
  const database = { url: read.text('DATABASE_URL'), poolSize: read.integer('DATABASE_POOL_SIZE') };
  read.throwIfBroken();
  return database;
}

/** Only what `migrate` needs beside the database. */
export function loadTemporalConfig(environment: NodeJS.ProcessEnv): TemporalConfig {
  const read = new EnvironmentReader(environment);
  const temporal = readTemporal(read);
  read.throwIfBroken();
  return temporal;
}

/** Only the key that encrypts webhook secrets. */
export function loadEncryptionKey(environment: NodeJS.ProcessEnv): string {
  const read = new EnvironmentReader(environment);
  const key = readLongSecret(read, 'ENCRYPTION_KEY');
  read.throwIfBroken();
  return key;
}

function readLongSecret(read: EnvironmentReader, name: 'URL_SIGNING_KEY' | 'ENCRYPTION_KEY'): string {
  const secret = read.text(name);
  if (secret !== '' && secret.length < 32) read.report(`${name} has ${secret.length} characters; it needs at least 32`);
  return secret;
}

function readTemporal(read: EnvironmentReader): TemporalConfig {
  const files = {
    ca: read.text('TEMPORAL_TLS_CA_FILE'),
    certificate: read.text('TEMPORAL_TLS_CERT_FILE'),
    key: read.text('TEMPORAL_TLS_KEY_FILE'),
  };
  if ((files.certificate === '') !== (files.key === '')) {
    read.report('TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE go together');
  }
  const apiKey = read.text('TEMPORAL_API_KEY') || undefined;
  const usesTls = read.boolean('TEMPORAL_TLS') || apiKey !== undefined || files.ca !== '' || files.certificate !== '';
  const pem = (name: string, file: string): Buffer | undefined => {
    if (file === '') return undefined;
    try {
      return readFileSync(file);
    } catch {
      read.report(`${name}: the file cannot be read`);
      return undefined;
    }
  };
  const ca = pem('TEMPORAL_TLS_CA_FILE', files.ca);
  const certificate = pem('TEMPORAL_TLS_CERT_FILE', files.certificate);
  const key = pem('TEMPORAL_TLS_KEY_FILE', files.key);
  return {
    address: read.text('TEMPORAL_ADDRESS'),
    namespace: read.text('TEMPORAL_NAMESPACE'),
    apiKey,
    tls: usesTls
      ? {
          ...(ca === undefined ? {} : { ca }),
          ...(certificate === undefined ? {} : { certificate }),
          ...(key === undefined ? {} : { key }),
        }
      : undefined,
  };
}

function readHttp(read: EnvironmentReader): HttpConfig {
  const host = read.text('HOST');
  const certificateFile = read.text('TLS_CERT_FILE');
  const keyFile = read.text('TLS_KEY_FILE');
  const hasTls = certificateFile !== '' && keyFile !== '';
  if ((certificateFile === '') !== (keyFile === '')) read.report('TLS_CERT_FILE and TLS_KEY_FILE go together');
  const proxies = read.list('TRUSTED_PROXIES');
  const isLoopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (!isLoopback && !hasTls && proxies.length === 0) {
    read.report(
      `HOST is ${host}, which is not loopback: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES (spec §1.8: only HTTPS)`,
    );
  }
  const publicUrl = readPublicUrl(read);
  const port = read.integer('PORT');
  if (port === 0 && publicUrl === undefined) read.report('PORT is 0, any free one: set PUBLIC_URL too');
  if (!isLoopback && publicUrl === undefined) read.report(`PUBLIC_URL is required when HOST is not loopback`);
  return {
    host,
    port,
    publicUrl,
    tls: hasTls ? { certificateFile, keyFile } : undefined,
    trustedProxies: readProxies(read, proxies),
    requiresHttps: !isLoopback && !hasTls,
  };
}

function readPublicUrl(read: EnvironmentReader): string | undefined {
  const text = read.text('PUBLIC_URL');
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '') {
    read.report(`PUBLIC_URL: "${text}" is not an http(s) address without a path`);
    return undefined;
  }
  return url.origin;
}

function readProxies(read: EnvironmentReader, entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const version = isIP(address);
    const family = version === 6 ? 'ipv6' : 'ipv4';
    const bits = prefix === undefined ? (version === 6 ? 128 : 32) : Number(prefix);
    if (version === 0 || bits > (version === 6 ? 128 : 32)) {
      read.report(`TRUSTED_PROXIES: "${entry}" is not an address or CIDR`);
      continue;
    }
    list.addSubnet(address, bits, family);
  }
  return list;
}

function readOffsets(read: EnvironmentReader): number[] {
  const offsets = read.integers('CALLBACK_OFFSETS_SECONDS');
  if (offsets.length === 0 || offsets[0] !== 0 || offsets.some((at, place) => at < (offsets[place - 1] ?? 0))) {
    read.report('CALLBACK_OFFSETS_SECONDS: starts with 0 and never goes down, e.g. 0,60,300,1200');
  }
  return offsets;
}

function readHeaderPrefix(read: EnvironmentReader): string {
  const prefix = read.text('CALLBACK_HEADER_PREFIX');
  if (!/^[A-Za-z][A-Za-z0-9-]{0,40}$/.test(prefix)) {
    read.report(`CALLBACK_HEADER_PREFIX: "${prefix}" is not the beginning of a header name`);
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
