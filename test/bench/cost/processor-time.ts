/** The processor time that processes have used, from Linux' /proc. */
import { readFile, readdir } from 'node:fs/promises';

/** Linux counts in hundredths of a second on every machine that we run on. */
const MS_PER_TICK = 10;

interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  /** Of the process and of all its children that have ended, in milliseconds. */
  readonly ms: number;
}

/** The time used so far by a process and all of its descendants. @throws {Error} there is no /proc. */
export async function processorMsOf(pid: number): Promise<number> {
  const [ms = 0] = await processorMsOfEach([pid]);
  return ms;
}

/** The same for several processes at one moment. */
export async function processorMsOfEach(pids: readonly number[]): Promise<readonly number[]> {
  const all = await readTimes();
  const own = new Map(all.map((each) => [each.pid, each.ms]));
  const children = new Map<number, ProcessTimes[]>();
  for (const each of all) children.set(each.parent, [...(children.get(each.parent) ?? []), each]);
  const total = (pid: number): number =>
    (own.get(pid) ?? 0) + (children.get(pid) ?? []).reduce((sum, child) => sum + total(child.pid), 0);
  return pids.map(total);
}

async function readTimes(): Promise<readonly ProcessTimes[]> {
  const names = await readdir('/proc').catch((error: unknown) => {
    throw new Error('processor time can be measured on Linux only', { cause: error });
  });
  const pids = names.filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)));
  return found.flatMap((stat) => (stat === undefined ? [] : [parseStat(stat)]));
}

/** See proc_pid_stat(5). The second field, the program's name, may contain blanks and parentheses. */
function parseStat(stat: string): ProcessTimes {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  return { pid: Number.parseInt(stat, 10), parent: field(4), ms: ticks * MS_PER_TICK };
}
