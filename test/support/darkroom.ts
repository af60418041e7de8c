/**
 * A whole Darkroom for a test: real api and worker processes on a database, a Temporal namespace and an object store
 * of their own. Tests use it as clients and operators do, over HTTP, the Temporal client and signals.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { topUp } from '../../src/billing/ledger.ts';
import { builtProgram } from './built-program.ts';
import { newId } from '../../src/domain/ids.ts';
import { reservePort } from './reserve-port.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { ensureSchedules, scheduleIds } from '../../src/temporal/schedules.ts';
import { createTestDatabase } from './test-database.ts';
import type { TestDatabase } from './test-database.ts';
import { createTestNamespace, temporalAddress } from './test-namespace.ts';
import type { TestNamespace } from './test-namespace.ts';
import { ApiClient } from './api-client.ts';

export interface DarkroomOptions {
  /** Additional variables for the processes. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly apis?: number;
  readonly workers?: number;
  /** Whether each process is scraped, on a port of its own. */
  readonly hasMetrics?: boolean;
  /** The address of Temporal; default: the run's server. */
  readonly temporalAddress?: string;
  /** A namespace that it shares; its creator closes it. Default: one of its own. */
  readonly namespace?: TestNamespace;
  /** The URL of the server that its processes connect to; default: the run's. */
  readonly databaseServer?: string;
  /** Whether a process that ends by itself is restarted, as its supervisor would do. By default that fails the test. */
  readonly isSupervised?: boolean;
}

export interface TestAccount {
  readonly id: string;
  readonly keyId: string;
  readonly client: ApiClient;
}

/** A process of ours, which a test may kill and start again. */
export class Role {
  readonly #role: 'api' | 'worker';
  #environment: NodeJS.ProcessEnv;
  readonly #logFile: string;
  readonly #program: readonly string[];
  readonly #isSupervised: boolean;
  #child: ChildProcess | undefined;
  #collapse: string | undefined;
  #hasEndedByItself = false;

  /**
   * @param program the command that takes the role as its last argument; default: the built program.
   * @param isSupervised whether it is restarted if it ends by itself.
   */
  constructor(
    role: 'api' | 'worker',
    environment: NodeJS.ProcessEnv,
    logFile: string,
    program: readonly string[] = [process.execPath, ...builtProgram()],
    isSupervised = false,
  ) {
    this.#role = role;
    this.#environment = environment;
    this.#logFile = logFile;
    this.#program = program;
    this.#isSupervised = isSupervised;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`the ${this.#role} does not run`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts it and waits until it reports that it is ready. @param changes to its environment, from now on. */
  async start(changes: NodeJS.ProcessEnv = {}): Promise<void> {
    this.#environment = { ...this.#environment, ...changes };
    const [command = process.execPath, ...args] = this.#program;
    const child = spawn(command, [...args, this.#role], {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-4_000);
        appendFileSync(this.#logFile, text);
      });
    }
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', (code) => reject(new Error(`the ${this.#role} ended with ${code}:\n${output}`)));
    });
    child.once('exit', (code) => {
      if (this.#child !== child) return;
      this.#hasEndedByItself = true;
      if (this.#isSupervised) void this.#startAgain(child);
      else this.#collapse = `the ${this.#role} ended by itself with ${code}:\n${output}`;
    });
  }

  /** As a supervisor does: until it stays up, or the test has started or killed it. */
  async #startAgain(ended: ChildProcess): Promise<void> {
    for (let last: ChildProcess | undefined = ended; this.#child === last; last = this.#child) {
      try {
        await this.start();
        return;
      } catch {
        // Its log contains the reason.
      }
    }
  }

  /** Whether it ever ended without being requested to. */
  get hasEndedByItself(): boolean {
    return this.#hasEndedByItself;
  }

  /** How it ended without being requested to, if it did. */
  get collapse(): string | undefined {
    return this.#collapse;
  }

  /** Ends it: by default without any warning. @returns its exit code; null if a signal ended it. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = new Promise<void>((resolve) => {
      // Not 'exit': its last output may still be unread then.
      child.once('close', () => resolve());
    });
    child.kill(signal);
    await exited;
    return child.exitCode;
  }
}

/** @param changes to its environment. @param program that takes its role as the last argument; default: the built one. */
type NewWorker = (changes: NodeJS.ProcessEnv, program?: readonly string[]) => Role;

export class Darkroom {
  readonly apis: readonly Role[];
  readonly workers: Role[];
  readonly urls: readonly string[];
  /** The metrics URLs of the processes, the apis first; empty unless requested. */
  readonly metricsUrls: readonly string[];
  readonly namespace: string;
  readonly temporal: Client;
  readonly testDatabase: TestDatabase;
  readonly installationId: string;
  /** Everything that the processes logged. */
  readonly logFile: string;
  readonly #newWorker: NewWorker;
  readonly #migrate: () => Promise<void>;
  readonly #closeNamespace: () => Promise<void>;
  readonly #directory: string;

  constructor(parts: {
    apis: readonly Role[];
    workers: Role[];
    urls: readonly string[];
    metricsUrls: readonly string[];
    namespace: TestNamespace;
    testDatabase: TestDatabase;
    installationId: string;
    logFile: string;
    directory: string;
    newWorker: NewWorker;
    migrate: () => Promise<void>;
    closeNamespace: () => Promise<void>;
  }) {
    this.apis = parts.apis;
    this.workers = parts.workers;
    this.urls = parts.urls;
    this.metricsUrls = parts.metricsUrls;
    this.namespace = parts.namespace.name;
    this.temporal = parts.namespace.client;
    this.testDatabase = parts.testDatabase;
    this.installationId = parts.installationId;
    this.logFile = parts.logFile;
    this.#newWorker = parts.newWorker;
    this.#migrate = parts.migrate;
    this.#closeNamespace = parts.closeNamespace;
    this.#directory = parts.directory;
  }

