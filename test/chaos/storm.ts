/**
 * Injects the planned faults, each at its time and at most one at once into the same target, and records what each of
 * them affected: a fault without evidence has not fired.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { skewClock, stepClock } from './faults/clocks.ts';
import type { FaultEvidence } from './faults/fault-evidence.ts';
import { openClient, pauseTemporal, suspendDuringBatch } from './faults/durable.ts';
import { fullDisk } from './faults/full-disk.ts';
import { badLinks } from './faults/links.ts';
import { misbehavingProvider, misbehavingReceivers } from './faults/misbehaviour.ts';
import { endAndStart, pause } from './faults/processes.ts';
import { loseCommits } from './lose-commits.ts';
import type { Fault } from './schedule.ts';
import { ALONE, LINKS, PARTS } from './schedule.ts';
import { deploy } from './trials/deploy.ts';
import { freeze } from './trials/freeze.ts';
import { neighbours } from './trials/neighbours.ts';
import { slowArchives } from './trials/slow-archives.ts';
import type { TrialRoom } from './trials/trial.ts';
import type { World } from './world/world.ts';

/** By this factor clients wait longer between tasks while latencies are measured. */
const SLOW_PACE = 8;

export interface FaultRecord extends FaultEvidence {
  readonly fault: Fault;
  /** Unix milliseconds. */
  readonly begun: number;
  readonly ended: number;
}

/** Resolves when the last of them is over. Faults that are injected alone come when all others are over and healed. */
export async function runStorm(
  room: TrialRoom,
  plan: readonly Fault[],
  report: (line: string) => void,
): Promise<readonly FaultRecord[]> {
  const start = Date.now();
  const together = await runTogether(
    room,
    plan.filter(({ kind }) => !ALONE.includes(kind)),
    report,
  );
  const alone: FaultRecord[] = [];
  const trials = plan.filter(({ kind }) => ALONE.includes(kind));
  if (trials.length > 0) await heal(room.world);
  for (const [index, fault] of trials.entries()) {
    await sleep(Math.max(0, fault.atMs - (Date.now() - start)));
    report(`${secondsSince(start)} s: ${fault.kind} ${fault.target}, alone`);
    alone.push(await record(fault, () => tryAlone(room, fault, `trial-${index}`)));
  }
  return [...together, ...alone];
}

async function tryAlone(room: TrialRoom, { kind, target, forMs }: Fault, name: string): Promise<FaultEvidence> {
  if (kind === 'freeze') return withSlowClients(room, () => freeze(room, target, name));
  if (kind === 'slow-archives') return withSlowClients(room, () => slowArchives(room, name));
  if (kind === 'neighbour') return neighbours(room, name);
  return deploy(room, name, forMs);
}

/** A busy machine delays every account: then a delay by another account cannot be measured. */
async function withSlowClients({ pace }: TrialRoom, measure: () => Promise<FaultEvidence>): Promise<FaultEvidence> {
  pace.factor = SLOW_PACE;
  try {
    return await measure();
  } finally {
    pace.factor = 1;
  }
}

async function record(fault: Fault, work: () => Promise<FaultEvidence>): Promise<FaultRecord> {
  const begun = Date.now();
  const evidence = await work().catch((error: unknown) => ({
    hasFired: false,
    evidence: `failed: ${error instanceof Error ? error.message : String(error)}`,
  }));
  return { fault, begun, ended: Date.now(), ...evidence };
}

function secondsSince(start: number): string {
  return ((Date.now() - start) / 1000).toFixed(1);
}

async function runTogether(
  room: TrialRoom,
  plan: readonly Fault[],
  report: (line: string) => void,
): Promise<readonly FaultRecord[]> {
  const nameOf = (fault: Fault): string => `${fault.kind}-${plan.indexOf(fault)}`;
  // One that is opened later may be among what the database loses.
  for (const fault of plan)
    if (fault.kind === 'suspend' || fault.kind === 'unheard') await openClient(room, nameOf(fault));
  const start = Date.now();
  const busy = new Map<string, Promise<unknown>>();
  return Promise.all(
    plan.map(async (fault) => {
      await sleep(fault.atMs);
      const lane = laneOf(fault);
      const before = busy.get(lane) ?? Promise.resolve();
      const done = before.then((): Promise<FaultRecord> => {
        report(`${secondsSince(start)} s: ${fault.kind} ${fault.target} for ${fault.forMs / 1000} s`);
        return record(fault, () => apply(room, fault, nameOf(fault)));
      });
      busy.set(lane, done);
      return done;
    }),
  );
}

/** What cannot be done to the same target at once. */
function laneOf({ kind, target }: Fault): string {
  if (kind === 'disk-full') return target === 's3' ? 'links of s3' : 'postgres';
  if (target === 'api-s3' || target === 'worker-s3') return 'links of s3';
  // A suspension that began or ended with commits that are lost would do so again.
  if (kind === 'suspend') return 'postgres';
  if (kind === 'provider-misbehaves' || kind === 'receiver-misbehaves') return kind;
  if (kind === 'clock-step' || kind === 'clock-skew') return `clock of ${target}`;
  return target;
}

async function apply(room: TrialRoom, fault: Fault, name: string): Promise<FaultEvidence> {
  const { world } = room;
  switch (fault.kind) {
    case 'kill':
    case 'restart':
      return endAndStart(world, fault);
    case 'pause':
      return pause(world, fault);
    case 'disk-full':
      return fault.target === 's3'
        ? badLinks(world, ['api-s3', 'worker-s3'], 'full', fault.forMs)
        : fullDisk(world, fault.forMs);
    case 'clock-step':
      return stepClock(world, fault);
    case 'clock-skew':
      return skewClock(world, fault);
    case 'lost-commits': {
      const { from, until, gone, reopened } = await loseCommits(world, fault.forMs);
      const evidence = `${gone} tasks are gone, and ${reopened} that were over are open again`;
      return { hasFired: gone + reopened > 0, evidence, lost: { from, until } };
    }
    case 'suspend':
      return suspendDuringBatch(room, name, fault.forMs);
    case 'unheard':
      return pauseTemporal(room, name, fault.forMs);
    case 'provider-misbehaves':
      return misbehavingProvider(world, fault);
    case 'receiver-misbehaves':
      return misbehavingReceivers(world, fault);
    case 'freeze':
    case 'slow-archives':
    case 'deploy':
    case 'neighbour':
      throw new Error(`${fault.kind} is done alone`);
    default:
      return badLinks(world, [fault.target], fault.kind, fault.forMs);
  }
}

/** Ends every fault that is still active. */
export async function heal(world: World): Promise<void> {
  for (const name of LINKS) for (const link of world.links(name)) link.set('pass');
  await Promise.all([world.setClock('api', 0), world.setClock('worker', 0)]);
  world.part('provider').send({ mode: 'normal' });
  world.part('receivers').send({ mode: 'normal' });
  await Promise.all(
    PARTS.filter((name) => name !== 's3' || world.whyNoS3 === undefined).map(async (name) => {
      const part = world.part(name);
      part.signal('SIGCONT');
      if (part.pid === undefined) await part.start();
    }),
  );
}
