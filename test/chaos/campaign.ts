/** One campaign from start to verdict. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { runClient } from './clients/client.ts';
import { askOnceMore } from './clients/once-more.ts';
import { repeatLostKeys } from './clients/repeat-keys.ts';
import { ask, statusOf } from './clients/ask.ts';
import type { Evidence, Violation } from './evidence.ts';
import { gather, readConnections } from './gather.ts';
import { checkInvariants } from './invariants/invariants.ts';
import { openLedger, readLedger } from './ledger-file.ts';
import type { Mutant } from './mutants/mutants.ts';
import { findLeftovers, hastenRepairs, waitForIdle } from './quiet.ts';
import { interruptionsOf, lossesOf, unsettledTimesOf } from './losses.ts';
import { createRandom } from '@darkroom/testing/random';
import type { ClientLine } from './records.ts';
import { planFaults } from './schedule.ts';
import type { FaultKind } from './schedule.ts';
import { heal, runStorm } from './storm.ts';
import type { FaultRecord } from './storm.ts';
import type { TrialRoom } from './trials/trial.ts';
import type { OwnEnd } from './world/part.ts';
import { openWorld } from './world/world.ts';
import type { WorldAccount } from './world/accounts.ts';
import type { World } from './world/world.ts';

export interface CampaignOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly mutant: Mutant | undefined;
  /** Absent: all kinds of faults; with a mutant, its own. */
  readonly only?: readonly FaultKind[] | undefined;
  readonly report: (line: string) => void;
}

export interface Campaign {
  readonly seed: number;
  readonly minutes: number;
  readonly mutant: string | undefined;
  readonly directory: string;
  /** Why there was no S3 server. */
  readonly whyNoS3: string | undefined;
  readonly faults: readonly FaultRecord[];
  readonly ownEnds: readonly OwnEnd[];
  /** From the healing until nothing was under way; undefined: that was never reached. */
  readonly quietAfterMs: number | undefined;
  readonly evidence: Evidence;
  readonly violations: readonly Violation[];
}

const POOR = 'poor';
/** Enough to last, and so little that it runs out: the second account is rejected now and then. */
const ACCOUNTS: readonly (readonly [name: string, microUsd: bigint])[] = [
  ['ada', 500_000_000n],
  ['bea', 500_000_000n],
  ['cyn', 500_000_000n],
  [POOR, 300_000n],
];
/** Of each account of a trial: nothing may wait for its own account. */
const TRIAL_MICRO_USD = 100_000_000n;
const TRIAL_RUNNING_CAP = 100;
/** A request without a response by then has none. */
const CLIENTS_END_MS = 60_000;
/** Queued, handled, archived and called back, with the repairs between, which begin after one and two minutes. */
const QUIET_WITHIN_MS = 300_000;
/** Nothing has to be repaired there, and some never become quiet: a receiver that hangs is called for a minute. */
const MUTANT_QUIET_WITHIN_MS = 90_000;

/** @throws {Error} the world could not be set up, or does not answer when all is healed. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { seed, minutes, mutant, report } = options;
  const stormMs = minutes * 60_000;
  const world = await openWorld(mutant?.patches ?? [], report);
  try {
    const accounts = await openAccounts(world);
    const record = openLedger<ClientLine>(world.files.clients);
    const [storm, end] = [new AbortController(), new AbortController()];
    // Everything that a client waits for adds a listener to them.
    setMaxListeners(0, storm.signal, end.signal);
    const pace = { factor: 1 };
    const clients = [...accounts].map(([account, { key }]) =>
      runClient({
        account,
        apiKey: key,
        apiUrls: world.apiUrls,
        receiverUrl: world.receiverUrl,
        forbiddenUrl: world.forbiddenUrl,
        random: createRandom(seed, `client ${account}`),
        record,
        storm: storm.signal,
        end: end.signal,
        focus: mutant?.focus ?? {},
        pace,
      }),
    );
    const openAccount: TrialRoom['openAccount'] = async (name, limits = {}) => {
      const all = { runningCap: TRIAL_RUNNING_CAP, ...limits };
      const account = accounts.get(name) ?? (await world.createAccount(name, TRIAL_MICRO_USD, all));
      accounts.set(name, account);
      return { ...account, name };
    };
    const plan = mutant === undefined ? planFaults(seed, stormMs, options.only) : (mutant.plan ?? []);
    report(`the storm: ${plan.length} faults in ${minutes} min, seed ${seed}`);
    const [faults] = await Promise.all([runStorm({ world, record, openAccount, pace }, plan, report), sleep(stormMs)]);
    report('the storm is over: healing');
    await heal(world);
    const healedAt = Date.now();
    storm.abort();
    const losses = lossesOf(faults);
    if (losses.length > 0) await hastenRepairs(world);
    const timer = setTimeout(() => end.abort(), mutant === undefined ? CLIENTS_END_MS : MUTANT_QUIET_WITHIN_MS);
    await Promise.all(clients);
    clearTimeout(timer);
    const quietWithinMs = mutant === undefined ? QUIET_WITHIN_MS : MUTANT_QUIET_WITHIN_MS;
    const first = await waitForIdle(world, quietWithinMs);
    const repeated = await Promise.all(
      [...accounts].map(async ([account, { key }]) =>
        repeatLostKeys({
          account,
          apiKey: key,
          apiUrls: world.apiUrls,
          receiverUrl: world.receiverUrl,
          lines: await readLedger<ClientLine>(world.files.clients),
          losses,
          record,
        }),
      ),
    );
    const hasRepeated = repeated.some((count) => count > 0);
    const unrest = hasRepeated ? await waitForIdle(world, quietWithinMs) : first;
    const quietAfterMs = unrest === undefined ? Date.now() - healedAt : undefined;
    report(unrest === undefined ? 'all is quiet: checking' : 'it does not become quiet: checking all the same');
    await Promise.all(
      [...accounts]
        .filter(([account]) => account !== POOR && ACCOUNTS.some(([name]) => name === account))
        .map(([account, { key }]) => askOnceMore({ account, apiKey: key, apiUrls: world.apiUrls, record })),
    );
    const gathered = await gather(world, accounts);
    const leftovers = await findLeftovers(world, unrest);
    const connections = await readConnections(world);
    const trials = faults.flatMap(({ trial }) => trial ?? []);
    const unsettledTimes = unsettledTimesOf(faults);
    const interruptions = interruptionsOf(faults, world.ownEnds());
    const evidence = { ...gathered, leftovers, connections, losses, unsettledTimes, interruptions, trials };
    return {
      seed,
      minutes,
      mutant: mutant?.name,
      directory: world.directory,
      whyNoS3: world.whyNoS3,
      faults,
      ownEnds: world.ownEnds(),
      quietAfterMs,
      evidence,
      violations: checkInvariants(evidence),
    };
  } finally {
    await world.close();
  }
}

async function openAccounts(world: World): Promise<Map<string, WorldAccount>> {
  const accounts = new Map<string, WorldAccount>();
  for (const [name, microUsd] of ACCOUNTS) {
    const account = await world.createAccount(name, microUsd);
    const body = { secret: account.webhookSecret };
    const put = { method: 'PUT', url: `${world.apiUrls[0]}/v1/account/webhook-key`, key: account.key, body };
    const { outcome } = await ask(put);
    if (statusOf(outcome) !== 200)
      throw new Error(`the signing secret of ${name} was rejected: ${JSON.stringify(outcome)}`);
    accounts.set(name, account);
  }
  return accounts;
}
