/**
 * What is measured, and what each measurement has to show. The floors and ceilings are the project's promises; the
 * targets are what a bare prototype of the design reached on two cores.
 */

/** What one client of a window does repeatedly, on our side and on raw Temporal's. */
export type Operation = 'start' | 'read' | 'finish' | 'wait';

/** A figure of ours beside that of a yardstick, which is raw Temporal unless `raw` names another. */
export interface Comparison {
  readonly name: string;
  /** Clients at once, each with one operation under way. */
  readonly clients: number;
  /** Open loop: operations begin at this rate, whether or not earlier ones have ended, and `clients` does not matter. */
  readonly beginsPerSecond?: number;
  /** Which number of a window counts: operations per second, or the median latency of one in milliseconds. */
  readonly figure: 'perSecond' | 'medianMs';
  /** The ratio ours / raw: at least this if more is better, at most this if less is. */
  readonly bound: { readonly atLeast: number } | { readonly atMost: number };
  readonly target?: number;
  readonly ours: string;
  readonly raw: string;
}

export interface Measure extends Comparison {
  readonly operation: Operation;
  /** Whether workers run meanwhile. Without them, started workflows stay open and are discarded with the server. */
  readonly needsWorkers: boolean;
}

export const MEASURES: readonly Measure[] = [
  {
    name: 'accept-latency',
    operation: 'start',
    clients: 1,
    figure: 'medianMs',
    bound: { atMost: 0.6 },
    target: 0.3,
    ours: 'POST /v1/tasks',
    raw: 'workflow.start',
    needsWorkers: false,
  },
  {
    name: 'accept-rate',
    operation: 'start',
    clients: 32,
    figure: 'perSecond',
    bound: { atLeast: 4 },
    target: 8,
    ours: 'POST /v1/tasks',
    raw: 'workflow.start',
    needsWorkers: false,
  },
  {
    name: 'finish-latency',
    operation: 'finish',
    clients: 1,
    figure: 'medianMs',
    bound: { atMost: 2.2 },
    target: 1.7,
    ours: 'create to success',
    raw: 'start to result',
    needsWorkers: true,
  },
  {
    name: 'finish-rate',
    operation: 'finish',
    clients: 32,
    figure: 'perSecond',
    bound: { atLeast: 0.25 },
    target: 0.35,
    ours: 'tasks completed',
    raw: 'workflows completed',
    needsWorkers: true,
  },
  {
    name: 'read-rate',
    operation: 'read',
    clients: 32,
    figure: 'perSecond',
    bound: { atLeast: 3 },
    target: 3,
    ours: 'GET /v1/tasks/{id}',
    raw: 'describe',
    needsWorkers: true,
  },
];

/** Whether a ratio meets the promise. */
export function isMet(measure: Comparison, ratio: number): boolean {
  return 'atLeast' in measure.bound ? ratio >= measure.bound.atLeast : ratio <= measure.bound.atMost;
}

/** The middle of the values. @throws {RangeError} there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('the median of nothing');
  return (lower + upper) / 2;
}
