/** The memory of processes and of everything that they started, sampled repeatedly. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Media children live for seconds. */
const SAMPLE_EVERY_MS = 500;

/** Resident memory in kB. Pages that processes share are counted for each of them: this is an upper bound. */
export interface TreeMemory {
  readonly kb: number;
  /** Processes, the first one included. */
  readonly processes: number;
}

export interface MemoryWatch<Name extends string> {
  /** Stops sampling. @returns the highest sample of each tree. */
  stop(): Promise<Readonly<Record<Name, TreeMemory>>>;
}

/** Takes one sample. @param roots the pid of each tree's first process. */
export async function treeMemory<Name extends string>(
  roots: Readonly<Record<Name, number>>,
): Promise<Record<Name, TreeMemory>> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found: Partial<Record<Name, TreeMemory>> = {};
  for (const name of Object.keys(roots) as Name[]) {
    const tree = new Set([roots[name]]);
    // A child's pid can be lower than its parent's: repeat until nothing is added.
    for (let size = 0; size !== tree.size;) {
      size = tree.size;
      for (const [pid = 0, parent = 0] of rows) if (tree.has(parent)) tree.add(pid);
    }
    const own = rows.filter(([pid = 0]) => tree.has(pid));
    found[name] = { kb: own.reduce((sum, [, , kb = 0]) => sum + kb, 0), processes: own.length };
  }
  return found as Record<Name, TreeMemory>;
}

/** Starts sampling. */
export function watchMemory<Name extends string>(roots: Readonly<Record<Name, number>>): MemoryWatch<Name> {
  const stopping = new AbortController();
  const watching = (async () => {
    const peak = await treeMemory(roots);
    while (!stopping.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
      const now = await treeMemory(roots);
      for (const name of Object.keys(roots) as Name[]) if (now[name].kb > peak[name].kb) peak[name] = now[name];
    }
    return peak;
  })();
  return {
    stop() {
      stopping.abort();
      return watching;
    },
  };
}
