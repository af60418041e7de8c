/**
 * An attack campaign from start to verdict: a whole installation with a neighbour that is alone for a while, then
 * next to two hostile accounts and an anonymous host; when these have stopped, everything is checked as after a storm
 * of faults. No traffic passes through this process, and each participant has a process of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_LIMITS } from '../../../src/accounts/accounts.ts';
import { packageModule } from '../../../src/config/package-root.ts';
import { openControlGroup } from '../../support/quota.ts';
import { reservePort } from '../../support/reserve-port.ts';
import { ask, statusOf } from '../../chaos/clients/ask.ts';
import { askOnceMore } from '../../chaos/clients/once-more.ts';
import type { Violation } from '../../chaos/evidence.ts';
import { gather, readConnections } from '../../chaos/gather.ts';
import { checkInvariants } from '../../chaos/invariants/invariants.ts';
import { openLedger, readLedger } from '../../chaos/ledger-file.ts';
import { findLeftovers, waitForIdle } from '../../chaos/quiet.ts';
import type { Unrest } from '../../chaos/quiet.ts';
import type { ClientLine } from '../../chaos/records.ts';
import type { Part } from '../../chaos/world/part.ts';
import { scriptPart } from '../../chaos/world/parts.ts';
import { openWorld } from '../../chaos/world/world.ts';
import type { WorldAccount } from '../../chaos/world/accounts.ts';
import type { World } from '../../chaos/world/world.ts';
import type { AttackLine } from './attack-log.ts';
import { ATTACK_NAMES } from './attacks.ts';
import { watchMemory } from './memory.ts';
import type { AttackMutant } from './mutants.ts';
import {
  isWithin,
  latenciesOf,
  validateAnswers,
  validateAttacks,
  validateLatencies,
  validateMemory,
} from './verdict.ts';
import type { Latency, MemorySample, Phase } from './verdict.ts';

export interface AttackOptions {
  readonly seed: number;
  /** How long an attack lasts; before it the neighbour is alone for a quarter of that time, at least a minute. */
  readonly minutes: number;
  /** By name; absent: all. */
  readonly attacks?: readonly string[] | undefined;
  /** One attack after another, each for that long, instead of all at once. */
  readonly isSingly?: boolean;
  /** A mistake in the program. What is left of such a run is not checked. */
  readonly mutant?: AttackMutant;
  readonly report: (line: string) => void;
}

/** What a part of the attack did. */
export interface AttackPhase {
  /** The attacks. */
  readonly name: string;
  readonly latencies: readonly Latency[];
  /** What it did to others, one line each; except for waiting times. */
  readonly faults: readonly string[];
  /** Where the neighbour waited more than three times as long as without the attack. */
  readonly delays: readonly string[];
}

export interface AttackCampaign {
  readonly seed: number;
  readonly minutes: number;
  readonly directory: string;
  readonly phases: readonly AttackPhase[];
  readonly attacks: readonly AttackLine[];
  readonly memory: readonly MemorySample[];
  /** What the whole of it did, one line each. */
  readonly faults: readonly string[];
  readonly violations: readonly Violation[];
}

const ROLES = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const;
const NEIGHBOUR = 'neighbour';
/** The source address of each attacker: limits by address see another machine. */
const ADDRESSES: Readonly<Record<string, string>> = {
  mallory: '127.0.0.2',
  trudy: '127.0.0.3',
  anonymous: '127.0.0.4',
};
const ENOUGH_USD = 500_000_000n;
const LEAST_IDLE_MS = 60_000;
/** For processes that have just started, and code that is still being compiled. */
const WARM_UP_MS = 20_000;
/** For what the attack before has left to be done. */
const BETWEEN_ATTACKS_MS = 20_000;
/** All attackers together. */
const CORES_OF_ATTACKERS = 0.5;
/** Callbacks of hostile tasks go to names that never resolve; their tasks may wait for a worker's slot. */
const QUIET_WITHIN_MS = 300_000;
/** Between two looks for batches that wait. */
const CANCEL_EVERY_MS = 5_000;
const NEIGHBOUR_ENDS_MS = 90_000;
/** Per-minute budgets are restored by then. */
const HEALING_MS = 61_000;

