/**
 * The services of a test run: one PostgreSQL and one Temporal dev server, real ones, started once for all test files.
 * Each file has a database and task queues of its own.
 */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/processes.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { whyNoPgBouncer } from './pgbouncer-program.ts';
import { reservePort } from './reserve-port.ts';
import { clusterLaunch, clusterUrl, createCluster, waitForCluster } from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';

export interface TestServices {
  /** A URL with the privilege to create databases. */
  readonly databaseUrl: string;
  /** The same through a pooler, if the run has one (pooled-run.ts). */
  readonly poolerUrl: string | undefined;
  readonly temporalAddress: string;
  /** The metrics of the Temporal server itself, among them what Temporal Cloud would bill. */
  readonly temporalMetricsUrl: string;
  /** The CLI, for tests that use the server as an operator does. */
  readonly temporalCli: string;
  stop(): Promise<void>;
}

/** Starts both; the caller must call `stop`, also after a failure of its own. */
export async function startServices(
  searchAttributes: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv,
  report: (line: string) => void,
): Promise<TestServices> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-test-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const isPooled = readPooler(environment);
  const running: Pick<RunningProcess, 'stop'>[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const temporalCli = await obtainTemporalCli({ cliPath: environment['TEMPORAL_CLI_PATH'], environment, report });
    const [postgresPort, temporalPort, metricsPort] = [await reservePort(), await reservePort(), await reservePort()];
    const cluster: Cluster = {
      directory: path.join(directory, 'postgres'),
      port: postgresPort,
      password: 'only-for-tests',
      isDurable: false,
      // Several files at once, each with the pools of several processes.
      maxConnections: 400,
    };
    const temporalAddress = `127.0.0.1:${temporalPort}`;
    const temporal = temporalServerLaunch(
      {
        cliPath: temporalCli,
        port: temporalPort,
        metricsPort,
        searchAttributes,
        // Each test file creates a namespace of its own, which by default is known everywhere only after 2 s.
        dynamicConfig: { 'system.namespaceCacheRefreshInterval': '"200ms"' },
      },
      environment,
    );
    await Promise.all([
      startTemporal(),
      createCluster(cluster.directory, cluster.password).then(async () => {
        const server = startProcess('PostgreSQL', await clusterLaunch(cluster), 'SIGINT');
        running.push(server);
        await server.ready((signal) => waitForCluster(cluster, signal));
      }),
    ]);
    const databaseUrl = clusterUrl(cluster, 'postgres');
    const pooler = isPooled ? await startPgBouncer(databaseUrl) : undefined;
    if (pooler !== undefined) running.push(pooler);
    return {
      databaseUrl,
      poolerUrl: pooler?.through(databaseUrl),
      temporalAddress,
      temporalMetricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
      temporalCli,
      stop,
    };

    async function startTemporal(): Promise<void> {
      const server = startProcess('Temporal', temporal, 'SIGTERM');
      running.push(server);
      await server.ready((signal) => waitForTemporal(temporalAddress, signal));
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whether the program reaches PostgreSQL through PgBouncer in this run. */
function readPooler(environment: NodeJS.ProcessEnv): boolean {
  const { DARKROOM_TEST_POOLER: pooler = '' } = environment;
  if (pooler === '') return false;
  if (pooler !== 'pgbouncer') throw new Error(`DARKROOM_TEST_POOLER: "${pooler}" is not pgbouncer`);
  const reason = whyNoPgBouncer();
  if (reason !== false) throw new Error(`DARKROOM_TEST_POOLER: there is no PgBouncer here: ${reason}`);
  return true;
}

interface RunningProcess {
  ready(wait: (signal: AbortSignal) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

const KEPT_OUTPUT_CHARACTERS = 4_000;
const STOP_TIMEOUT_MS = 3_000;

function startProcess(name: string, launch: Launch, stopSignal: NodeJS.Signals): RunningProcess {
  const child = launchProcess(launch);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
    });
  }
  return {
    async ready(wait) {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), GIVE_UP_MS);
      void exited.then(() => controller.abort());
      try {
        await wait(controller.signal);
      } catch (error) {
        throw new Error(`${name} did not start:\n${output}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    stop: () => stopProcess(child, stopSignal, exited),
  };
}

async function stopProcess(child: ChildProcess, signal: NodeJS.Signals, exited: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
  if (child.stdout?.closed === false) await once(child.stdout, 'close');
}
