/**
 * The choices of the user of `npm start`: which parts run elsewhere, and the ports of the others; and what our own
 * processes get beside the user's environment, which is passed to them unchanged.
 */
import { readHeaderPrefix } from '../config/config.ts';
import { EnvironmentReader } from '../config/environment.ts';
import { VARIABLES } from '../config/variables.ts';
import type { Variable, VariableName } from '../config/variables.ts';
import { parseAllowList, parseDenyList } from '../egress/operator-lists.ts';
import type { InstallationSecrets } from './secrets.ts';

export interface StandaloneSettings {
  readonly host: string;
  /** 0 in any of the ports: a free one. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** The metrics port of the api; the worker uses the next port. 0: neither exposes metrics. */
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly postgresPort: number;
  readonly temporalPort: number;
  readonly temporalUiPort: number;
  readonly temporalCliPath: string;
  /** Whether the environment contains a token for operators; otherwise the installation has its own. */
  readonly hasAdminToken: boolean;
  readonly shutdownGraceSeconds: number;
  /** The grace time of the worker for work at upstreams, in seconds. */
  readonly upstreamGraceSeconds: number;
  /** Which parts we do not run, because the environment names others. */
  readonly runsElsewhere: { readonly database: boolean; readonly temporal: boolean; readonly store: boolean };
}

/** With this all parts together stop within 10 s: see the other parts' times in installation.ts. */
const DEFAULT_GRACE_SECONDS = 6;

/** @throws {ConfigurationError} with one line for each problem. */
export function readSettings(environment: NodeJS.ProcessEnv): StandaloneSettings {
  const read = new EnvironmentReader(environment);
  const settings: StandaloneSettings = {
    host: read.text('HOST'),
    port: read.integer('PORT'),
    adminHost: read.text('ADMIN_HOST'),
    adminPort: read.integer('ADMIN_PORT'),
    metricsPort: read.integer('METRICS_PORT'),
    metricsHost: read.text('METRICS_HOST'),
    postgresPort: read.integer('POSTGRES_PORT'),
    temporalPort: read.integer('TEMPORAL_PORT'),
    temporalUiPort: read.integer('TEMPORAL_UI_PORT'),
    temporalCliPath: read.text('TEMPORAL_CLI_PATH'),
    hasAdminToken: isSet(environment, 'ADMIN_TOKEN'),
    shutdownGraceSeconds: isSet(environment, 'SHUTDOWN_GRACE_SECONDS')
      ? read.integer('SHUTDOWN_GRACE_SECONDS')
      : DEFAULT_GRACE_SECONDS,
    upstreamGraceSeconds: read.integer('UPSTREAM_GRACE_SECONDS'),
    runsElsewhere: {
      database: isSet(environment, 'DATABASE_URL'),
      temporal: isSet(environment, 'TEMPORAL_ADDRESS'),
      store: isSet(environment, 'STORE_URL'),
    },
  };
  read.longSecret('ADMIN_TOKEN');
  if (settings.metricsPort === 65_535) read.report('METRICS_PORT: the worker has the next port, and there is none');
  checkPortsDiffer(settings, read);
  checkEveryVariable(environment, read);
  readHeaderPrefix(read);
  checkEntries(read, 'EGRESS_ALLOW', parseAllowList);
  checkEntries(read, 'EGRESS_DENY', parseDenyList);
  read.throwIfBroken();
  return settings;
}

/** Each port is claimed by itself: two identical ones would be detected only when the second part cannot listen. */
function checkPortsDiffer(settings: StandaloneSettings, read: EnvironmentReader): void {
  const ports = {
    PORT: settings.port,
    ADMIN_PORT: settings.adminPort,
    METRICS_PORT: settings.metricsPort,
    'METRICS_PORT + 1': settings.metricsPort === 0 ? 0 : settings.metricsPort + 1,
    TEMPORAL_PORT: settings.temporalPort,
    TEMPORAL_UI_PORT: settings.temporalUiPort,
    POSTGRES_PORT: settings.postgresPort,
  };
  const names = new Map<number, string>();
  for (const [name, port] of Object.entries(ports)) {
    const other = names.get(port);
    if (port !== 0 && other !== undefined)
      read.report(`${name} and ${other} are both ${port}: each needs its own port`);
    names.set(port, name);
  }
}

