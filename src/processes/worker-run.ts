/**
 * Runs the Temporal workers of a process together and ends them together. Separate from `worker.ts`, which configures
 * each of them: this module only handles that they run, fail and stop.
 *
 * A poll that Temporal rejects permanently ends its worker: a namespace that is missing for a minute is enough. The SDK
 * abandons that worker's activities, and cannot start it again in this process (its native half keeps its polls), so
 * the process ends and its supervisor starts another. Before that it waits for work in progress at upstreams, as at
 * SIGTERM: it is paid for, and is written to the database without Temporal.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';

/** The part of the SDK's worker that is used here. */
export interface RunnableWorker {
  run(): Promise<void>;
  getState(): string;
  shutdown(): void;
}

export interface WorkerRunOptions {
  readonly workers: readonly RunnableWorker[];
  /** Delay until activities that can hand back their work are requested to do so. */
  readonly handBackAfterMs: number;
  /** Requests it. */
  readonly handBack: () => void;
  /** How long work at an upstream may take from then on, or from the failure of a worker. */
  readonly graceMs: number;
  readonly activities: ActivityCount;
  readonly logger: Logger;
}

export interface WorkerRun {
  /** Resolves when all have stopped; rejects if one has failed, once nothing is left that should be awaited. */
  readonly finished: Promise<void>;
  readonly shutdown: () => void;
}

/**
 * How long a failed worker may take to report its failure, in milliseconds. After that its native part is considered
 * stuck.
 */
const FAILURE_NOTICE_MS = 2_000;
const CHECK_INTERVAL_MS = 500;

/** Runs all of them. If one fails, the others are stopped: half a worker would look healthy. */
export function runWorkers(options: WorkerRunOptions): WorkerRun {
  const { workers, handBackAfterMs, handBack, graceMs, activities, logger } = options;
  let handBackTimer: NodeJS.Timeout | undefined;

  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    handBackTimer ??= setTimeout(handBack, handBackAfterMs);
  };

  const finished = Promise.all(workers.map((worker) => runOne(worker)))
    .then(() => undefined)
    .catch(async (error: unknown) => {
      shutdown();
      const waitingFor = activities.running();
      logger.error({ err: error, activities: waitingFor }, 'Temporal worker failed; waiting for its activities');
      const over = new AbortController();
      await Promise.race([activities.settled(), sleep(graceMs, undefined, { signal: over.signal })]);
      over.abort();
      throw error;
    })
    .finally(() => clearTimeout(handBackTimer));
  return { finished, shutdown };
}

async function runOne(worker: RunnableWorker): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([worker.run(), waitForSilentFailure(worker, over.signal)]);
  } finally {
    over.abort();
  }
}

/** Throws if a worker has failed and its `run` does not end. */
async function waitForSilentFailure(worker: RunnableWorker, signal: AbortSignal): Promise<never> {
  while (worker.getState() !== 'FAILED') await sleep(CHECK_INTERVAL_MS, undefined, { signal });
  await sleep(FAILURE_NOTICE_MS, undefined, { signal });
  throw new Error('a Temporal worker failed, and did not stop');
}

/** The activities that this process is executing, whatever happened to the worker that started them. */
export interface ActivityCount {
  running(): number;
  /** Resolves as soon as there are none. */
  settled(): Promise<void>;
}

type AnyActivity = (...args: never[]) => Promise<unknown>;

/** Counts activities. @returns the same activities, and their counter. */
export function countActivities<Activities extends { readonly [name in keyof Activities]: AnyActivity }>(
  activities: Activities,
): { readonly counted: Activities; readonly count: ActivityCount } {
  const running = new Set<Promise<unknown>>();
  const countOne =
    (activity: AnyActivity) =>
    (...args: never[]): Promise<unknown> => {
      const execution = activity(...args).finally(() => running.delete(execution));
      running.add(execution);
      return execution;
    };
  const counted = Object.fromEntries(
    Object.entries<AnyActivity>(activities).map(([name, activity]) => [name, countOne(activity)]),
  ) as Activities;
  return {
    counted,
    count: {
      running: () => running.size,
      async settled() {
        while (running.size > 0) await Promise.allSettled(running);
      },
    },
  };
}
