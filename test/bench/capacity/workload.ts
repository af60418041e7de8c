/** What an installation has to do in a window, and the windows from which its costs are derived. */

/** A steady load. All tasks are images of an upstream, and each has a client that waits for its end. */
export interface Workload {
  readonly name: string;
  readonly perSecond: number;
  /** The part of the tasks that are jobs, polled and fetched by their URL; the others are answered with the bytes. */
  readonly polledShare: number;
  /** The part of the tasks with a callback. */
  readonly callbackShare: number;
  /** How long the upstream works on a task. */
  readonly workSeconds: number;
  /** The size of an output. */
  readonly megabytes: number;
  /** Clients that only wait, with `Prefer: wait=30`, for tasks that do not end meanwhile. */
  readonly waiting: number;
}

/** The processes of an installation on this machine. */
export interface Processes {
  readonly apis: number;
  readonly workers: number;
}

const NOTHING: Workload = {
  name: 'idle',
  perSecond: 0,
  polledShare: 0,
  callbackShare: 0,
  workSeconds: 0,
  megabytes: 0,
  waiting: 0,
};
const SMALL = { perSecond: 8, workSeconds: 1, megabytes: 0.001 };

/** One for each coefficient: what a window has more than another is what it costs more. */
export const FITTED = {
  idle: NOTHING,
  answered: { ...NOTHING, ...SMALL, name: 'answered' },
  answeredLate: { ...NOTHING, ...SMALL, name: 'answered after 11 s', workSeconds: 11 },
  polled: { ...NOTHING, ...SMALL, name: 'polled', polledShare: 1 },
  polledLate: { ...NOTHING, ...SMALL, name: 'polled for 11 s', polledShare: 1, workSeconds: 11 },
  answeredLarge: { ...NOTHING, ...SMALL, name: 'answered, 4 MB', megabytes: 4 },
  polledLarge: { ...NOTHING, ...SMALL, name: 'polled, 4 MB', polledShare: 1, megabytes: 4 },
  calledBack: { ...NOTHING, ...SMALL, name: 'answered, with callbacks', callbackShare: 1 },
  waited: { ...NOTHING, name: '1000 waiting clients', waiting: 1_000 },
} as const satisfies Readonly<Record<string, Workload>>;
export type FittedName = keyof typeof FITTED;

export const FITTED_PROCESSES: Processes = { apis: 1, workers: 1 };

/** Mixtures at other rates, and on other processes, which no coefficient is derived from. */
export const VALIDATED: readonly { readonly processes: Processes; readonly workload: Workload }[] = [
  {
    processes: { apis: 2, workers: 2 },
    workload: {
      name: '2 apis, 2 workers, mostly polled',
      perSecond: 10,
      polledShare: 0.6,
      callbackShare: 1,
      workSeconds: 6,
      megabytes: 1,
      waiting: 0,
    },
  },
  {
    processes: { apis: 1, workers: 1 },
    workload: {
      name: '1 api, 1 worker, mostly answered',
      perSecond: 16,
      polledShare: 0.25,
      callbackShare: 0.5,
      workSeconds: 3,
      megabytes: 0.25,
      waiting: 500,
    },
  },
];

/** Whether the task at an index, from 0, is among a share of all: evenly spread, and the same in every run. */
export function isAmong(share: number, index: number): boolean {
  return Math.floor((index + 1) * share) > Math.floor(index * share);
}
