/**
 * The addresses on which the program listens, and their protection: the public listener and the one for operators
 * follow the same rules (spec §1.8 "Only HTTPS is used"; contract, "Conventions" and §7).
 */
import { BlockList, isIP } from 'node:net';
import { DarkroomError } from '../domain/darkroom-error.ts';
import type { EnvironmentReader } from './environment.ts';

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash; undefined: the address that the listener gets. */
  readonly publicUrl: string | undefined;
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | undefined;
  /** Empty: no forwarding headers are trusted. */
  readonly trustedProxies: BlockList;
  readonly requiresHttps: boolean;
  /** 0: no limit. */
  readonly maxConnections: number;
  /** Per peer; 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
}

/** The listener for operators, separate from the public one in address and credential. */
export interface AdminConfig {
  readonly token: string;
  readonly http: HttpConfig;
}

/** Where a process exposes metrics and probes. */
export interface MetricsConfig {
  readonly host: string;
  readonly port: number;
}

/** The requested port is in use by another process. */
export class PortInUseError extends DarkroomError {
  override readonly name = 'PortInUseError';
  override readonly kind = 'operator_action_required';

  constructor(port: number, variable: 'PORT' | 'ADMIN_PORT' | 'METRICS_PORT' = 'PORT') {
    super(`port ${port} is in use; stop what listens there, or set ${variable} to another`);
  }
}

/** The public listener. */
export function readHttp(read: EnvironmentReader): HttpConfig {
  const listener = readListener(read, 'HOST');
  const publicUrl = readPublicUrl(read);
  const port = read.integer('PORT');
  if (port === 0 && publicUrl === undefined) read.report('PORT is 0, any free one: set PUBLIC_URL too');
  if (!isLoopback(listener.host) && publicUrl === undefined) {
    read.report(`PUBLIC_URL is required when HOST is not loopback`);
  }
  if (publicUrl?.startsWith('http:') === true && (listener.tls !== undefined || listener.requiresHttps)) {
    read.report(`PUBLIC_URL: "${publicUrl}" is what downloads and callbacks would name, and only HTTPS is served here`);
  }
  return { ...listener, port, publicUrl };
}

/** The listener for operators, if there is a token for it. */
export function readAdmin(read: EnvironmentReader): AdminConfig | undefined {
  const token = read.longSecret('ADMIN_TOKEN');
  if (token === '') return undefined;
  // It is sent in a header, and a space or a character that no header can contain would make every request fail.
  if (!/^[\x21-\x7e]+$/.test(token)) read.report('ADMIN_TOKEN: want visible ASCII characters without blanks');
  const port = read.integer('ADMIN_PORT');
  if (port !== 0 && port === read.integer('PORT')) {
    read.report(`ADMIN_PORT and PORT are both ${port}: each needs its own port`);
  }
  return { token, http: { ...readListener(read, 'ADMIN_HOST'), port, publicUrl: undefined } };
}

/** The listener for metrics, if there is a port for it. */
export function readMetrics(read: EnvironmentReader): MetricsConfig | undefined {
  const host = read.text('METRICS_HOST');
  const port = read.integer('METRICS_PORT');
  return port === 0 ? undefined : { host, port };
}

/** The address of a listener and its protection: the same for the public one and the one for operators. */
function readListener(read: EnvironmentReader, name: 'HOST' | 'ADMIN_HOST'): Omit<HttpConfig, 'port' | 'publicUrl'> {
  const host = read.text(name);
  const certificateFile = read.text('TLS_CERT_FILE');
  const keyFile = read.text('TLS_KEY_FILE');
  const hasTls = certificateFile !== '' && keyFile !== '';
  if ((certificateFile === '') !== (keyFile === '')) read.report('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  const proxies = read.list('TRUSTED_PROXIES');
  if (!isLoopback(host) && !hasTls && proxies.length === 0) {
    read.report(
      `${name} is ${host}, which is not loopback: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES (spec §1.8: only HTTPS)`,
    );
  }
  return {
    host,
    tls: hasTls ? { certificateFile, keyFile } : undefined,
    trustedProxies: readProxies(read, proxies),
    requiresHttps: !isLoopback(host) && !hasTls,
    maxConnections: read.integer('MAX_CONNECTIONS'),
    maxConnectionsPerAddress: read.integer('MAX_CONNECTIONS_PER_ADDRESS'),
    keepAliveMs: read.integer('KEEP_ALIVE_SECONDS') * 1000,
  };
}

/** The only source of returned URLs (contract, "Conventions"). */
export function publicUrlOf({ publicUrl, tls, host, port }: HttpConfig): string {
  return publicUrl ?? `${tls === undefined ? 'http' : 'https'}://${hostInUrl(host)}:${port}`;
}

/** An address as written in a URL: IPv6 addresses in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Whether the address is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function readPublicUrl(read: EnvironmentReader): string | undefined {
  const text = read.text('PUBLIC_URL');
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '') {
    read.report(`PUBLIC_URL: "${text}" is not an http(s) URL without a path`);
    return undefined;
  }
  return url.origin;
}

function readProxies(read: EnvironmentReader, entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const version = isIP(address);
    if (prefix === '0') {
      read.report(`TRUSTED_PROXIES: "${entry}" includes every address: any client could then forge its own`);
      continue;
    }
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
