/**
 * What clients and receivers were told while the database could still lose it. A failover to a standby that lagged behind
 * takes back the last commits (docs/0037): what was answered in that time may be undone, what was answered before may not.
 */
import type { FaultRecord } from './storm.ts';

/** Commits made in this time were lost; Unix milliseconds. */
export interface Loss {
  readonly from: number;
  /** When the database ended. */
  readonly until: number;
  /** Until when somebody outside may still have heard of such a commit: a worker that was paused sends later. */
  readonly heardUntil: number;
}

/** From a read of the database to what is sent because of it. */
const SENT_AFTER_MS = 1_000;

/** The times in which commits were lost, by what the storm did. */
export function lossesOf(faults: readonly FaultRecord[]): readonly Loss[] {
  return faults.flatMap(({ lost }) => {
    if (lost === undefined) return [];
    const paused = faults.filter(
      ({ fault, begun, ended }) =>
        fault.kind === 'pause' && fault.target.startsWith('worker') && begun <= lost.until && ended >= lost.from,
    );
    const heardUntil = Math.max(lost.until, ...paused.map(({ ended }) => ended)) + SENT_AFTER_MS;
    return [{ ...lost, heardUntil }];
  });
}

/**
 * Whether an answer may have been taken back.
 *
 * @param by only by what was lost until then; absent: ever.
 */
export function mayBeUndone(
  answer: { readonly begun: number; readonly ended: number },
  losses: readonly Loss[],
  by = Infinity,
): boolean {
  return losses.some(({ from, until }) => answer.begun <= until && answer.ended >= from && until <= by);
}

/** The same of what was heard outside at a moment: a submit, a callback. @param spanMs how exactly the moment is known. */
export function wasHeardInLoss(at: number, losses: readonly Loss[], spanMs = 0): boolean {
  return losses.some(({ from, heardUntil }) => at <= heardUntil && at + spanMs >= from);
}
