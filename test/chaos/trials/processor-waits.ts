/**
 * How long the processes of a campaign wait for a processor that others use, compared with the time that they run.
 * Latencies of two periods can be compared only if that was similar: a busier machine delays every account. Time
 * spent waiting for a lock does not count, because it is not time waiting for a processor.
 */
import { readFile, readdir } from 'node:fs/promises';

const NS_PER_MS = 1_000_000;

export interface ProcessorTime {
  /** Milliseconds. */
  readonly ran: number;
  /** Milliseconds in which it could have run. */
  readonly waited: number;
}

/**
 * Of this process and its living descendants, since each of their threads started; empty if the system does not
 * report it.
 */
export async function readProcessorTime(): Promise<ReadonlyMap<string, ProcessorTime>> {
  const times = new Map<string, ProcessorTime>();
  const ids = await listOwnProcesses().catch((): readonly number[] => []);
  await Promise.all(
    ids.map(async (id) => {
      const threads = await readdir(`/proc/${id}/task`).catch(() => []);
      for (const thread of threads) {
        const time = await readThread(`/proc/${id}/task/${thread}/schedstat`);
        if (time !== undefined) times.set(`${id}/${thread}`, time);
      }
    }),
  );
  return times;
}

/**
 * @returns milliseconds of waiting per millisecond of running, from one reading to the other; 0 if nothing is known.
 */
export function waitsBetween(
  before: ReadonlyMap<string, ProcessorTime>,
  after: ReadonlyMap<string, ProcessorTime>,
): number {
  let [ran, waited] = [0, 0];
  for (const [thread, time] of after) {
    const { ran: ranBefore, waited: waitedBefore } = before.get(thread) ?? { ran: 0, waited: 0 };
    ran += time.ran - ranBefore;
    waited += time.waited - waitedBefore;
  }
  return ran === 0 ? 0 : waited / ran;
}

async function listOwnProcesses(): Promise<readonly number[]> {
  const ids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const parents = new Map<number, number>();
  await Promise.all(
    ids.map(async (id) => {
      const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
      // The name before it may contain anything.
      const [, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (parent !== undefined) parents.set(id, Number(parent));
    }),
  );
  const isOwn = (id: number): boolean => {
    for (let each: number | undefined = id; each !== undefined; each = parents.get(each)) {
      if (each === process.pid) return true;
    }
    return false;
  };
  return ids.filter(isOwn);
}

/** @returns undefined if it has ended meanwhile. */
async function readThread(file: string): Promise<ProcessorTime | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const [ran = Number.NaN, waited = Number.NaN] = (text ?? '').split(' ').map(Number);
  return Number.isNaN(waited) ? undefined : { ran: ran / NS_PER_MS, waited: waited / NS_PER_MS };
}