/** @throws {Error} the world could not be set up, or does not answer when all is over. */
export async function runAttackCampaign({
  seed,
  minutes,
  attacks: names = ATTACK_NAMES,
  isSingly = false,
  mutant,
  report,
}: AttackOptions): Promise<AttackCampaign> {
  const nameServerPort = await reservePort();
  const world = await openWorld(mutant?.patches ?? [], report, {
    hasProxies: false,
    environment: { ATTACK_NAME_SERVER: `127.0.0.1:${nameServerPort}` },
    preloads: ['test/attack/campaign/name-server-preload.mjs'],
  });
  const scripts: Part[] = [];
  try {
    const script = (name: string, args: readonly string[]): Part => {
      const [file] = name.split(' ');
      const log = `${world.directory}/${name}.log`;
      const part = scriptPart(name, packageModule(`test/attack/campaign/${file}.ts`), args, log);
      scripts.push(part);
      return part;
    };
    await script('name-server', ['--port', String(nameServerPort), '--log', `${world.directory}/names.jsonl`]).start();
    const accounts = await openAccounts(world);
    const api = world.apiUrls.join(',');
    const attackLog = `${world.directory}/attacks.jsonl`;
    const attackers = Object.entries(ADDRESSES).map(([attacker, address]) => {
      const key = accounts.get(attacker)?.key;
      const args = ['--attacker', attacker, '--address', address, '--api', api, '--log', attackLog];
      return script(`attacker ${attacker}`, [
        ...args,
        '--seed',
        String(seed),
        ...(key === undefined ? [] : ['--key', key]),
      ]);
    });
    const { key: neighbourKey = '' } = accounts.get(NEIGHBOUR) ?? {};
    const whereto = ['--api', api, '--receiver', world.receiverUrl, '--log', world.files.clients];
    const neighbour = script('neighbour', ['--account', NEIGHBOUR, '--key', neighbourKey, ...whereto]);
    await Promise.all(attackers.map((attacker) => attacker.start()));
    const quota = await limitAttackers(attackers, report);
    const pids = pidsOf(world);
    const memoryEnd = new AbortController();
    const memory = watchMemory(() => pidsOf(world), memoryEnd.signal);

    await neighbour.start();
    await sleep(WARM_UP_MS);
    report(`the attack: ${minutes} min, seed ${seed}`);
    const attacked: { readonly name: string; readonly idle: Phase; readonly times: Phase }[] = [];
    for (const attacks of isSingly ? names.map((name) => [name]) : [names]) {
      if (attacked.length > 0) await sleep(BETWEEN_ATTACKS_MS);
      const name = isSingly ? attacks.join() : 'the attack';
      const progress = (seconds: number): void => report(`${name}: ${seconds} s of ${minutes * 60} s`);
      const idleMs = Math.max(LEAST_IDLE_MS, (minutes * 60_000) / 4);
      report(`the neighbour is alone for ${Math.round(idleMs / 1000)} s`);
      // Before each, because other work on the machine changes.
      const idle = await phase(idleMs);
      for (const attacker of attackers) attacker.send({ type: 'begin', attacks });
      const times = await phase(minutes * 60_000, progress);
      for (const attacker of attackers) attacker.send({ type: 'stop' });
      attacked.push({ name, idle, times });
    }
    report('the attack is over: waiting until nothing is under way');
    await Promise.all([endNeighbour(neighbour), sleep(HEALING_MS)]);
    const unrest = mutant !== undefined ? undefined : await waitForIdleWithoutBatches(world, accounts);
    memoryEnd.abort();
    // Their connections' requests are over, and they get no more orders.
    for (const attacker of attackers) await attacker.kill();
    await quota?.close();
    const restarted = restartsOf(world, pids);
    report(unrest === undefined ? 'all is quiet: checking' : 'it does not become quiet: checking all the same');

    const lines = await readLedger<ClientLine>(world.files.clients);
    const attacks = await readLedger<AttackLine>(attackLog);
    const samples = await memory;
    const phases = attacked.map(({ name, idle, times }) => {
      const latencies = latenciesOf(lines, idle, times);
      const faults = [
        ...validateAnswers(lines.filter((line) => isWithin(line, times))),
        ...validateMemory(samples.filter(({ at }) => isWithin({ begun: at }, times))),
      ];
      return { name, latencies, faults, delays: validateLatencies(latencies) };
    });
    const outside = lines.filter((line) => !attacked.some(({ times }) => isWithin(line, times)));
    return {
      seed,
      minutes,
      directory: world.directory,
      phases,
      attacks,
      memory: samples,
      faults: [...validateAnswers(outside), ...validateAttacks(attacks, names), ...restarted],
      violations: mutant !== undefined ? [] : await findViolations(world, accounts, unrest),
    };
  } finally {
    for (const part of scripts.toReversed()) await part.kill();
    await world.close();
  }
}

/** Attackers with more of the processors would only show that these are shared. */
async function limitAttackers(attackers: readonly Part[], report: (line: string) => void) {
  try {
    const group = await openControlGroup('attackers', CORES_OF_ATTACKERS);
    for (const { pid } of attackers) if (pid !== undefined) await group.enter(pid);
    return group;
  } catch (error) {
    report(`the attackers have all processors: a control group cannot be made (${String(error)})`);
    return undefined;
  }
}

