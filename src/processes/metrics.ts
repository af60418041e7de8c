/**
 * The metrics of a process, combined for scrapers: its own instruments, values read at that moment, and what
 * Temporal's SDK counts, in one text at one address.
 */
import type { Server } from 'node:http';
import type { NativeConnection } from '@temporalio/worker';
import { Gauge, collectDefaultMetrics } from 'prom-client';
import type { Database } from '../database/database.ts';
import { readInstallationId } from '../database/migrate.ts';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import { countBrokenRequests } from '../http/middleware/request-telemetry.ts';
import { listenForMetrics } from '../telemetry/metrics-listener.ts';
import type { MetricsListener, MetricsPages, ProbeAnswer } from '../telemetry/metrics-listener.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { registerServiceGauges } from '../telemetry/metrics-service.ts';
import { checkTemporal } from '../temporal/connection.ts';
import { readQueueBacklogs } from '../temporal/queue-backlogs.ts';
import type { TemporalRuntime } from '../temporal/runtime.ts';
import type { CheckedCredential } from '../providers/credential-probes.ts';
import type { Foundation } from './foundation.ts';
import { createServiceChecks } from './service-checks.ts';
import type { ServiceChecks, TemporalChecks } from './service-checks.ts';
import type { RunningWorker } from './worker.ts';
import type { DatabaseClock } from '../database/database-clock.ts';

/** @returns undefined if the configuration has no port for it. @throws {PortInUseError} */
export async function startMetricsListener(
  { config, logger }: Pick<Foundation, 'config' | 'logger'>,
  pages: MetricsPages,
): Promise<MetricsListener | undefined> {
  return config.metrics === undefined ? undefined : listenForMetrics(config.metrics, pages, logger);
}

/**
 * @param readSdkMetrics reads the metrics of Temporal's SDK in text format; empty if there are none.
 * @returns a function that reads everything.
 */
function rendererOf(
  { metrics, database, clock }: Foundation,
  checks: Pick<ServiceChecks, 'state'>,
  readSdkMetrics: () => Promise<string>,
): () => Promise<string> {
  const show = registerProcessGauges(metrics, database);
  registerClockGauges(metrics, clock);
  return async () => {
    const [state, sdkText] = await Promise.all([checks.state(), readSdkMetrics()]);
    show(state);
    return `${await metrics.registry.metrics()}${sdkText}`;
  };
}

/**
 * Everything that all processes read at a scrape.
 *
 * @returns a function that sets the gauges from a state of the service.
 */
export function registerProcessGauges(
  { registry }: Pick<Metrics, 'registry'>,
  database: Pick<Database, 'pool'>,
): ReturnType<typeof registerServiceGauges> {
  collectDefaultMetrics({ register: registry });
  const connections = new Gauge({
    name: 'darkroom_database_pool_connections',
    help: 'Connections of this process to the database, by state',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { open, idle } = database.pool();
      connections.set({ state: 'idle' }, idle);
      connections.set({ state: 'busy' }, open - idle);
    },
  });
  const waiting = new Gauge({
    name: 'darkroom_database_pool_waiting',
    help: 'Callers that wait for a connection to the database',
    registers: [registry],
    collect(): void {
      waiting.set(database.pool().waiting);
    },
  });
  return registerServiceGauges(registry);
}

/** What the api exposes in addition. */
interface ApiFacts {
  /** The public server. */
  readonly server: Server;
  readonly eventStreams: () => number;
  readonly credentials?: () => readonly CheckedCredential[];
  /** Undefined: it has not reached Temporal yet. */
  readonly connection: () => NativeConnection | undefined;
  readonly readSdkMetrics: () => Promise<string>;
}

function temporalChecks(
  { config, database }: Foundation,
  connectionNow: () => NativeConnection | undefined,
): TemporalChecks {
  return {
    check: () => checkTemporal(connectionNow()),
    async queueBacklogs() {
      const connection = connectionNow();
      if (connection === undefined) throw new Error('not connected to Temporal');
      return readQueueBacklogs(connection, config.temporal.namespace, await readInstallationId(database));
    },
  };
}

/** @returns a function that reads the metrics of an api. */
export function apiMetrics(foundation: Foundation, facts: ApiFacts): () => Promise<string> {
  const { metrics } = foundation;
  countBrokenRequests(facts.server, metrics.requests);
  registerApiGauges(metrics, facts);
  return rendererOf(
    foundation,
    createServiceChecks(foundation, temporalChecks(foundation, facts.connection)),
    facts.readSdkMetrics,
  );
}

