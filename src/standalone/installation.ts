/**
 * One standalone installation, from an opened data directory to serving processes: what is started, in which order,
 * with which configuration, and how it all stops.
 */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { EnvironmentReader } from '../config/environment.ts';
import { VARIABLES } from '../config/variables.ts';
import { tasksUrl } from '../http/app/workflow-links.ts';
import { SEARCH_ATTRIBUTES } from '../temporal/search-attributes.ts';
import { findBlockedPorts, claimPort } from './ports.ts';
import { StandaloneError } from './standalone-error.ts';
import { parseFirstRun } from './first-run-answer.ts';
import type { FirstRunAnswer } from './first-run-answer.ts';
import { writeFileAtomically } from './data-directory.ts';
import { removeInstance, writeInstance } from './instance.ts';
import { keyVariables, exceptLoopback } from './settings.ts';
import { LogFile, waitingLine, withNotices } from './logs.ts';
import { Part } from './part.ts';
import type { PartDefinition } from './part.ts';
import {
  clusterLaunch,
  clusterUrl,
  createCluster,
  ensureDatabase,
  findClusterPid,
  waitForCluster,
} from './postgres.ts';
import type { Cluster } from './postgres.ts';
import { ProcessRecord } from './processes.ts';
import { roleLaunch, runRole, waitForRole } from './role.ts';
import type { RoleAddresses, ServingRole } from './role.ts';
import { readOrCreateSecrets } from './secrets.ts';
import type { StandaloneSettings } from './settings.ts';
import { obtainTemporalCli } from './temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from './temporal-server.ts';
import { guardTemporalUi } from './temporal-ui-guard.ts';
import type { TemporalUiGuard } from './temporal-ui-guard.ts';

/** Facts about a started installation, for printing. */
export interface InstallationFacts {
  readonly apiUrl: string;
  readonly adminUrl: string;
  /** The address of the dashboard. */
  readonly publicUrl: string;
  /** Where Temporal's Web UI lists the tasks; undefined: Temporal is not ours. */
  readonly temporalTasksUrl: string | undefined;
  readonly dataDir: string;
  readonly firstRun: FirstRunAnswer;
}

export interface InstallationOptions {
  /** The opened data directory. */
  readonly dataDir: string;
  readonly settings: StandaloneSettings;
  readonly environment: NodeJS.ProcessEnv;
  /** The module that has the roles as subcommands. */
  readonly program: string;
  readonly report: (line: string) => void;
  readonly onLine: (part: string, line: string) => void;
  /** Aborted when the user wants to stop while it is still starting. */
  readonly signal: AbortSignal;
}

const DATABASE = 'darkroom';
/** Marks that the data directory has had a database: a missing one is then a loss, not a first start. */
const DATABASE_MARKER = 'postgres.initialised';
/** With the roles' grace of 6 s (and half a second to notice) these keep the total below 10 s. */
const TEMPORAL_STOP_MS = 1_500;
const POSTGRES_STOP_MS = 1_500;
const ROLE_STOP_MARGIN_MS = 500;
/** After the roles' grace: before they are killed. */
const WAIT_NOTICE_MS = 250;
/** A role whose upstreams' grace is over ends within two seconds more. */
const UPSTREAM_STOP_MARGIN_MS = 3_000;

export class Installation {
  readonly #options: InstallationOptions;
  readonly #record: ProcessRecord;
  readonly #logs = new Map<string, LogFile>();
  /** In the order in which they stop: the members of a group together, one group after the other. */
  readonly #roles: Part[] = [];
  readonly #servers: { temporal?: Part; postgres?: Part } = {};
  #temporalUi: TemporalUiGuard | undefined;

  constructor(options: InstallationOptions) {
    this.#options = options;
    this.#record = new ProcessRecord(options.dataDir);
  }