async function findViolations(
  world: World,
  accounts: ReadonlyMap<string, WorldAccount>,
  unrest: Unrest | undefined,
): Promise<readonly Violation[]> {
  const record = openLedger<ClientLine>(world.files.clients);
  await Promise.all(
    [...accounts].map(([account, { key }]) => askOnceMore({ account, apiKey: key, apiUrls: world.apiUrls, record })),
  );
  const gathered = await gather(world, accounts);
  const leftovers = await findLeftovers(world, unrest);
  return checkInvariants({ ...gathered, leftovers, connections: await readConnections(world) });
}

async function phase(ms: number, progress?: (seconds: number) => void): Promise<Phase> {
  const begun = Date.now();
  const timer =
    progress === undefined ? undefined : setInterval(() => progress(Math.round((Date.now() - begun) / 1000)), 30_000);
  await sleep(ms);
  clearInterval(timer);
  return { begun, ended: Date.now() };
}

/** Orders it to finish, and waits until the outcome of everything it started is known. */
async function endNeighbour(neighbour: Part): Promise<void> {
  neighbour.send({ type: 'stop' });
  const deadline = Date.now() + NEIGHBOUR_ENDS_MS;
  while (neighbour.pid !== undefined && Date.now() < deadline) await sleep(200);
  await neighbour.kill();
}

interface BatchPage {
  readonly data: readonly { readonly id: string; readonly waiting_for?: string | null }[];
  readonly has_more: boolean;
}

/**
 * Waits for an idle world. A batch whose key may spend no more today would wait for the rest of its day: its account
 * cancels it, again and again, because a batch says what it waits for only when its turn has come.
 */
async function waitForIdleWithoutBatches(
  world: World,
  accounts: ReadonlyMap<string, WorldAccount>,
): Promise<Unrest | undefined> {
  const over = new AbortController();
  const cancel = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const account of accounts.values()) await cancelWaitingBatches(world, account);
      await sleep(CANCEL_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const idle = waitForIdle(world, QUIET_WITHIN_MS).finally(() => over.abort());
  const [unrest] = await Promise.all([idle, cancel()]);
  return unrest;
}

async function cancelWaitingBatches(world: World, { key }: WorldAccount): Promise<void> {
  const batches = `${world.apiUrls[0]}/v1/batches`;
  for (let after = ''; ;) {
    const { outcome, body } = await ask({ url: `${batches}?limit=100${after}`, key });
    if (statusOf(outcome) !== 200) throw new Error(`the batches were not listed: ${JSON.stringify(outcome)}`);
    const { data, has_more } = body as BatchPage;
    for (const { id } of data.filter(({ waiting_for }) => waiting_for === 'daily_spend_cap')) {
      const cancel = { method: 'POST', url: `${batches}/${id}/cancel`, key };
      // An account of an attacker has the default rate limit.
      while (statusOf((await ask(cancel)).outcome) === 429) await sleep(1_000);
    }
    if (!has_more) return;
    after = `&after=${data.at(-1)?.id ?? ''}`;
  }
}

function pidsOf(world: World): ReadonlyMap<string, number> {
  return new Map(
    ROLES.flatMap((name) => {
      const { pid } = world.part(name);
      return pid === undefined ? [] : [[name, pid] as const];
    }),
  );
}

function restartsOf(world: World, before: ReadonlyMap<string, number>): readonly string[] {
  const after = pidsOf(world);
  const ends = world.ownEnds().map(({ name, exit }) => `${name} ended by itself with ${exit}`);
  const others = ROLES.filter((name) => after.get(name) !== before.get(name)).map((name) => `${name} was restarted`);
  return [...ends, ...others];
}

async function openAccounts(world: World): Promise<ReadonlyMap<string, WorldAccount>> {
  const accounts = new Map<string, WorldAccount>();
  for (const name of [NEIGHBOUR, 'mallory', 'trudy']) {
    // Attackers get the default limits of every account.
    const account = await world.createAccount(name, ENOUGH_USD, name === NEIGHBOUR ? {} : DEFAULT_LIMITS);
    const body = { secret: account.webhookSecret };
    const put = { method: 'PUT', url: `${world.apiUrls[0]}/v1/account/webhook-key`, key: account.key, body };
    const { outcome } = await ask(put);
    if (statusOf(outcome) !== 200)
      throw new Error(`the signing secret of ${name} was rejected: ${JSON.stringify(outcome)}`);
    accounts.set(name, account);
  }
  return accounts;
}
