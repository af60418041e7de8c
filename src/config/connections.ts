/**
 * What a process connects to, as its environment says: the database, the object store, Temporal, and a collector of
 * traces.
 */
import { readFileSync } from 'node:fs';
import type { EnvironmentReader } from './environment.ts';

/** A setting with the address of the database. */
export type DatabaseVariable = 'DATABASE_URL' | 'DATABASE_DIRECT_URL';

export interface DatabaseConfig {
  readonly url: string;
  /** The setting that has it, for messages. Default: `DATABASE_URL`. */
  readonly variable?: DatabaseVariable;
  readonly poolSize: number;
  /** Whether a pooler is there that may run each transaction on another connection to PostgreSQL. Default: false. */
  readonly isPooled?: boolean;
  /** Whether statements are prepared under their names. Default: only where there is no pooler. */
  readonly preparesStatements?: boolean;
}

/** Through a pooler, if there is one: for everything that needs no session. */
export function readDatabase(read: EnvironmentReader): DatabaseConfig {
  const isPooled = read.text('DATABASE_POOLER') === 'transaction';
  const statements = read.text('DATABASE_STATEMENTS');
  // Only `migrate` connects to it, but each process reports that it is wrong.
  readDatabaseUrl(read, 'DATABASE_DIRECT_URL');
  return {
    url: readDatabaseUrl(read, 'DATABASE_URL'),
    poolSize: read.integer('DATABASE_POOL_SIZE'),
    isPooled,
    preparesStatements: statements === '' ? !isPooled : statements === 'named',
  };
}

/** The database as `migrate` reaches it, which needs no other address if it has this one. */
export function readDirectDatabase(read: EnvironmentReader): DatabaseConfig {
  const poolSize = read.integer('DATABASE_POOL_SIZE');
  const direct = readDatabaseUrl(read, 'DATABASE_DIRECT_URL');
  if (direct !== '') return { url: direct, poolSize, variable: 'DATABASE_DIRECT_URL' };
  if (read.text('DATABASE_POOLER') === 'transaction') {
    read.report(
      'DATABASE_DIRECT_URL is not set: with DATABASE_POOLER, this command needs the address of PostgreSQL itself, because it uses a session of its own',
    );
  }
  return { url: readDatabaseUrl(read, 'DATABASE_URL'), poolSize };
}

function readDatabaseUrl(read: EnvironmentReader, name: DatabaseVariable): string {
  const url = read.text(name);
  // Any other text would be resolved as a host name.
  if (url !== '' && !/^postgres(?:ql)?:\/\//.test(url)) {
    read.report(`${name}: want postgres://user:password@host/database`);
  }
  return url;
}

export interface StoreConfig {
  readonly storeUrl: string;
  readonly s3: {
    readonly endpoint: string | undefined;
    /** The address for clients; undefined: `endpoint`. */
    readonly publicEndpoint?: string | undefined;
    readonly region: string;
    readonly accessKeyId: string | undefined;
    readonly secretAccessKey: string | undefined;
  };
}

export function readStore(read: EnvironmentReader): StoreConfig {
  return {
    storeUrl: read.text('STORE_URL'),
    s3: {
      endpoint: read.text('S3_ENDPOINT') || undefined,
      publicEndpoint: read.text('S3_PUBLIC_ENDPOINT') || undefined,
      region: read.text('S3_REGION'),
      accessKeyId: read.text('S3_ACCESS_KEY_ID') || undefined,
      secretAccessKey: read.text('S3_SECRET_ACCESS_KEY') || undefined,
    },
  };
}

export interface TemporalConfig {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey: string | undefined;
  /** Absent: no TLS. All are PEM. */
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
}

/** @returns the Web UI's URL without a trailing slash; undefined: not set. */
export function readTemporalUiUrl(read: EnvironmentReader): string | undefined {
  const text = read.text('TEMPORAL_UI_URL');
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    read.report(`TEMPORAL_UI_URL: "${text}" is not an http(s) URL`);
  return text.replace(/\/+$/, '');
}

export function readTemporal(read: EnvironmentReader): TemporalConfig {
  const files = {
    ca: read.text('TEMPORAL_TLS_CA_FILE'),
    certificate: read.text('TEMPORAL_TLS_CERT_FILE'),
    key: read.text('TEMPORAL_TLS_KEY_FILE'),
  };
  if ((files.certificate === '') !== (files.key === '')) {
    read.report('TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE: set both or neither');
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

/**
 * Where traces are sent, and which share of them; set with the names of OpenTelemetry's own variables where they exist.
 */
export interface TraceConfig {
  /**
   * The URL of a collector that accepts OTLP over HTTP, without the path and a trailing slash: `http://127.0.0.1:4318`.
   */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** 0 to 1. One task is recorded by all processes or by none. */
  readonly ratio: number;
}

/** @returns undefined if there is no collector. */
export function readTraces(read: EnvironmentReader): TraceConfig | undefined {
  const endpoint = read.text('OTEL_EXPORTER_OTLP_ENDPOINT').replace(/\/+$/, '');
  const ratioText = read.text('TRACE_RATIO');
  const ratio = /^\d*\.?\d+$/.test(ratioText) ? Number(ratioText) : NaN;
  if (!(ratio >= 0 && ratio <= 1)) read.report(`TRACE_RATIO: "${ratioText}" is not a number from 0 to 1`);
  const headers = readTraceHeaders(read);
  if (endpoint === '') return undefined;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    read.report(`OTEL_EXPORTER_OTLP_ENDPOINT: "${endpoint}" is not an http(s) URL`);
  }
  return { endpoint, headers, ratio };
}

function readTraceHeaders(read: EnvironmentReader): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const entry of read.text('OTEL_EXPORTER_OTLP_HEADERS').split(',')) {
    if (entry.trim() === '') continue;
    const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)=(.*?)\s*$/.exec(entry) ?? [];
    // The entry itself is a secret.
    if (name === undefined || value === undefined) {
      read.report('OTEL_EXPORTER_OTLP_HEADERS: want name=value, comma-separated');
    } else {
      headers[name] = decoded(value);
    }
  }
  return headers;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
