/**
 * What clients and receivers were told while the database could still lose it. A failover to a standby that lagged behind
 * takes back the last commits (docs/decisions/0037): what was answered in that time may be undone, what was answered before may not.
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

/** From when until when; Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly until: number;
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

/** What a text call came to is written within this time, and tried again after it, once the database is there. */
const SETTLED_WITHIN_MS = 1_000;
const SETTLED_AGAIN_WITHIN_MS = 5_000;

/**
 * The times in which an api may have answered a text call and never settled it, because it was stopped itself before it
 * could reach the database again. Another process then settles the call at its counted input (docs/decisions/0016).
 */
export function unsettledTimesOf(faults: readonly FaultRecord[]): readonly Span[] {
  const stops = faults.filter(
    ({ fault: { kind, target } }) =>
      (kind === 'kill' || kind === 'pause' || kind === 'restart') && target.startsWith('api'),
  );
  return stops.map((stop) => {
    const outages = faults.filter(
      ({ fault: { target }, begun, ended }) =>
        (target === 'postgres' || target === 'api-postgres') &&
        begun <= stop.begun &&
        ended + SETTLED_AGAIN_WITHIN_MS >= stop.begun,
    );
    const from = Math.min(stop.begun - SETTLED_WITHIN_MS, ...outages.map(({ begun }) => begun));
    return { from, until: stop.begun + SETTLED_WITHIN_MS };
  });
}

/** Whether the process that gave an answer may have been stopped before it settled it. @param times `unsettledTimesOf`. */
export function mayBeUnsettled(answer: { readonly ended: number }, times: readonly Span[]): boolean {
  return times.some(({ from, until }) => from <= answer.ended && answer.ended <= until);
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