  get url(): string {
    const [url] = this.urls;
    if (url === undefined) throw new Error('there is no api');
    return url;
  }

  /** An account of its own for one test, with a key of all scopes. */
  async createAccount(
    options: { usd?: bigint; runningCap?: number; queueCap?: number; textStreamsCap?: number } = {},
  ): Promise<TestAccount> {
    const { database } = this.testDatabase;
    return database.transaction(async (transaction) => {
      const id = await createAccount(transaction, 'test', {
        runningCap: options.runningCap ?? 100,
        queueCap: options.queueCap ?? 1_000,
        // Only the tests of limits reach limits.
        createsPerMinute: 1_000_000,
        readsPerMinute: 1_000_000,
        textRequestsPerMinute: 1_000_000,
        textTokensPerMinute: 1_000_000_000,
        textStreamsCap: options.textStreamsCap ?? 1_000,
      });
      const microUsd = options.usd ?? 100_000_000n;
      if (microUsd > 0n) await topUp(transaction, id, microUsd, newId('topup'));
      const key = await createKey(transaction, id, { name: 'test', scopes: SCOPES });
      return { id, keyId: key.id, client: new ApiClient(this.urls, key.secret) };
    });
  }

  /** Starts one more worker, which is stopped with the others. */
  async addWorker(...how: Parameters<NewWorker>): Promise<Role> {
    const worker = this.#newWorker(...how);
    this.workers.push(worker);
    await worker.start();
    return worker;
  }

  /** Runs the role that prepares the database and Temporal, as an operator does. @throws {Error} it failed. */
  migrate(): Promise<void> {
    return this.#migrate();
  }

  /** The directory where the worker stores the files of its current work. */
  get scratchDirectory(): string {
    return path.join(this.#directory, 'scratch');
  }

  /** The directory of the object store. */
  get storeDirectory(): string {
    return path.join(this.#directory, 'store');
  }

  /** @throws {Error} a process had ended by itself: whatever the test observed, that is a bug. */
  async stop(): Promise<void> {
    const roles = [...this.apis, ...this.workers];
    await Promise.all(roles.map((role) => role.kill('SIGTERM')));
    // No worker would process what they start, which would only load the run's server.
    await Promise.all(
      scheduleIds(this.installationId).map((id) =>
        this.temporal
          .withDeadline(Date.now() + 5_000, () => this.temporal.schedule.getHandle(id).delete())
          .catch(() => undefined),
      ),
    );
    await this.#closeNamespace();
    await this.testDatabase.close();
    if (process.env['DARKROOM_TEST_KEEP'] === undefined) await rm(this.#directory, { recursive: true, force: true });
    const collapsed = roles.find((role) => role.collapse !== undefined);
    if (collapsed !== undefined) throw new Error(collapsed.collapse);
  }
}

/** Starts a Darkroom; the caller stops it. */
export async function startDarkroom(options: DarkroomOptions = {}): Promise<Darkroom> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-run-'));
  const testDatabase = await createTestDatabase(undefined, options.databaseServer);
  const address = options.temporalAddress ?? temporalAddress();
  const namespace = options.namespace ?? (await createTestNamespace(address));
  const installationId = await readInstallationId(testDatabase.database);
  await ensureSchedules(namespace.client, installationId);

  const logFile = path.join(directory, 'log');
  const base: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    ...testDatabase.environment,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace.name,
    STORE_URL: `file://${path.join(directory, 'store')}`,
    URL_SIGNING_KEY: randomBytes(24).toString('hex'),
    ENCRYPTION_KEY: randomBytes(24).toString('hex'),
    SCRATCH_DIR: path.join(directory, 'scratch'),
    LOG_LEVEL: 'info',
    SHUTDOWN_GRACE_SECONDS: '3',
    UPSTREAM_GRACE_SECONDS: '3',
    ...options.environment,
  };
  const metricsUrls: string[] = [];
  const metrics = async (): Promise<NodeJS.ProcessEnv> => {
    if (options.hasMetrics !== true) return {};
    const port = await reservePort();
    metricsUrls.push(`http://127.0.0.1:${port}`);
    return { METRICS_PORT: String(port) };
  };
  const roleOf = (role: 'api' | 'worker', environment: NodeJS.ProcessEnv, program?: readonly string[]): Role =>
    new Role(role, environment, logFile, program, options.isSupervised);
  const apis: Role[] = [];
  const urls: string[] = [];
  for (let index = 0; index < (options.apis ?? 1); index++) {
    const port = await reservePort();
    urls.push(`http://127.0.0.1:${port}`);
    apis.push(roleOf('api', { ...base, ...(await metrics()), PORT: String(port), PUBLIC_URL: urls[0] }));
  }
  const workers: Role[] = [];
  for (let index = 0; index < (options.workers ?? 1); index++) {
    workers.push(roleOf('worker', { ...base, ...(await metrics()), PUBLIC_URL: urls[0] }));
  }
  const darkroom = new Darkroom({
    apis,
    workers,
    urls,
    metricsUrls,
    namespace,
    testDatabase,
    installationId,
    logFile,
    directory,
    closeNamespace: options.namespace === undefined ? namespace.close : () => Promise.resolve(),
    newWorker: (changes, program) => roleOf('worker', { ...base, PUBLIC_URL: urls[0], ...changes }, program),
    async migrate() {
      await promisify(execFile)(process.execPath, [...builtProgram(), 'migrate'], { env: base });
    },
  });
  try {
    await Promise.all([...apis, ...workers].map((role) => role.start()));
  } catch (error) {
    await darkroom.stop();
    throw error;
  }
  return darkroom;
}
