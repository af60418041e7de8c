/** The resident memory of the api and of the worker during a run, whichever processes they are at the time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../measures.ts';
import { treeMemory } from '../videos/memory.ts';
import type { Installation } from './installation.ts';

const SAMPLE_EVERY_MS = 2_000;
/** Ten minutes: a process that has just started grows for one or two. */
const COMPARABLE_SAMPLES = 300;

export type MemoryRole = 'api' | 'worker';

/** In MB: medians of the first and of the last third of the run, and the highest sample. */
export interface MemoryCourse {
  readonly first: number;
  readonly last: number;
  readonly peak: number;
  /** Whether the run was so long that processes were warm in both thirds. */
  readonly isComparable: boolean;
}

export interface MemoryWatch {
  stop(): Promise<Readonly<Record<MemoryRole, MemoryCourse>>>;
}

export function watchResidentMemory({ api, worker }: Pick<Installation, MemoryRole>): MemoryWatch {
  const stopping = new AbortController();
  const samples: Record<MemoryRole, number[]> = { api: [], worker: [] };
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      // Between a kill and the next start there is nothing to measure.
      if (api.isRunning && worker.isRunning) {
        const sample = await treeMemory({ api: api.pid, worker: worker.pid });
        for (const role of ['api', 'worker'] as const) {
          if (sample[role].processes > 0) samples[role].push(sample[role].kb / 1_024);
        }
      }
      await sleep(SAMPLE_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await watching;
      return { api: courseOf(samples.api), worker: courseOf(samples.worker) };
    },
  };
}

/** @throws {RangeError} there are no samples. */
function courseOf(samples: readonly number[]): MemoryCourse {
  const third = Math.ceil(samples.length / 3);
  return {
    first: median(samples.slice(0, third)),
    last: median(samples.slice(-third)),
    peak: Math.max(...samples),
    isComparable: samples.length >= COMPARABLE_SAMPLES,
  };
}
