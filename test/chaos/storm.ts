/**
 * Does to the world what the plan says, each fault in its time and at most one at once to the same target, and writes down
 * what each of them met: a fault without evidence has not fired.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findClusterPid } from '../../src/embedded/postgres.ts';
import { readLedger } from './ledger-file.ts';
import { childrenOf, loseCommits } from './lose-commits.ts';
import type { ProviderLine } from './provider/ledger.ts';
import type { ReceiverLine } from './receivers/log.ts';
import type { Fault } from './schedule.ts';
import { ALONE, LINKS, PARTS } from './schedule.ts';
import type { LinkName, PartName } from './schedule.ts';
import { deploy } from './trials/deploy.ts';
import { freeze } from './trials/freeze.ts';
import { neighbours } from './trials/neighbours.ts';
import { slowArchives } from './trials/slow-archives.ts';
import type { TrialRecord, TrialRoom } from './trials/trial.ts';
import type { Link, LinkState, LinkTally } from './world/proxy.ts';
import type { World } from './world/world.ts';

export interface FaultRecord {
  readonly fault: Fault;
  /** Unix milliseconds. */
  readonly begun: number;
  readonly ended: number;
  readonly hasFired: boolean;
  readonly evidence: string;
  /** When commits were made that the database lost: Unix milliseconds. */
  readonly lost?: { readonly from: number; readonly until: number };
  readonly trial?: TrialRecord;
}

type ClockFault = Extract<Fault, { readonly byMs: number }>;
type Evidence = Pick<FaultRecord, 'hasFired' | 'evidence' | 'lost' | 'trial'>;

/** Resolves when the last of them is over. What is done alone comes when all others are over, and is healed first. */
export async function runStorm(
  room: TrialRoom,
  plan: readonly Fault[],
  report: (line: string) => void,
): Promise<readonly FaultRecord[]> {
  const start = Date.now();
  const together = await runTogether(
    room.world,
    plan.filter(({ kind }) => !ALONE.includes(kind)),
    report,
  );
  const alone: FaultRecord[] = [];
  const trials = plan.filter(({ kind }) => ALONE.includes(kind));
  if (trials.length > 0) await heal(room.world);
  for (const [place, fault] of trials.entries()) {
    await sleep(Math.max(0, fault.atMs - (Date.now() - start)));
    report(`${secondsSince(start)} s: ${fault.kind} ${fault.target}, alone`);
    alone.push(await record(fault, () => tryAlone(room, fault, `trial-${place}`)));
  }
  return [...together, ...alone];
}

async function tryAlone(room: TrialRoom, { kind, target, forMs }: Fault, name: string): Promise<Evidence> {
  if (kind === 'freeze') return freeze(room, target, name);
  if (kind === 'slow-archives') return slowArchives(room, name);
  if (kind === 'neighbour') return neighbours(room, name);
  return deploy(room, name, forMs);
}

async function record(fault: Fault, work: () => Promise<Evidence>): Promise<FaultRecord> {
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
  world: World,
  plan: readonly Fault[],
  report: (line: string) => void,
): Promise<readonly FaultRecord[]> {
  const start = Date.now();
  const busy = new Map<string, Promise<unknown>>();
  return Promise.all(
    plan.map(async (fault) => {
      await sleep(fault.atMs);
      const lane = laneOf(fault);
      const before = busy.get(lane) ?? Promise.resolve();
      const done = before.then((): Promise<FaultRecord> => {
        report(`${secondsSince(start)} s: ${fault.kind} ${fault.target} for ${fault.forMs / 1000} s`);
        return record(fault, () => apply(world, fault));
      });
      busy.set(lane, done);
      return done;
    }),
  );
}

/** What cannot be done to the same thing at once. */
function laneOf({ kind, target }: Fault): string {
  if (kind === 'disk-full') return target === 's3' ? 'links of s3' : 'postgres';
  if (target === 'api-s3' || target === 'worker-s3') return 'links of s3';
  if (kind === 'provider-misbehaves' || kind === 'receiver-misbehaves') return kind;
  if (kind === 'clock-step' || kind === 'clock-skew') return `clock of ${target}`;
  return target;
}

