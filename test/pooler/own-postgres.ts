/** A PostgreSQL of one test file, which may kill it. Its commits survive that. */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/processes.ts';
import { clusterLaunch, clusterUrl, createCluster, waitForCluster } from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { reservePort } from '../support/reserve-port.ts';

export interface OwnPostgres {
  readonly url: string;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** After it was killed. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-own-postgres-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const cluster: Cluster = {
    directory: path.join(directory, 'postgres'),
    port: await reservePort(),
    password: 'only-for-tests',
    isDurable: true,
  };
  await createCluster(cluster.directory, cluster.password);
  let child: ChildProcess | undefined;
  const postgres: OwnPostgres = {
    url: clusterUrl(cluster, 'postgres'),
    async start() {
      const launch = await clusterLaunch(cluster);
      const signal = AbortSignal.timeout(GIVE_UP_MS);
      for (;;) {
        const launched = launchProcess(launch);
        child = launched;
        const ended = once(launched, 'exit', { signal }).then(() => false);
        // It does not start while processes of one that was killed are still there.
        if (await Promise.race([waitForCluster(cluster, signal).then(() => true), ended])) return;
      }
    },
    async kill(signal) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
    async stop() {
      await postgres.kill('SIGINT');
      await rm(directory, { recursive: true, force: true });
    },
  };
  await postgres.start();
  return postgres;
}
