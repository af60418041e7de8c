/**
 * Gives processes less than the machine has. `startQuota` makes it a slow one, for a run that shows which tests depend on
 * its speed: this process, and all that it starts from now on, gets a share of the processors.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const CGROUPS = '/sys/fs/cgroup';
const PERIOD_US = 100_000;

/** Ends the quota. */
export type EndQuota = () => Promise<void>;

/**
 * @param share of all processors, between 0 and 1.
 * @returns what ends it, which the caller does once everything that it started has ended.
 */
export async function startQuota(share: number, report: (line: string) => void): Promise<EndQuota> {
  if (!(share > 0 && share < 1)) throw new Error(`--quota: ${share} is not a share between 0 and 1`);
  try {
    return await startControlGroup(share);
  } catch (error) {
    report(`A control group cannot be made (${String(error)}): busy processes take the rest of the processors.`);
    return startBusyProcesses(share);
  }
}

async function startControlGroup(share: number): Promise<EndQuota> {
  const group = await openControlGroup('quota', share * os.availableParallelism());
  await group.enter(process.pid).catch(async (error: unknown) => {
    await group.close();
    throw error;
  });
  return async () => {
    await group.leave(process.pid);
    await group.close();
  };
}

/** A control group of processes that share a quota of processor time. */
export interface ControlGroup {
  enter(pid: number): Promise<void>;
  leave(pid: number): Promise<void>;
  /** A process that is still in it keeps its quota, and the group stays. */
  close(): Promise<void>;
}

/** @param cores that its processes may use together. @throws {Error} this machine does not let us make one. */
export async function openControlGroup(name: string, cores: number): Promise<ControlGroup> {
  const isVersion2 = existsSync(path.join(CGROUPS, 'cgroup.controllers'));
  const parent = isVersion2 ? CGROUPS : path.join(CGROUPS, 'cpu');
  const group = path.join(parent, `darkroom-${name}-${process.pid}`);
  const quotaUs = Math.round(cores * PERIOD_US);
  if (isVersion2) await writeFile(path.join(parent, 'cgroup.subtree_control'), '+cpu');
  await mkdir(group);
  const move = (directory: string, pid: number): Promise<void> =>
    writeFile(path.join(directory, 'cgroup.procs'), String(pid));
  const close = (): Promise<void> => rmdir(group).catch(() => undefined);
  try {
    if (isVersion2) {
      await writeFile(path.join(group, 'cpu.max'), `${quotaUs} ${PERIOD_US}`);
    } else {
      await writeFile(path.join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
      await writeFile(path.join(group, 'cpu.cfs_quota_us'), String(quotaUs));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { enter: (pid) => move(group, pid), leave: (pid) => move(parent, pid), close };
}

/** So many that they get the rest, as long as one thread of ours wants each processor. */
function startBusyProcesses(share: number): EndQuota {
  const count = Math.round(os.availableParallelism() * (1 / share - 1));
  // They end with this process, however it ends.
  const loop = 'const parent = process.ppid; while (process.ppid === parent);';
  const busy = Array.from({ length: count }, () => spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }));
  return async () => {
    for (const child of busy) child.kill('SIGKILL');
  };
}
