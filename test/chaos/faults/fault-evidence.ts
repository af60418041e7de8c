/** What a fault affected: a fault that affected nothing has not fired. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrialRecord } from '../trials/trial.ts';

export interface FaultEvidence {
  readonly hasFired: boolean;
  readonly evidence: string;
  /** When commits were made that the database lost: Unix milliseconds. */
  readonly lost?: { readonly from: number; readonly until: number };
  readonly trial?: TrialRecord;
}

export function counted(count: number, what: string): FaultEvidence {
  return { hasFired: count > 0, evidence: `${count} ${what}` };
}

/** A fault that has affected nothing in its time continues for at most this much longer: 30 s. */
const MOST_LONGER_MS = 30_000;
const CHECK_INTERVAL_MS = 500;

export async function sleepUntilMet(forMs: number, isMet: () => boolean | Promise<boolean>): Promise<void> {
  await sleep(forMs);
  const deadline = Date.now() + MOST_LONGER_MS;
  while (!(await isMet()) && Date.now() < deadline) await sleep(CHECK_INTERVAL_MS);
}
