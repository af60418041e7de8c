/**
 * The processes below one of ours, as Linux shows them: what a sandboxed child has started takes memory as well, and
 * the first process of its namespace is the one to kill. Everything here returns what can be seen; if nothing can,
 * there is nothing below.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { lowerProcessPriority } from './process-priority.ts';

/**
 * A process has its children by thread; a shell and `unshare` have one thread, and what Node starts begins at its
 * first.
 */
function listChildren(pid: number): readonly number[] {
  return readWords(`/proc/${pid}/task/${pid}/children`).map(Number);
}

/** A process and all below it, `limit` at most. */
function listTree(pid: number, limit: number): readonly number[] {
  const known = [pid];
  for (const process of known) {
    if (known.length < limit) known.push(...listChildren(process));
  }
  return known;
}

/** Lets everything else go first, for every thread that the processes have now. */
export function lowerTreePriority(pid: number, limit: number): void {
  for (const process of listTree(pid, limit)) {
    for (const thread of listThreads(process)) lowerProcessPriority(thread);
  }
}

function listThreads(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** @returns undefined if it has none, or several. */
export function findOnlyChild(pid: number): number | undefined {
  const children = listChildren(pid);
  return children.length === 1 ? children[0] : undefined;
}

/** Pages of memory have this size on every machine that Node is built for, except some ARM machines. */
const PAGE_BYTES = 4096;

/** The unit in which Linux shows processor time, whatever it counts in itself. */
const TICKS_PER_SECOND = 100;

export interface TreeUse {
  readonly processes: number;
  readonly residentMb: number;
  readonly cpuSeconds: number;
}

/**
 * A process and all below it: how many, how many megabytes they have in memory, with shared memory counted for each,
 * and how much processor time they have taken.
 *
 * @param limit how many are counted; if there are that many, there may be more.
 */
export function measureTree(pid: number, limit: number): TreeUse {
  let pages = 0;
  let ticks = 0;
  const known = listTree(pid, limit);
  for (const process of known) {
    pages += Number(readWords(`/proc/${process}/statm`)[1] ?? 0);
    // After the name, which is the second word and may contain blanks: the times of the process itself, in user and
    // system mode.
    const [user, system] = readWords(`/proc/${process}/stat`)
      .join(' ')
      .replace(/^.*\) /, '')
      .split(' ')
      .slice(11, 13);
    ticks += Number(user ?? 0) + Number(system ?? 0);
  }
  return {
    processes: known.length,
    residentMb: (pages * PAGE_BYTES) / 1024 ** 2,
    cpuSeconds: ticks / TICKS_PER_SECOND,
  };
}

/** @returns whether it existed, and was ours to kill. */
export function tryToKill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

function readWords(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}
