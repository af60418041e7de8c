/**
 * What was reported to clients and receivers while the database could still lose it. A failover to a standby that
 * lagged behind undoes the last commits (docs/decisions/0005): an answer from that time may be undone, an earlier one
 * may not.
 */
import type { FaultRecord } from './storm.ts';

/** Commits made in this time were lost; Unix milliseconds. */
export interface Loss {
  readonly from: number;
  /** When the database was stopped. */
  readonly until: number;
  /** Until when such a commit may still reach the outside: a process that was paused sends later. */
  readonly heardUntil: number;
}

/** Start and end in Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** From a read of the database to the request that it causes. */
const SENT_AFTER_MS = 1_000;

/** The times in which commits were lost, according to the storm. */
export function lossesOf(faults: readonly FaultRecord[]): readonly Loss[] {
  return faults.flatMap(({ lost }) => {
    if (lost === undefined) return [];
    const paused = faults.filter(
      ({ fault, begun, ended }) =>
        fault.kind === 'pause' && /^(worker|api)/.test(fault.target) && begun <= lost.until && ended >= lost.from,
    );
    const heardUntil = Math.max(lost.until, ...paused.map(({ ended }) => ended)) + SENT_AFTER_MS;
    return [{ ...lost, heardUntil }];
  });
}

/**
 * The result of a text call is written within this time, or retried within the next one once the database is
 * available.
 */
const SETTLED_WITHIN_MS = 1_000;
const SETTLED_AGAIN_WITHIN_MS = 5_000;

/**
 * The times in which an api may have answered a text call and never settled it, because it was stopped itself before it
 * could reach the database again. Another process then settles the call at its counted input (docs/decisions/0022).
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

/** How long a connection to an upstream stays open without use, and fails the request that takes it. */
const STALE_MS = 10_000;
/** Targets of faults; `accept` is the trial that stops an api inside a transaction for some seconds. */
const INTERRUPTING = ['api-1', 'api-2', 'accept', 'postgres', 'api-postgres', 'provider', 'text'];

/**
 * The times in which a request to a text upstream may have been lost or cut, so that it was sent again.
 *
 * @param ownEnds of processes that ended by themselves.
 */
export function interruptionsOf(
  faults: readonly FaultRecord[],
  ownEnds: readonly { readonly at: number; readonly name: string }[],
): readonly Span[] {
  const injected = faults.filter(
    ({ fault: { kind, target } }) => INTERRUPTING.includes(target) || kind === 'provider-misbehaves',
  );
  return [
    ...injected.map(({ begun, ended }) => ({ from: begun, until: ended + STALE_MS })),
    ...ownEnds.filter(({ name }) => INTERRUPTING.includes(name)).map(({ at }) => ({ from: at, until: at + STALE_MS })),
  ];
}

/**
 * Whether the process that gave an answer may have been stopped before it settled the call. @param times
 * `unsettledTimesOf`.
 */
export function mayBeUnsettled(answer: { readonly ended: number }, times: readonly Span[]): boolean {
  return times.some(({ from, until }) => from <= answer.ended && answer.ended <= until);
}

/**
 * Whether an answer may have been undone.
 *
 * @param by only losses until then count; absent: all of them.
 */
export function mayBeUndone(
  answer: { readonly begun: number; readonly ended: number },
  losses: readonly Loss[],
  by = Infinity,
): boolean {
  return losses.some(({ from, until }) => answer.begun <= until && answer.ended >= from && until <= by);
}

/** The same for an event seen outside: a submit, a callback. @param spanMs how exactly the moment is known. */
export function wasHeardInLoss(at: number, losses: readonly Loss[], spanMs = 0): boolean {
  return losses.some(({ from, heardUntil }) => at <= heardUntil && at + spanMs >= from);
}
