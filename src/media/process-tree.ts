/**
 * The processes below one of ours, as Linux shows them: what a sandboxed child has started takes memory as well, and the
 * first process of its namespace is the one to be killed. Everything here answers with what can be seen; where nothing
 * can, there is nothing below.
 */
import { readFileSync } from 'node:fs';

/** A process has its children by thread; a shell and `unshare` have one thread, and what Node starts begins at its first. */
function childrenOf(pid: number): readonly number[] {
  return wordsOf(`/proc/${pid}/task/${pid}/children`).map(Number);
}

/** @returns undefined where it has none, or several. */
export function onlyChildOf(pid: number): number | undefined {
  const children = childrenOf(pid);
  return children.length === 1 ? children[0] : undefined;
}

/** Pages that a process has in memory are of this size on every machine that Node is built for but some of ARM. */
const PAGE_BYTES = 4096;

/**
 * A process and all below it: how many, and how many megabytes they have in memory, where what they share is counted for
 * each.
 *
 * @param most how many are looked at; where there are so many, there may be more.
 */
export function measureTree(pid: number, most: number): { readonly processes: number; readonly residentMb: number } {
  const known = [pid];
  let pages = 0;
  for (const process of known) {
    pages += Number(wordsOf(`/proc/${process}/statm`)[1] ?? 0);
    if (known.length < most) known.push(...childrenOf(process));
  }
  return { processes: known.length, residentMb: (pages * PAGE_BYTES) / 1024 ** 2 };
}

/** @returns whether it was there, and ours to kill. */
export function tryToKill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

function wordsOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}
