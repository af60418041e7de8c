/**
 * A PostgreSQL and a Temporal server of the test's own, which it may end like a power cut and restart on the same
 * data: durable, on files, as `npm start` runs them.
 */
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/processes.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { addPooler, isPooledRun } from '../support/pooled-run.ts';
import { reservePort } from '../support/reserve-port.ts';
import {
  clusterLaunch,
  clusterUrl,
  createCluster,
  findClusterPid,
  waitForCluster,
} from '../../src/standalone/postgres.ts';
import { obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';

/** A server that can be ended without warning and started again. */
export interface KillableServer {
  start(): Promise<void>;
  /** Ends it and waits until it has exited. */
  kill(): Promise<void>;
}

export interface KillableServices {
  readonly postgres: KillableServer;
  readonly temporal: KillableServer;
  /** Deletes all that Temporal knows while it is down. */
  forgetTemporal(): Promise<void>;
  /** What the program connects to: PostgreSQL, or a pooler in front of it (pooled-run.ts). */
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  stop(): Promise<void>;
}

const TEMPORAL_FILE = 'temporal.sqlite';

export async function startKillableServices(): Promise<KillableServices> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-kill-'));
  await chmod(directory, 0o711);
  const cluster = {
    directory: path.join(directory, 'postgres'),
    port: await reservePort(),
    password: 'only-for-tests',
    isDurable: true,
  };
  await createCluster(cluster.directory, cluster.password);
  const temporalPort = await reservePort();
  const temporalAddress = `127.0.0.1:${temporalPort}`;
  const cliPath = await obtainTemporalCli({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    environment: process.env,
    report: () => {},
  });

  const postgres = killable({
    launch: () => clusterLaunch(cluster),
    wait: (signal) => waitForCluster(cluster, signal),
    // An immediate stop: every backend ends at once, nothing is written, the next start recovers from the log.
    end: async () => {
      const pid = await findClusterPid(cluster.directory);
      if (pid !== undefined) process.kill(pid, 'SIGQUIT');
    },
  });
  const temporal = killable({
    launch: async () =>
      temporalServerLaunch(
        {
          cliPath,
          port: temporalPort,
          databaseFile: path.join(directory, TEMPORAL_FILE),
          searchAttributes: SEARCH_ATTRIBUTES,
          dynamicConfig: { 'system.namespaceCacheRefreshInterval': '"200ms"' },
        },
        process.env,
      ),
    wait: (signal) => waitForTemporal(temporalAddress, signal),
    end: async (child) => {
      child.kill('SIGKILL');
    },
  });
  await Promise.all([postgres.start(), temporal.start()]);
  const server = clusterUrl(cluster, 'postgres');
  const pooler = isPooledRun() ? await startPgBouncer(server) : undefined;
  const databaseUrl = pooler?.through(server) ?? server;
  if (pooler !== undefined) addPooler(databaseUrl, server);
  return {
    postgres,
    temporal,
    databaseUrl,
    temporalAddress,
    async forgetTemporal() {
      // With its write-ahead log.
      const files = (await readdir(directory)).filter((name) => name.startsWith(TEMPORAL_FILE));
      for (const name of files) await rm(path.join(directory, name));
    },
    async stop() {
      await Promise.all([postgres.kill(), temporal.kill(), pooler?.stop()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function killable(server: {
  launch: () => Promise<Launch>;
  wait: (signal: AbortSignal) => Promise<void>;
  end: (child: ChildProcess) => Promise<void>;
}): KillableServer {
  let child: ChildProcess | undefined;
  return {
    async start() {
      child = launchProcess(await server.launch());
      child.stdout?.resume();
      child.stderr?.resume();
      await server.wait(AbortSignal.timeout(GIVE_UP_MS));
    },
    async kill() {
      const ending = child;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      const exited = new Promise<void>((resolve) => {
        ending.once('exit', () => resolve());
      });
      await server.end(ending);
      await exited;
    },
  };
}
