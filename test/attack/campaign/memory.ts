/** How much memory the processes of a campaign hold, as Linux reports it. */
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemorySample } from './verdict.ts';

const LOOK_MS = 2_000;
const KB_PER_MB = 1024;

/** @param parts names and ids of processes. Samples repeatedly until the signal. */
export async function watchMemory(
  parts: () => ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<readonly MemorySample[]> {
  const samples: MemorySample[] = [];
  while (!signal.aborted) {
    const residents = await readResidents();
    for (const [part, pid] of parts()) {
      const processMb = residents.get(pid)?.mb;
      if (processMb === undefined) continue;
      const children = descendants(pid, residents).map((child) => residents.get(child)?.mb ?? 0);
      samples.push({ at: Date.now(), part, processMb, largestChildMb: Math.max(0, ...children) });
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  return samples;
}

interface Resident {
  readonly parent: number;
  readonly mb: number;
}

async function readResidents(): Promise<ReadonlyMap<number, Resident>> {
  const entries = await readdir('/proc').catch(() => []);
  const found = new Map<number, Resident>();
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    // A process that has ended meanwhile has no memory.
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    const [, parent] = /^PPid:\s+(\d+)/m.exec(status) ?? [];
    const [, kb] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
    if (parent !== undefined && kb !== undefined) {
      found.set(Number(entry), { parent: Number(parent), mb: Number(kb) / KB_PER_MB });
    }
  }
  return found;
}

function descendants(pid: number, residents: ReadonlyMap<number, Resident>): readonly number[] {
  const children = [...residents].flatMap(([id, { parent }]) => (parent === pid ? [id] : []));
  return children.flatMap((child) => [child, ...descendants(child, residents)]);
}