  /**
   * Starts everything and waits until it is healthy. Whether it succeeds or fails, the caller must call `stop`.
   *
   * @throws {StandaloneError} something cannot be started; the message says what to do.
   */
  async start(): Promise<InstallationFacts> {
    const { dataDir, settings, program, report, signal } = this.#options;
    await this.#stopOrphans();
    const secrets = await readOrCreateSecrets(dataDir, existsSync(this.#postgresDirectory));
    const ports = await this.#claimPorts();
    const environment: NodeJS.ProcessEnv = {
      // Half of them resolve names that operators configured (docs/decisions/0018).
      UV_THREADPOOL_SIZE: '16',
      ...(settings.hasAdminToken ? {} : { ADMIN_TOKEN: secrets.adminToken }),
      STORE_URL: pathToFileURL(path.join(dataDir, 'objects')).href,
      ...withoutEmpty(this.#options.environment),
      ...keyVariables(secrets, this.#options.environment),
      ...exceptLoopback(this.#options.environment),
      PORT: String(ports.api),
      ADMIN_PORT: String(ports.admin),
      METRICS_PORT: String(ports.metrics),
      LOG_FORMAT: 'json',
      DARKROOM_EMBEDDED: 'true',
      DATA_DIR: dataDir,
      // There is no second api to which requests could go meanwhile.
      DRAIN_SECONDS: '0',
      SHUTDOWN_GRACE_SECONDS: String(settings.shutdownGraceSeconds),
    };
    await Promise.all([
      settings.runsElsewhere.database
        ? undefined
        : this.#startPostgres(ports.postgres, secrets.postgresPassword).then((url) => {
            // Whatever else the environment says of a database is about another one.
            Object.assign(environment, { DATABASE_URL: url, DATABASE_DIRECT_URL: url, DATABASE_POOLER: 'none' });
            delete environment['DATABASE_DIRECT_URL_FILE'];
          }),
      settings.runsElsewhere.temporal
        ? undefined
        : this.#startTemporal(ports.temporal, ports.temporalUi).then((address) => {
            environment['TEMPORAL_ADDRESS'] = address;
          }),
    ]);
    await runRole(program, 'migrate', environment, this.#log('migrate'), report, signal);
    const temporalUiUrl = settings.runsElsewhere.temporal ? undefined : `http://127.0.0.1:${ports.temporalUi}`;
    // The user of this dashboard is at this machine.
    if (temporalUiUrl !== undefined) environment['TEMPORAL_UI_URL'] ??= temporalUiUrl;
    const [api] = await Promise.all([
      this.#startRole('api', environment),
      this.#startRole('worker', { ...environment, METRICS_PORT: String(ports.workerMetrics) }),
    ]);
    // Last of all: the key that it creates is shown once, and a failed start shows nothing.
    const firstRun = parseFirstRun(
      await runRole(program, 'first-run', environment, this.#log('first-run'), report, signal),
    );
    const { apiUrl = `http://${settings.host}:${ports.api}` } = api;
    const { adminUrl = `http://${settings.adminHost}:${ports.admin}` } = api;
    await writeInstance({
      apiUrl,
      adminUrl,
      ...(temporalUiUrl === undefined ? {} : { temporalUiUrl }),
      temporalAddress: environment['TEMPORAL_ADDRESS'] ?? '',
      databaseUrl: environment['DATABASE_URL'] ?? '',
      storeUrl: environment['STORE_URL'] ?? '',
      dataDir,
      startedAt: new Date().toISOString(),
      environment: configurationOf(environment),
      upstreamKeys: Object.keys(new EnvironmentReader(environment).upstreams().secrets),
    });
    const publicUrl = environment['PUBLIC_URL'] ?? apiUrl;
    const namespace = environment['TEMPORAL_NAMESPACE'] || VARIABLES.TEMPORAL_NAMESPACE.fallback;
    const temporalTasksUrl = temporalUiUrl === undefined ? undefined : tasksUrl(temporalUiUrl, namespace);
    return { apiUrl, publicUrl, adminUrl, temporalTasksUrl, dataDir, firstRun };
  }

  /**
   * Starts PostgreSQL alone, for a backup or a copy: no other client is connected to it.
   *
   * @returns its address, password included.
   * @throws {StandaloneError} it cannot be started, or is not ours to start.
   */
  async startDatabase(): Promise<string> {
    const { dataDir, settings } = this.#options;
    if (settings.runsElsewhere.database) {
      throw new StandaloneError('DATABASE_URL names a PostgreSQL of your own: there is none to start here');
    }
    await this.#stopOrphans();
    const secrets = await readOrCreateSecrets(dataDir, existsSync(this.#postgresDirectory));
    const port = await claimPort(settings.postgresPort, 'PostgreSQL', 'POSTGRES_PORT');
    return this.#startPostgres(port, secrets.postgresPassword);
  }

  /** Stops all parts: dependent ones first. */
  async stop(): Promise<void> {
    await removeInstance(this.#options.dataDir);
    const { shutdownGraceSeconds } = this.#options.settings;
    // Only work at an upstream that must not be requested twice takes longer than this.
    const patience = setTimeout(
      () =>
        this.#options.report('Waiting for an upstream to answer. Ctrl-C again stops at once, and loses what it makes.'),
      shutdownGraceSeconds * 1000 + WAIT_NOTICE_MS,
    );
    await Promise.all(this.#roles.map((part) => part.stop()));
    clearTimeout(patience);
    await this.#temporalUi?.close();
    await this.#servers.temporal?.stop();
    await this.#servers.postgres?.stop();
    await Promise.all([...this.#logs.values()].map((log) => log.close()));
  }

  /** Ends all parts at once. Synchronous, so that it also works while our own process ends. */
  kill(): void {
    for (const part of [...this.#roles, this.#servers.temporal, this.#servers.postgres]) part?.kill();
  }

  get #postgresDirectory(): string {
    return path.join(this.#options.dataDir, 'postgres');
  }

  async #stopOrphans(): Promise<void> {
    const postgresPid = await findClusterPid(this.#postgresDirectory);
    const stopped = await this.#record.stopOrphans(
      new Map(postgresPid === undefined ? [] : [['postgres', postgresPid]]),
    );
    if (stopped.length > 0) {
      this.#options.report(`Stopped what an earlier start had left running: ${stopped.join(', ')}.`);
    }
  }

  async #claimPorts(): Promise<{
    api: number;
    admin: number;
    metrics: number;
    workerMetrics: number;
    postgres: number;
    temporal: number;
    temporalUi: number;
  }> {
    const { settings } = this.#options;
    // Here 0 means no port, not any free one.
    const claimForMetrics = (port: number, role: string): Promise<number> | number =>
      port === 0 ? 0 : claimPort(port, `the metrics of ${role}`, 'METRICS_PORT', settings.metricsHost);
    const { metricsPort } = settings;
    const { database, temporal } = settings.runsElsewhere;
    return {
      api: await claimPort(settings.port, 'the API', 'PORT', settings.host),
      admin: await claimPort(settings.adminPort, 'the admin listener', 'ADMIN_PORT', settings.adminHost),
      metrics: await claimForMetrics(metricsPort, 'the api'),
      workerMetrics: await claimForMetrics(metricsPort === 0 ? 0 : metricsPort + 1, 'the worker'),
      postgres: database ? 0 : await claimPort(settings.postgresPort, 'PostgreSQL', 'POSTGRES_PORT'),
      temporal: temporal ? 0 : await claimPort(settings.temporalPort, 'Temporal', 'TEMPORAL_PORT'),
      temporalUi: temporal ? 0 : await claimPort(settings.temporalUiPort, "Temporal's Web UI", 'TEMPORAL_UI_PORT'),
    };
  }

  async #startPostgres(port: number, password: string): Promise<string> {
    const { report } = this.#options;
    const cluster: Cluster = { directory: this.#postgresDirectory, port, password, isDurable: true };
    const marker = path.join(this.#options.dataDir, DATABASE_MARKER);
    if (!existsSync(cluster.directory)) {
      if (existsSync(marker)) throw new StandaloneError(lostDatabase(cluster.directory));
      report('Making the database.');
    }
    await withNotices(createCluster(cluster.directory, password), (seconds) =>
      report(waitingLine('the database to be made', seconds, undefined)),
    );
    await writeFileAtomically(marker, '', 0o600);
    const part = this.#part({
      name: 'postgres',
      title: 'PostgreSQL',
      launch: () => clusterLaunch(cluster),
      waitUntilReady: (_announced, signal) => waitForCluster(cluster, signal),
      stopSignal: 'SIGINT',
      stopTimeoutMs: POSTGRES_STOP_MS,
    });
    this.#servers.postgres = part;
    await part.start();
    await ensureDatabase(cluster, DATABASE);
    return clusterUrl(cluster, DATABASE);
  }

  async #startTemporal(port: number, guardPort: number): Promise<string> {
    const { dataDir, settings, environment, report, signal } = this.#options;
    const cliPath = await withNotices(
      obtainTemporalCli({ cliPath: settings.temporalCliPath, environment, report, signal }),
      (seconds) => report(waitingLine("Temporal's program", seconds, undefined)),
    );
    const address = `127.0.0.1:${port}`;
    const databaseFile = path.join(dataDir, 'temporal.sqlite');
    // An interrupted first start may have left half a schema, which Temporal would not repair. Nothing of value is in
    // it before the server has answered once.
    const marker = path.join(dataDir, 'temporal.initialised');
    const isInitialised = existsSync(marker);
    if (!isInitialised) {
      for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(`${databaseFile}${suffix}`, { force: true });
    }
    let uiPort = 0;
    const part = this.#part({
      name: 'temporal',
      title: 'Temporal',
      launch: async () => {
        const [ui = 0, metricsPort = 0] = await findBlockedPorts(2);
        uiPort = ui;
        const server = { cliPath, port, uiPort, metricsPort, databaseFile, searchAttributes: SEARCH_ATTRIBUTES };
        return temporalServerLaunch(server, environment);
      },
      waitUntilReady: (_announced, untilReady) => waitForTemporal(address, untilReady),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: TEMPORAL_STOP_MS,
    });
    this.#servers.temporal = part;
    await part.start();
    this.#temporalUi = await guardTemporalUi(guardPort, () => uiPort);
    if (!isInitialised) await writeFile(marker, '');
    return address;
  }

  /** Both roles wait for upstreams. */
  #stopTimeoutMs(): number {
    const { shutdownGraceSeconds, upstreamGraceSeconds } = this.#options.settings;
    const plainMs = shutdownGraceSeconds * 1000 + ROLE_STOP_MARGIN_MS;
    return Math.max(plainMs, upstreamGraceSeconds * 1000 + UPSTREAM_STOP_MARGIN_MS);
  }

  async #startRole(role: ServingRole, environment: NodeJS.ProcessEnv): Promise<RoleAddresses> {
    let addresses: RoleAddresses = {};
    const part = this.#part({
      name: role,
      title: role === 'api' ? 'The API' : 'The worker',
      launch: async () => roleLaunch(this.#options.program, role, environment),
      waitUntilReady: async (announced, signal, note) => {
        addresses = await waitForRole(announced, signal, note);
      },
      stopSignal: 'SIGTERM',
      stopTimeoutMs: this.#stopTimeoutMs(),
    });
    this.#roles.push(part);
    await part.start();
    return addresses;
  }

  #part(definition: PartDefinition): Part {
    this.#options.signal.throwIfAborted();
    return new Part(definition, {
      log: this.#log(definition.name),
      record: this.#record,
      onLine: this.#options.onLine,
      report: this.#options.report,
    });
  }

  #log(name: string): LogFile {
    const log = this.#logs.get(name) ?? new LogFile(path.join(this.#options.dataDir, 'logs'), name);
    this.#logs.set(name, log);
    return log;
  }
}

/** A variable with an empty value counts as unset: it must not hide what we set. */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
}

function configurationOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const configuration: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    const isOfUpstream = /^UPSTREAM_[A-Z0-9_]+_(?:KEY_FILE|URL)$/.test(name);
    if (isOfUpstream || Object.hasOwn(VARIABLES, name.replace(/_FILE$/, ''))) configuration[name] = value;
  }
  return configuration;
}

function lostDatabase(directory: string): string {
  return `The database of this installation is missing: ${directory} is gone, and with it every account, task and balance.
Restore it from a backup. To start again without data, remove the whole data folder or name another with --data-dir.`;
}
