/**
 * The cost model: what a workload costs is a sum of products, of what it has to do and what one of that costs. The
 * coefficients are differences between windows (workload.ts).
 */
import { FITTED } from './workload.ts';
import type { FittedName, Processes, Workload } from './workload.ts';

/** The parts of an installation whose processor time is measured; each is all its processes together. */
export const PARTS = ['api', 'worker', 'temporal', 'postgres'] as const;
export type Part = (typeof PARTS)[number];
export type ByPart = Readonly<Record<Part, number>>;

/** What was measured in a window. */
export interface Usage {
  readonly seconds: number;
  readonly tasks: number;
  /** Of each part, in the window. */
  readonly processorMs: ByPart;
  readonly walBytes: number;
  readonly statements: number;
}

/** Milliseconds of processor time, and for `wal` and `statements` bytes and round trips, of one of each. */
export interface Coefficients {
  /** An api process, a worker process, and their share of the servers; for a second in which nothing happens. */
  readonly idleSecond: ByPart;
  /** A task that is answered with its bytes. */
  readonly answeredTask: ByPart;
  /** A task whose job is polled, and whose output is fetched. */
  readonly polledTask: ByPart;
  /** A second in which an upstream works on a task. */
  readonly answeredWorkSecond: ByPart;
  readonly polledWorkSecond: ByPart;
  readonly callback: ByPart;
  /** A megabyte of an output. */
  readonly answeredMegabyte: ByPart;
  readonly polledMegabyte: ByPart;
  /** A second in which a client waits. */
  readonly waitingSecond: ByPart;
}

/** @param usages of the windows, the median of their rounds. */
export function fit(usages: Readonly<Record<FittedName, Usage>>): Coefficients {
  const idleSecond = byPart((part) => usages.idle.processorMs[part] / usages.idle.seconds);
  const perTask = (name: FittedName): ByPart =>
    byPart((part) => {
      const { processorMs, seconds, tasks } = usages[name];
      return (processorMs[part] - idleSecond[part] * seconds) / tasks;
    });
  const difference = (more: FittedName, less: FittedName, units: number): ByPart => {
    const [high, low] = [perTask(more), perTask(less)];
    return byPart((part) => (high[part] - low[part]) / units);
  };
  const lateSeconds = FITTED.answeredLate.workSeconds - FITTED.answered.workSeconds;
  const answeredWorkSecond = difference('answeredLate', 'answered', lateSeconds);
  const polledWorkSecond = difference('polledLate', 'polled', lateSeconds);
  const moreMegabytes = FITTED.polledLarge.megabytes - FITTED.polled.megabytes;
  const { seconds, processorMs } = usages.waited;
  return {
    idleSecond,
    answeredTask: byPart((part) => perTask('answered')[part] - answeredWorkSecond[part] * FITTED.answered.workSeconds),
    polledTask: byPart((part) => perTask('polled')[part] - polledWorkSecond[part] * FITTED.polled.workSeconds),
    answeredWorkSecond,
    polledWorkSecond,
    callback: difference('calledBack', 'answered', 1),
    answeredMegabyte: difference('answeredLarge', 'answered', moreMegabytes),
    polledMegabyte: difference('polledLarge', 'polled', moreMegabytes),
    waitingSecond: byPart((part) => (processorMs[part] / seconds - idleSecond[part]) / FITTED.waited.waiting),
  };
}

/** The processor time of one second of a workload, in milliseconds. */
export function predict(coefficients: Coefficients, workload: Workload, processes: Processes): ByPart {
  const { perSecond, polledShare, callbackShare, workSeconds, megabytes, waiting } = workload;
  const polled = perSecond * polledShare;
  const answered = perSecond - polled;
  const times: readonly (readonly [keyof Coefficients, number])[] = [
    ['answeredTask', answered],
    ['answeredWorkSecond', answered * workSeconds],
    ['polledTask', polled],
    ['polledWorkSecond', polled * workSeconds],
    ['callback', perSecond * callbackShare],
    ['answeredMegabyte', answered * megabytes],
    ['polledMegabyte', polled * megabytes],
    ['waitingSecond', waiting],
  ];
  return byPart(
    (part) =>
      coefficients.idleSecond[part] * copiesOf(part, processes) +
      times.reduce((sum, [name, units]) => sum + coefficients[name][part] * units, 0),
  );
}

/** How many times the idle cost of one api with one worker. The servers' depends on how many poll them. */
function copiesOf(part: Part, { apis, workers }: Processes): number {
  if (part === 'api') return apis;
  return part === 'worker' ? workers : (apis + workers) / 2;
}

export function byPart(value: (part: Part, index: number) => number): ByPart {
  const [api = 0, worker = 0, temporal = 0, postgres = 0] = PARTS.map(value);
  return { api, worker, temporal, postgres };
}

export function totalOf(parts: ByPart): number {
  return PARTS.reduce((sum, part) => sum + parts[part], 0);
}
