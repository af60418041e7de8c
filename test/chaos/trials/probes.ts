/** Accounts unrelated to the fault: how long their creates, settlements and cancels take. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, statusOf } from '../clients/ask.ts';
import { createTask } from '../clients/create-task.ts';
import { isTerminal } from '../records.ts';
import type { TaskAnswer } from '../records.ts';
import type { WorldAccount } from '../world/accounts.ts';
import { readProcessorTime, waitsBetween } from './processor-waits.ts';
import { PROBED_ACTIONS, attemptOf, wishOf } from './trial.ts';
import type { ProbedAction, ProbedPeriod, TrialRoom } from './trial.ts';

const ACCOUNTS = 4;
/** Rare enough to be no load of their own. */
const PACE_MS = 1_500;
const LOOK_MS = 150;
/**
 * Earlier faults may still have an effect: nothing is measured until a task takes no longer than this, or for at most
 * the second time.
 */
const CALM_MS = 2_500;
const CALM_WITHIN_MS = 25_000;
const MODEL = 'chaos/keyed';

export interface Probes {
  /** Measures for the given milliseconds. */
  measure(ms: number, apiUrl: string): Promise<ProbedPeriod>;
  /** Waits until the effect of what was just started is over, at most for the given milliseconds. */
  waitForCalm(withinMs: number): Promise<void>;
}

/** @param name of the trial, which is part of the accounts' names. */
export async function openProbes(room: TrialRoom, name: string): Promise<Probes> {
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, (_, index) => room.openAccount(`${name}-probe-${index}`)),
  );
  let number = 0;
  let calms = 0;
  const waitForCalm = async (withinMs: number): Promise<void> => {
    const deadline = Date.now() + withinMs;
    const [account] = accounts;
    while (account !== undefined && Date.now() < deadline) {
      const begun = Date.now();
      await settleOne(room, account, `calm-${(calms += 1)}`, deadline);
      if (Date.now() - begun <= CALM_MS) return;
    }
  };
  const measure = async (ms: number, apiUrl: string): Promise<ProbedPeriod> => {
    const timeBefore = await readProcessorTime();
    const end = Date.now() + ms;
    const took: Record<ProbedAction, number[]> = { create: [], settlement: [], cancel: [] };
    const done: Record<ProbedAction, number> = { create: 0, settlement: 0, cancel: 0 };
    const time = async (action: ProbedAction, work: () => Promise<unknown>): Promise<void> => {
      const begun = Date.now();
      const isDone = await Promise.race([work().then(() => true), sleep(Math.max(0, end - begun)).then(() => false)]);
      took[action].push(Date.now() - begun);
      if (isDone) done[action] += 1;
    };
    const settled = async (account: WorldAccount, taskId: string): Promise<void> => {
      while (Date.now() < end && !(await isOver(account, taskId, apiUrl))) await sleep(LOOK_MS);
    };
    const loop = async (account: WorldAccount & { name: string }, isCancelling: boolean): Promise<void> => {
      while (Date.now() < end) {
        let taskId: string | undefined;
        const wish = wishOf(account.name, (number += 1), MODEL, isCancelling ? '[slow 20000]' : '');
        await time('create', async () => {
          while (taskId === undefined && Date.now() < end) {
            ({ taskId } = await createTask(attemptOf(room, account, [apiUrl]), wish, 0, 0));
          }
        });
        const created = taskId;
        if (created === undefined) return;
        await time(isCancelling ? 'cancel' : 'settlement', async () => {
          if (isCancelling) {
            await ask({ method: 'POST', url: `${apiUrl}/v1/tasks/${created}/cancel`, key: account.key });
          }
          await settled(account, created);
        });
        await sleep(PACE_MS);
      }
    };
    await Promise.all(accounts.flatMap((account) => [loop(account, false), loop(account, true)]));
    return { ms, took, done, processorWaits: waitsBetween(timeBefore, await readProcessorTime()) };
  };
  await waitForCalm(CALM_WITHIN_MS);
  return { measure, waitForCalm };
}

/** Creates a task and waits for its end. */
async function settleOne(
  room: TrialRoom,
  account: WorldAccount & { readonly name: string },
  number: string,
  deadline: number,
): Promise<void> {
  const [apiUrl = ''] = room.world.apiUrls;
  const { taskId } = await createTask(attemptOf(room, account), wishOf(account.name, number, MODEL), 0, 0);
  while (taskId !== undefined && Date.now() < deadline && !(await isOver(account, taskId, apiUrl))) {
    await sleep(LOOK_MS);
  }
}

async function isOver({ key }: WorldAccount, taskId: string, apiUrl: string): Promise<boolean> {
  const { outcome, data } = await ask({ url: `${apiUrl}/v1/tasks/${taskId}`, key });
  return statusOf(outcome) === 200 && isTerminal((data as TaskAnswer).status);
}

export function describePeriod({ took, done, processorWaits }: ProbedPeriod): string {
  const probed = PROBED_ACTIONS.map(
    (action) => `${done[action]} of ${took[action].length} ${action}s (${median(took[action])} ms)`,
  );
  return `${probed.join(', ')}, processor waits ${processorWaits.toFixed(2)}`;
}

/** Fewer than these are chance. */
const LEAST_DONE = 5;

/** Whether an action that takes a larger part of the time ends within it is chance. */
const LARGEST_PART = 1 / 3;

/** A machine that is busier than before by this factor delays every account. */
const BUSIER = 1.5;
const GRANTED_WAITS = 0.2;

/** Whether waiting can be detected: not on a machine that was too slow before, nor on one that was busier meanwhile. */
export function isConclusive(before: ProbedPeriod, during: ProbedPeriod): boolean {
  const { ms, took, done } = before;
  const isFast = PROBED_ACTIONS.every(
    (action) => done[action] >= LEAST_DONE && median(took[action]) <= ms * LARGEST_PART,
  );
  return isFast && during.processorWaits <= before.processorWaits * BUSIER + GRANTED_WAITS;
}

/** 0 if there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