async function apply(world: World, fault: Fault): Promise<Evidence> {
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
    case 'provider-misbehaves': {
      const since = Date.now();
      const count = async (): Promise<number> => {
        const lines = await readLedger<ProviderLine>(world.files.provider);
        return lines.filter((line) => line.kind === 'misbehaved' && line.at >= since).length;
      };
      await inMode(world, 'provider', fault, async () => (await count()) > 0);
      return counted(await count(), 'requests met it');
    }
    case 'receiver-misbehaves': {
      const since = Date.now();
      const count = async (): Promise<number> => {
        const lines = await readLedger<ReceiverLine>(world.files.receivers);
        return lines.filter((line) => line.kind === 'received' && line.mode === fault.target && line.at >= since)
          .length;
      };
      await inMode(world, 'receivers', fault, async () => (await count()) > 0);
      return counted(await count(), 'callbacks met it');
    }
    case 'freeze':
    case 'slow-archives':
    case 'deploy':
    case 'neighbour':
      throw new Error(`${fault.kind} is done alone`);
    default:
      return badLinks(world, [fault.target], fault.kind, fault.forMs);
  }
}

/** A fault that has met nothing in its time goes on for as much longer, and no longer than this: 30 s. */
const MOST_LONGER_MS = 30_000;
const LOOK_EVERY_MS = 500;

async function sleepUntilMet(forMs: number, isMet: () => boolean | Promise<boolean>): Promise<void> {
  await sleep(forMs);
  const deadline = Date.now() + MOST_LONGER_MS;
  while (!(await isMet()) && Date.now() < deadline) await sleep(LOOK_EVERY_MS);
}

async function endAndStart(
  world: World,
  { kind, target, forMs }: { kind: string; target: PartName; forMs: number },
): Promise<Evidence> {
  if (target === 's3' && world.whyNoS3 !== undefined) return { hasFired: false, evidence: world.whyNoS3 };
  const part = world.part(target);
  const exit = await (kind === 'kill' ? part.kill() : part.stop());
  if (kind === 'kill') await sleep(forMs);
  const begun = Date.now();
  await part.start();
  return {
    hasFired: exit !== 'was down',
    evidence: `ended with ${exit}, ready ${Date.now() - begun} ms after its start`,
  };
}

async function pause(world: World, { target, forMs }: { target: PartName; forMs: number }): Promise<Evidence> {
  if (target === 's3' && world.whyNoS3 !== undefined) return { hasFired: false, evidence: world.whyNoS3 };
  const part = world.part(target);
  const { pid } = part;
  part.signal('SIGSTOP');
  await sleep(forMs / 2);
  const state =
    pid === undefined ? '' : (/^State:\s+(\S)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '');
  await sleep(forMs / 2);
  part.signal('SIGCONT');
  return { hasFired: state === 'T', evidence: `its state in the middle of it: ${state || 'none'}` };
}

async function badLinks(world: World, names: readonly LinkName[], state: LinkState, forMs: number): Promise<Evidence> {
  const links = names.flatMap((name) => world.links(name));
  if (links.length === 0) return { hasFired: false, evidence: world.whyNoS3 ?? 'there is no such link' };
  const before = links.map((link) => link.set(state));
  const isMet = (): boolean => before.some(hasMet) || links.some(({ met }) => hasMet(met));
  await (state === 'refuse' ? sleep(forMs) : sleepUntilMet(forMs, isMet));
  // Nobody sees a connection that is refused but who made it.
  const refused = state === 'refuse' ? await countRefusals(links) : 0;
  const tallies = [...before, ...links.map((link) => link.set('pass'))];
  const connections = tallies.reduce((sum, tally) => sum + tally.connections, 0);
  const bytes = tallies.reduce((sum, tally) => sum + tally.bytes, 0);
  const told = `${connections} connections and ${bytes} bytes met it`;
  if (state !== 'refuse') return { hasFired: connections + bytes > 0, evidence: told };
  return { hasFired: refused === links.length, evidence: `${told}, and ${refused} of our own were refused` };
}

function hasMet({ connections, bytes }: LinkTally): boolean {
  return connections + bytes > 0;
}