/**
 * Variables that only our processes read are already validated here, so that errors are reported before anything is
 * started.
 */
function checkEveryVariable(environment: NodeJS.ProcessEnv, read: EnvironmentReader): void {
  for (const name of Object.keys(VARIABLES) as VariableName[]) {
    const { kind }: Variable = VARIABLES[name];
    if (!isSet(environment, name)) continue;
    if (kind === 'integer') read.integer(name);
    else if (kind === 'boolean') read.boolean(name);
    else read.text(name);
  }
}

/** Only the processes that read the variable know its format, and they are started last. */
function checkEntries(
  read: EnvironmentReader,
  name: 'EGRESS_ALLOW' | 'EGRESS_DENY',
  parse: (entries: readonly string[]) => unknown,
): void {
  try {
    parse(read.list(name));
  } catch (error) {
    read.report(error instanceof Error ? error.message : String(error));
  }
}

/** Whether a variable is set, directly or by a file. */
export function isSet(environment: NodeJS.ProcessEnv, name: VariableName): boolean {
  return [environment[name], environment[`${name}_FILE`]].some((value) => value !== undefined && value !== '');
}

/**
 * The keys with which the roles of one installation run: those of the environment, and its own of `secrets.json`. A key
 * of the environment replaces the one of `secrets.json`, but not its fallbacks: a rotation has left them there, and
 * stored data may need them until it is finished. Problems of the variables are reported by the roles, which read them.
 *
 * @returns variables that override the environment.
 */
export function keyVariables(
  secrets: Pick<InstallationSecrets, KeyField>,
  environment: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const read = new EnvironmentReader(environment);
  const fallbacks = (name: FallbackName, own: readonly string[] = []): NodeJS.ProcessEnv => ({
    [name]: [...new Set([...read.longSecrets(name), ...own])].join(','),
    // Its content is in the list.
    [`${name}_FILE`]: undefined,
  });
  return {
    ...(isSet(environment, 'URL_SIGNING_KEY') ? {} : { URL_SIGNING_KEY: secrets.urlSigningKey }),
    ...(isSet(environment, 'ENCRYPTION_KEY') ? {} : { ENCRYPTION_KEY: secrets.encryptionKey }),
    ...fallbacks('URL_SIGNING_KEY_FALLBACKS', secrets.urlSigningKeyFallbacks),
    ...fallbacks('ENCRYPTION_KEY_FALLBACKS', secrets.encryptionKeyFallbacks),
  };
}

type KeyField = 'urlSigningKey' | 'encryptionKey' | 'urlSigningKeyFallbacks' | 'encryptionKeyFallbacks';
type FallbackName = 'URL_SIGNING_KEY_FALLBACKS' | 'ENCRYPTION_KEY_FALLBACKS';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/**
 * The proxy variables of our own processes: services on this machine are reached directly. Otherwise libraries that
 * follow `HTTP_PROXY` would send loopback requests to the proxy.
 *
 * @returns the variables to set in addition to the environment; the operator's exceptions are kept.
 */
export function exceptLoopback(environment: NodeJS.ProcessEnv): Record<string, string> {
  // An empty variable counts as unset.
  const general = withLoopback(
    [environment['no_proxy'], environment['NO_PROXY']].find((list) => list !== '' && list !== undefined),
  );
  // gRPC reads its own variable instead of the general one, if it is set.
  const grpc = environment['no_grpc_proxy'];
  return { NO_PROXY: general, no_proxy: general, ...(grpc === undefined ? {} : { no_grpc_proxy: withLoopback(grpc) }) };
}

function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => (host.trim() === '' ? [] : [host.trim()]));
  if (hosts.includes('*')) return '*';
  return [...new Set([...hosts, ...LOOPBACK])].join(',');
}
