/**
 * What a killed test run leaves on the machine, found by the mark of the run, with which all of its names begin, and
 * removed. Nothing without the mark is touched.
 */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { waitFor } from '@darkroom/testing/wait-for';
import { errorCodeOf } from '../../src/domain/darkroom-error.ts';
import type { RunRecord, RunRecords } from './run-records.ts';

const run = promisify(execFile);

const FILTERS = [
  ['iptables-save', 'iptables'],
  ['ip6tables-save', 'ip6tables'],
] as const;

interface Link {
  readonly ifname: string;
  /** The bridge that it is a port of. */
  readonly master?: string;
  readonly addr_info?: readonly { readonly family: string; readonly local: string }[];
}

/**
 * Removes what dead runs have left.
 *
 * @returns the runs that are alive, which keep theirs.
 */
export async function removeLeftovers(records: RunRecords): Promise<readonly RunRecord[]> {
  const runs = await records.list();
  for (const dead of runs.filter(({ isAlive }) => !isAlive)) {
    if (dead.directory !== undefined) await endProcesses(dead.directory);
    await removeNamespaces(dead.mark);
    await removeRules(dead.mark);
    await removeLinks(dead.mark);
    if (dead.directory !== undefined) await removeDirectory(dead.directory);
    await records.remove(dead.mark);
  }
  return runs.filter(({ isAlive }) => isAlive);
}

/** @returns the links that have an address in a network. @param network `10.0.0.0/24`. */
export async function linksIn(network: string): Promise<readonly string[]> {
  const range = ipaddr.IPv4.parseCIDR(network);
  const isInside = ({ family, local }: { readonly family: string; readonly local: string }): boolean =>
    family === 'inet' && ipaddr.IPv4.parse(local).match(range);
  return (await listLinks('addr')).filter(({ addr_info }) => addr_info?.some(isInside)).map(({ ifname }) => ifname);
}

async function listLinks(what: 'link' | 'addr' = 'link'): Promise<readonly Link[]> {
  const { stdout } = await run('ip', ['-json', what, 'show']);
  return JSON.parse(stdout) as readonly Link[];
}

/** Also those that other programs have named, which are ports of its bridges: the far ends go with them. */
async function removeLinks(mark: string): Promise<void> {
  const links = (await listLinks()).filter(({ ifname, master }) => isOf(mark, ifname) || isOf(mark, master));
  for (const { ifname } of links) {
    // It was the other end of one of these.
    await run('ip', ['link', 'delete', ifname]).catch(async (error: unknown) => {
      if ((await listLinks()).some((link) => link.ifname === ifname)) throw error;
    });
  }
}

/** With their processes: those that are left would have no network. */
async function removeNamespaces(mark: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list']);
  for (const line of stdout.split('\n')) {
    const [name = ''] = line.split(' ');
    if (!isOf(mark, name)) continue;
    for (const pid of (await run('ip', ['netns', 'pids', name])).stdout.split('\n')) {
      if (pid !== '') kill(Number(pid));
    }
    await run('ip', ['netns', 'delete', name]);
  }
}

async function removeRules(mark: string): Promise<void> {
  for (const [save, change] of FILTERS) {
    const { stdout } = await run(save).catch(() => ({ stdout: '' }));
    let table = '';
    for (const line of stdout.split('\n')) {
      if (line.startsWith('*')) table = line.slice(1);
      const [append, ...rule] = line.split(' ');
      if (append === '-A' && rule.some((word) => isOf(mark, word))) await run(change, ['-t', table, '-D', ...rule]);
    }
  }
}

function isOf(mark: string, name: string | undefined): boolean {
  return name === mark || name?.startsWith(`${mark}-`) === true;
}

/** Ends the processes that have a directory in their command line, and what they have started. */
async function endProcesses(directory: string): Promise<void> {
  await waitFor('the processes of a dead run have ended', async () => {
    const left = await processesOf(directory);
    for (const pid of left) kill(pid);
    return left.length === 0;
  });
}

async function processesOf(directory: string): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-e', '-ww', '-o', 'pid=,ppid=,stat=,args='], { maxBuffer: 64 * 1024 * 1024 });
  const processes = stdout.split('\n').flatMap((line) => {
    const [, pid, parent, stat = '', args = ''] = /^ *(\d+) +(\d+) +(\S+) (.*)$/.exec(line) ?? [];
    return pid === undefined || stat.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent), args }];
  });
  const found = new Set(processes.filter(({ args }) => args.includes(`${directory}/`)).map(({ pid }) => pid));
  // What a container runs is a child of its shim.
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of processes) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has ended meanwhile.
    if (errorCodeOf(error) !== 'ESRCH') throw error;
  }
}

/** With what is mounted in it: namespaces of containers. */
async function removeDirectory(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.toReversed()) {
    if (mount.startsWith(`${directory}/`)) await run('umount', ['--lazy', mount]);
  }
  await rm(directory, { recursive: true, force: true });
}
