/**
 * Runs the Temporal workers of a process together and ends them together. Separate from `worker.ts`, which configures
 * each of them: this module only handles that they run, fail and stop.
 *
 * A poll that Temporal rejects permanently ends its worker: a namespace that is missing for a minute is enough. The SDK
 * abandons that worker's activities and cannot start it again. The process ends then, and its supervisor starts
 * another. Before that it waits for work in progress at upstreams, as at SIGTERM: it is paid for, and is written to the
 * database without Temporal.
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
  /** How long a failed worker may take to stop; default 10 s. */
  readonly mostStoppingMs?: number;
  readonly activities: ActivityCount;
  readonly logger: Logger;
}

export interface WorkerRun {
  /** Resolves when all have stopped; rejects if one has failed, once nothing is left that should be awaited. */
  readonly finished: Promise<void>;
  readonly shutdown: () => void;
}

/**
 * How long a failed worker may take to stop, in milliseconds. After that it is not waited for: Temporal may hold one of
 * its last polls for a minute.
 */
const MOST_STOPPING_MS = 10_000;
const CHECK_INTERVAL_MS = 500;

/** The native half of the SDK's worker. */
interface NativeHalf {
  finalizeShutdown(): Promise<void>;
  initiateShutdown(): void;
  pollActivityTask(): Promise<unknown>;
  pollNexusTask(): Promise<unknown>;
  pollWorkflowActivation(): Promise<unknown>;
}

/** What a poll of a worker that is shut down fails with. */
const SHUT_DOWN = 'ShutdownError';
/** Limit: more polls than this are not rejected for what Temporal has answered before. */
const MOST_LAST_POLLS = 20;

/**
 * Lets the native half of a worker finish after a failure. The SDK (1.24.0) waits for that at the end of `run`, but its
 * native half is finished only when it has answered one more poll of each kind with the end, which the SDK does not
 * request after a failure: `run` never ends, its connection cannot be closed, and the native half stays for as long as
 * the process.
 *
 * @param worker as the SDK creates it; one without that half is left as it is.
 */
function finishAfterFailure(worker: RunnableWorker): void {
  const { nativeWorker: native } = worker as RunnableWorker & { readonly nativeWorker?: NativeHalf };
  if (native === undefined) return;
  const finalize = native.finalizeShutdown.bind(native);
  const pollUntilShutDown = async (poll: () => Promise<unknown>): Promise<void> => {
    for (let count = 0; count < MOST_LAST_POLLS; count++) {
      try {
        await poll();
      } catch (error) {
        if (error instanceof Error && error.name === SHUT_DOWN) return;
        // Another poll that Temporal has rejected.
        await sleep(CHECK_INTERVAL_MS);
      }
    }
  };
  native.finalizeShutdown = async () => {
    if (worker.getState() === 'FAILED') {
      native.initiateShutdown();
      await Promise.all([
        pollUntilShutDown(() => native.pollActivityTask()),
        pollUntilShutDown(() => native.pollNexusTask()),
        pollUntilShutDown(() => native.pollWorkflowActivation()),
      ]);
    }
    await finalize();
  };
}

/** Runs all of them. If one fails, the others are stopped: half a worker would look healthy. */
export function runWorkers(options: WorkerRunOptions): WorkerRun {
  const { workers, handBackAfterMs, handBack, graceMs, activities, logger } = options;
  const mostStoppingMs = options.mostStoppingMs ?? MOST_STOPPING_MS;
  let handBackTimer: NodeJS.Timeout | undefined;

  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    handBackTimer ??= setTimeout(handBack, handBackAfterMs);
  };

  const finished = Promise.all(workers.map((worker) => runOne(worker, mostStoppingMs)))
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

async function runOne(worker: RunnableWorker, mostStoppingMs: number): Promise<void> {
  finishAfterFailure(worker);
  const over = new AbortController();
  try {
    await Promise.race([worker.run(), waitForSilentFailure(worker, mostStoppingMs, over.signal)]);
  } finally {
    over.abort();
  }
}

/** Throws if a worker has failed and its `run` does not end. */
async function waitForSilentFailure(
  worker: RunnableWorker,
  mostStoppingMs: number,
  signal: AbortSignal,
): Promise<never> {
  while (worker.getState() !== 'FAILED') await sleep(CHECK_INTERVAL_MS, undefined, { signal });
  await sleep(mostStoppingMs, undefined, { signal });
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