/** How many connections the api has, how many streams of task events, and which credentials providers reject. */
export function registerApiGauges(
  { registry }: Pick<Metrics, 'registry'>,
  { server, eventStreams, credentials = () => [] }: Pick<ApiFacts, 'server' | 'eventStreams' | 'credentials'>,
): void {
  const connections = new Gauge({
    name: 'darkroom_http_connections_open',
    help: 'Open connections of the public listener',
    registers: [registry],
    collect: () =>
      new Promise<void>((resolve) => {
        server.getConnections((error, count) => {
          if (error === null) connections.set(count);
          resolve();
        });
      }),
  });
  const rejected = new Gauge({
    name: 'darkroom_provider_credential_rejected',
    help: 'Whether a provider rejects a credential; absent while that is not known',
    labelNames: ['provider', 'credential'],
    registers: [registry],
    collect(): void {
      rejected.reset();
      for (const { provider, credential, state } of credentials()) {
        if (state === 'valid' || state === 'rejected')
          rejected.set({ provider, credential }, state === 'valid' ? 0 : 1);
      }
    },
  });
  const streams = new Gauge({
    name: 'darkroom_http_event_streams_open',
    help: 'Open streams of task events',
    registers: [registry],
    collect(): void {
      streams.set(eventStreams());
    },
  });
}

/** What exists of a starting worker: nothing at first, then a connection, then the worker. */
interface SeenWorker {
  readonly connection?: NativeConnection;
  readonly worker?: Pick<RunningWorker, 'running'>;
}

/** @returns undefined if the configuration has no port for it. @throws {PortInUseError} */
export function startWorkerMetrics(
  foundation: Foundation,
  runtime: TemporalRuntime,
  look: () => SeenWorker,
): Promise<MetricsListener | undefined> {
  const checks = createServiceChecks(
    foundation,
    temporalChecks(foundation, () => look().connection),
  );
  const { queues } = foundation.config.worker;
  const running = () => look().worker?.running() ?? new Map(queues.map((queue) => [queue, false]));
  registerWorkerGauges(foundation.metrics, running);
  const probes: MetricsPages['probes'] = new Map([
    ['/healthz', async () => ({ isGood: true, parts: { status: 'ok' } })],
    ['/readyz', () => readinessOf(checks, running(), foundation.clock.isRight())],
  ]);
  const metrics = rendererOf(foundation, checks, () => runtime.readMetrics());
  return startMetricsListener(foundation, { metrics, probes });
}

/** @param running for each queue that the worker has to serve: whether it does. */
export function registerWorkerGauges(
  { registry }: Pick<Metrics, 'registry'>,
  running: () => ReadonlyMap<QueueName, boolean>,
): void {
  const gauge = new Gauge({
    name: 'darkroom_worker_running',
    help: 'Whether the worker takes work from a task queue',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      const served = running();
      // Also for queues that it does not have to serve: the sum over all workers shows a queue without a worker.
      for (const queue of Object.keys(TASK_QUEUES) as QueueName[])
        gauge.set({ queue }, served.get(queue) === true ? 1 : 0);
    },
  });
}

/** Queues whose work reads or writes no file. */
const WITHOUT_STORE: ReadonlySet<string> = new Set<QueueName>(['callbacks']);

/**
 * Ready: what its work needs answers, and it takes work from all of its queues. A draining worker is not ready. No
 * client reaches a worker, so that this is for operators and for replacing one worker after the other.
 */
async function readinessOf(
  checks: ServiceChecks,
  running: ReadonlyMap<string, boolean>,
  clock: boolean,
): Promise<ProbeAnswer> {
  const [database, store, temporal] = await Promise.all([
    checks.isDatabaseUp(),
    checks.isStoreUp(),
    checks.isTemporalUp(),
  ]);
  const needsStore = [...running.keys()].some((queue) => !WITHOUT_STORE.has(queue));
  const isGood = database && (store || !needsStore) && temporal && clock && [...running.values()].every(Boolean);
  const parts = {
    status: isGood ? 'ready' : 'not ready',
    database,
    store,
    temporal,
    clock,
    queues: Object.fromEntries(running),
  };
  return { isGood, parts };
}

/** How far the clock of a process deviates from that of the database, read at each scrape. */
export function registerClockGauges(
  { registry }: Pick<Metrics, 'registry'>,
  clock: Pick<DatabaseClock, 'skewMs' | 'isRight'>,
): void {
  const skew = new Gauge({
    name: 'darkroom_clock_skew_seconds',
    help: 'How far the clock of this process is ahead of that of the database; negative: behind',
    registers: [registry],
    collect(): void {
      const skewMs = clock.skewMs();
      // An unknown value is not exported, not even as 0.
      if (skewMs === undefined) skew.remove();
      else skew.set(skewMs / 1000);
    },
  });
  const wrong = new Gauge({
    name: 'darkroom_clock_wrong',
    help: 'Whether the clock of this process is off by more than CLOCK_SKEW_SECONDS: it is not ready then',
    registers: [registry],
    collect(): void {
      wrong.set(clock.isRight() ? 0 : 1);
    },
  });
}
