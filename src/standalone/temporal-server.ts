/**
 * The bundled Temporal server: the official CLI's dev server, with our settings. Its launch, and the wait for its
 * first answer.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Launch } from './processes.ts';

/** One dev server. */
export interface TemporalServer {
  readonly cliPath: string;
  readonly port: number;
  /** Absent: no Web UI. It does not check `Host`: on a port that browsers connect to, any page could use it. */
  readonly uiPort?: number;
  /** Port of the server's own metrics, which do not check it either. Absent: a port that the server picks. */
  readonly metricsPort?: number;
  /** Absent: in memory. */
  readonly databaseFile?: string;
  readonly searchAttributes: Readonly<Record<string, string>>;
  /** Additional dynamic configuration of the server, by key. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
}

/** The namespace that the dev server creates by itself. */
const NAMESPACE = 'default';

/** The launch of the dev server. SIGTERM stops it. */
export function temporalServerLaunch(server: TemporalServer, environment: NodeJS.ProcessEnv): Launch {
  const args = [
    'server',
    'start-dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(server.port),
    '--log-format',
    'json',
    '--log-level',
    'warn',
    // A server with one shard polls its own queues 20 times a second by default, and so delays each transfer by up to
    // 50 ms.
    '--dynamic-config-value',
    'history.transferProcessorMaxPollRPS=1000',
    // Fairness between accounts on the generation queue.
    '--dynamic-config-value',
    'matching.enableFairness=true',
    // A worker that shuts down gets no more work: an activity that reached it then would wait for its heartbeat
    // time-out.
    '--dynamic-config-value',
    'frontend.enableCancelWorkerPollsOnShutdown=true',
    // One partition per queue. With more, a poll is forwarded between them, and a task that arrives while a worker's
    // polls are cancelled is recorded as started and lost on the way: it too would wait for its heartbeat time-out.
    '--dynamic-config-value',
    'matching.numTaskqueueReadPartitions=1',
    '--dynamic-config-value',
    'matching.numTaskqueueWritePartitions=1',
    // The server's HTTP API cannot be disabled, and by default it accepts a form's POST from any page. We do not use
    // it: it answers only for a host name that is never used and that no name server resolves (RFC 6761).
    '--dynamic-config-value',
    `frontend.httpAllowedHosts=["${randomUUID()}.invalid"]`,
  ];
  for (const [key, value] of Object.entries(server.dynamicConfig ?? {})) {
    args.push('--dynamic-config-value', `${key}=${value}`);
  }
  if (server.uiPort === undefined) args.push('--headless');
  else args.push('--ui-port', String(server.uiPort));
  if (server.metricsPort !== undefined) args.push('--metrics-port', String(server.metricsPort));
  if (server.databaseFile !== undefined) {
    // SQLite's defaults halve the rate of starts; with a write-ahead log a killed process still loses nothing.
    args.push('--db-filename', server.databaseFile);
    args.push('--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL');
  }
  for (const [name, type] of Object.entries(server.searchAttributes))
    args.push('--search-attribute', `${name}=${type}`);
  return { command: server.cliPath, args, environment: cliEnvironment(environment) };
}

/** The CLI reads `TEMPORAL_*` itself: our own variables must not reach it. */
function cliEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => /^(PATH|HOME|TMPDIR|TZ|LANG)$/.test(name)));
}

/** Of one attempt to reach it: the next has no more time, so this is what a busy machine may take. */
const CALL_TIMEOUT_MS = 15_000;

/** Waits until the server answers for a namespace; default: that of the dev server. */
export async function waitForTemporal(address: string, signal: AbortSignal, namespace = NAMESPACE): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const connection = await Connection.connect({
        address,
        connectTimeout: CALL_TIMEOUT_MS,
        // It runs on this machine: otherwise gRPC would use a proxy of the environment, and wait forever.
        channelArgs: { 'grpc.enable_http_proxy': 0 },
      });
      try {
        await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          connection.workflowService.describeNamespace({ namespace }),
        );
        return;
      } finally {
        await connection.close();
      }
    } catch {
      await delay(50, undefined, { signal });
    }
  }
}
