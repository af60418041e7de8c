/** Clocks of processes that jump, or are a month off. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../schedule.ts';
import type { World } from '../world/world.ts';
import { counted, sleepUntilMet } from './fault-evidence.ts';
import type { FaultEvidence } from './fault-evidence.ts';

type ClockFault = Extract<Fault, { readonly byMs: number }>;

export async function stepClock(world: World, { target, byMs, forMs }: ClockFault): Promise<FaultEvidence> {
  const since = (await clockReports(world, target)).length;
  await world.setClock(target, byMs);
  await sleep(forMs);
  await world.setClock(target, 0);
  const seen = (await clockReports(world, target)).slice(since).filter((offset) => offset === byMs).length;
  return counted(seen, `processes and threads saw a step of ${Math.round(byMs / 1000)} s`);
}

/** Long and far enough that a process with that clock notices and reports it (docs/decisions/0007). */
export async function skewClock(world: World, { target, byMs, forMs }: ClockFault): Promise<FaultEvidence> {
  const since = await clockComplaints(world, target);
  const complaints = async (): Promise<number> => (await clockComplaints(world, target)) - since;
  await world.setClock(target, byMs);
  await sleepUntilMet(forMs, async () => (await complaints()) > 0);
  await world.setClock(target, 0);
  return counted(await complaints(), `processes found their clock wrong by ${Math.round(byMs / 86_400_000)} days`);
}

async function clockComplaints(world: World, role: 'api' | 'worker'): Promise<number> {
  const logs = await Promise.all(
    [1, 2].map((index) => readFile(`${world.directory}/${role}-${index}.log`, 'utf8').catch(() => '')),
  );
  return logs.reduce((sum, log) => sum + (log.match(/the clock of this process is wrong/g)?.length ?? 0), 0);
}

/** The clock steps that processes of a role have reported, in milliseconds. */
async function clockReports(world: World, role: 'api' | 'worker'): Promise<readonly number[]> {
  const text = await readFile(`${world.directory}/${role}.clock.seen`, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}
