/**
 * A PostgreSQL and its standby, which streams the log of the first. The link between the two can be cut, as by a
 * network or a standby that lags. At a failover the first is lost, and the standby takes over its role and its address.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/processes.ts';
import {
  clusterLaunch,
  clusterUrl,
  createCluster,
  findClusterPid,
  waitForCluster,
} from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { openLink } from '../chaos/world/proxy.ts';
import { reservePort } from '../support/reserve-port.ts';
import { hasStandby, prepareStandby, promote } from '../support/standby.ts';

export interface PostgresPair {
  /** Of the server that is in charge. */
  readonly databaseUrl: string;
  /** From now on the standby receives nothing. */
  cut(): void;
  /** Ends the first server without warning, and puts the standby in its place. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/** @param isSynchronous whether a commit waits until the standby has it on disk. */
export async function startPostgresPair(isSynchronous: boolean): Promise<PostgresPair> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-pair-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const first: Cluster = {
    directory: path.join(directory, 'first'),
    port: await reservePort(),
    password: 'only-for-tests',
    isDurable: true,
  };
  const standby: Cluster = { ...first, directory: path.join(directory, 'standby'), port: await reservePort() };
  const link = await openLink(first.port);
  await createCluster(first.directory, first.password);
  await prepareStandby(first, standby, { host: '127.0.0.1', port: link.port }, isSynchronous);

  const running = new Map<Cluster, ChildProcess>();
  const start = async (cluster: Cluster): Promise<void> => {
    const child = launchProcess(await clusterLaunch(cluster));
    running.set(cluster, child);
    child.stdout?.resume();
    child.stderr?.resume();
    await waitForCluster(cluster, AbortSignal.timeout(GIVE_UP_MS));
  };
  const end = async (cluster: Cluster, signal: NodeJS.Signals): Promise<void> => {
    const child = running.get(cluster);
    running.delete(cluster);
    const pid = await findClusterPid(cluster.directory);
    if (child === undefined || child.exitCode !== null || pid === undefined) return;
    const exited = once(child, 'exit');
    process.kill(pid, signal);
    await exited;
  };
  await Promise.all([start(first), start(standby)]);
  const databaseUrl = clusterUrl(first, 'postgres');
  await waitFor('the standby receives the log', () => hasStandby(databaseUrl, isSynchronous ? 'sync' : 'async'));

  return {
    databaseUrl,
    cut: () => void link.set('half-open'),
    async failOver() {
      // Every backend ends at once, as with the machine.
      await end(first, 'SIGQUIT');
      await promote(clusterUrl(standby, 'postgres'));
      await end(standby, 'SIGINT');
      await start({ ...standby, port: first.port });
    },
    async stop() {
      await Promise.all([...running.keys()].map((cluster) => end(cluster, 'SIGQUIT')));
      await link.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
