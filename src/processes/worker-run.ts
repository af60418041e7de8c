/**
 * How the Temporal workers of a process run together and end together. Apart from `worker.ts`, which says what each of
 * them is: this knows only that they run, fail and stop.
 *
 * A poll that Temporal rejects for good ends its worker: a namespace that is missing for a minute is enough. The SDK
 * abandons what that worker had in hand, and cannot start it again in this process (its native half keeps its polls), so
 * the process ends and its supervisor starts another. Before that, what upstreams are doing is waited for, as at SIGTERM:
 * it is paid for, and is written to the database without Temporal.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';

/** What is needed of the SDK's worker. */
export interface RunnableWorker {
  run(): Promise<void>;
  getState(): string;
  shutdown(): void;
}

export interface WorkerRunOptions {
  readonly workers: readonly RunnableWorker[];
  /** Until what can be handed back is asked to. */
  readonly handBackAfterMs: number;
  /** Asks for it. */
  readonly handBack: () => void;
  /** How long what an upstream is doing may take from then on, or from the failure of a worker. */
  readonly graceMs: number;
  readonly activities: ActivityCount;
  readonly logger: Logger;
}

export interface WorkerRun {
  /** Ends when all have stopped; throws when one has failed, once nothing is left that should be waited for. */
  readonly finished: Promise<void>;
  readonly shutdown: () => void;
}

/** A worker that has failed and does not say so within this long never will: its native half is stuck. */
const FAILURE_NOTICE_MS = 2_000;
const LOOK_EVERY_MS = 500;

/** Runs all of them. One that fails takes the others along: half a worker would look healthy. */
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
      logger.error(
        { err: error, activities: waitingFor },
        'a Temporal worker failed; what its activities are doing is waited for',
      );
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

/** Throws where a worker has failed and its `run` does not end. */
async function waitForSilentFailure(worker: RunnableWorker, signal: AbortSignal): Promise<never> {
  while (worker.getState() !== 'FAILED') await sleep(LOOK_EVERY_MS, undefined, { signal });
  await sleep(FAILURE_NOTICE_MS, undefined, { signal });
  throw new Error('a Temporal worker failed, and did not stop');
}

/** The activities that this process is executing, whatever has become of the worker that began them. */
export interface ActivityCount {
  running(): number;
  /** Ends as soon as there are none. */
  settled(): Promise<void>;
}

type AnyActivity = (...args: never[]) => Promise<unknown>;

/** Counts activities. @returns the same activities, and what counts them. */
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