async function countRefusals(links: readonly Link[]): Promise<number> {
  const outcomes = await Promise.all(
    links.map(async ({ port }) => {
      const socket = connect(port, '127.0.0.1');
      const isRefused = await once(socket, 'connect').then(
        () => false,
        () => true,
      );
      socket.destroy();
      return isRefused;
    }),
  );
  return outcomes.filter(Boolean).length;
}

const run = promisify(execFile);

/**
 * A file-size limit of nothing on every process of PostgreSQL, which it takes for a full disk: "Ignore SIGXFSZ, so that
 * ulimit violations work like disk full" (its postmaster.c). The hard limit stays, and the user is its own, so that no
 * right is needed to go back.
 */
async function fullDisk(world: World, forMs: number): Promise<Evidence> {
  const limit = async (bytes: string): Promise<number> => {
    const pid = await findClusterPid(world.cluster.folder);
    if (pid === undefined) return 0;
    const { uid, gid } = await stat(`/proc/${pid}`);
    const user = process.getuid?.() === uid ? {} : { uid, gid };
    // One may end meanwhile.
    const done = await Promise.allSettled(
      [pid, ...(await childrenOf(pid))].map((each) =>
        run('prlimit', ['--pid', String(each), `--fsize=${bytes}:`], user),
      ),
    );
    return done.filter(({ status }) => status === 'fulfilled').length;
  };
  const logFile = `${world.cluster.folder}.log`;
  const before = (await readFile(logFile, 'utf8')).length;
  const countComplaints = async (): Promise<number> => {
    const said = (await readFile(logFile, 'utf8')).slice(before);
    return said.match(/File too large|No space left|PANIC/g)?.length ?? 0;
  };
  const processes = await limit('0');
  await sleepUntilMet(forMs, async () => (await countComplaints()) > 0);
  await limit('unlimited');
  const complaints = await countComplaints();
  return {
    hasFired: complaints > 0,
    evidence: `${processes} processes could not write, ${complaints} complaints in their log`,
  };
}

async function stepClock(world: World, { target, byMs, forMs }: ClockFault): Promise<Evidence> {
  const since = (await clockReports(world, target)).length;
  await world.setClock(target, byMs);
  await sleep(forMs);
  await world.setClock(target, 0);
  const seen = (await clockReports(world, target)).slice(since).filter((offset) => offset === byMs).length;
  return counted(seen, `processes and threads saw a step of ${Math.round(byMs / 1000)} s`);
}

/** So long and so far that whoever has that clock notices, and says so (docs/0033). */
async function skewClock(world: World, { target, byMs, forMs }: ClockFault): Promise<Evidence> {
  const since = await clockComplaints(world, target);
  const complaints = async (): Promise<number> => (await clockComplaints(world, target)) - since;
  await world.setClock(target, byMs);
  await sleepUntilMet(forMs, async () => (await complaints()) > 0);
  await world.setClock(target, 0);
  return counted(await complaints(), `processes found their clock wrong by ${Math.round(byMs / 86_400_000)} days`);
}

async function clockComplaints(world: World, role: 'api' | 'worker'): Promise<number> {
  const logs = await Promise.all(
    [1, 2].map((place) => readFile(`${world.folder}/${role}-${place}.log`, 'utf8').catch(() => '')),
  );
  return logs.reduce((sum, log) => sum + (log.match(/the clock of this process is wrong/g)?.length ?? 0), 0);
}

/** The steps that processes of a role have seen, in milliseconds. */
async function clockReports(world: World, role: 'api' | 'worker'): Promise<readonly number[]> {
  const text = await readFile(`${world.folder}/${role}.clock.seen`, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}

async function inMode(
  world: World,
  name: 'provider' | 'receivers',
  { target, forMs }: { readonly target: string; readonly forMs: number },
  isMet: () => Promise<boolean>,
): Promise<void> {
  world.part(name).send({ mode: target });
  await sleepUntilMet(forMs, isMet);
  world.part(name).send({ mode: 'normal' });
}

function counted(count: number, what: string): Evidence {
  return { hasFired: count > 0, evidence: `${count} ${what}` };
}

/** Ends everything bad that is still going on. */
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
