/**
 * The pool of threads in which the embedded engines render, so that rendering never blocks the event loop that sends a
 * worker's heartbeats (architecture, "Parts that run"). Threads start with the first job and stay; each runs one job at
 * a time.
 *
 * Threads are shared out by account (src/limits/tenant-shares.ts): among the waiting accounts, the one with the fewest
 * threads goes first. A long job of an account that has more threads than a waiting account is paused in the middle
 * (pause-control.ts): it keeps its thread, which blocks, and another thread works instead. So at most `threads` work at any
 * time, and an account that is alone has all of them.
 *
 * Jobs wait here and not in piscina: its own queue is only checked when a thread finishes, so a job queued behind one
 * whose thread dies would wait for ever.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Logger } from '../../telemetry/log.ts';
import { THREAD_ARGUMENTS } from '../../limits/timed-threads.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { Lease, TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import { isEngineName, isLongEngine } from '@darkroom/engines/engine-names';
import { createPauseControl } from '@darkroom/engines/pause-control';
import type { PauseControl } from '@darkroom/engines/pause-control';
import { UnusableInputError } from '@darkroom/engines/unusable-input-error';
import type { EngineJob, RenderedFile, ThreadResult } from '@darkroom/engines/engine';

/** Options of a job besides the job itself. */
export interface RenderOptions {
  /** The account for which it renders: threads are shared out by account. */
  readonly tenant: string;
  readonly signal: AbortSignal;
  /** Called with the fraction done, 0 to 1, a few times a second at most. */
  readonly onProgress?: (fraction: number) => void;
}

/** A bounded number of threads that render. */
export interface EnginePool {
  readonly threads: number;
  /** Whether an engine of that name exists. */
  has(engine: string): boolean;
  /**
   * Renders one job; waits for a free thread first.
   *
   * @throws {UnusableInputError} a file of the input cannot be used, or the engine cannot make anything from the input.
   * @throws {DOMException} `AbortError` when the signal fires; the thread's work is discarded and the thread replaced.
   */
  render(job: EngineJob, options: RenderOptions): Promise<readonly RenderedFile[]>;
  /**
   * The slot that a long rendering needs before anything else is done for it, because it may be paused in the middle
   * and keeps its memory meanwhile; undefined for an engine that needs none.
   *
   * @throws {ShareExhaustedError} the limit of running or waiting renderings is reached; nothing was done.
   */
  enter(engine: string, options: { readonly tenant: string; readonly signal: AbortSignal }): Promise<Lease | undefined>;
  close(): Promise<void>;
}

/**
 * 256 MB of JavaScript heap per thread. Pixels live outside that heap; the heap holds shapes and code, about 30 MB at
 * the largest size. The limit only turns a runaway into one failed job.
 */
const THREAD_HEAP_MB = 256;

/**
 * How long a thread has to end the processes that it started before it is terminated. It receives the stop message
 * between two frames, which take many seconds each in a large video on a busy machine. Processes that outlive the
 * thread stay in the system's process table.
 */
const STOP_WITHIN_MS = 30_000;

/**
 * The number of long renderings in addition to one per thread. They let other accounts' videos take turns with those of
 * the first account.
 */
const EXTRA_RENDERINGS = 2;
/**
 * The maximum number of long renderings that wait for a slot, in total and per account. Those beyond it have to be
 * retried.
 */
const WAITING_RENDERINGS = { perProcess: 2, perTenant: 1 } as const;

/** The error that a caller gets when the signal fires, as from every other abortable call of the platform. */
function abortError(signal: AbortSignal): DOMException {
  const error = new DOMException('the rendering was aborted', 'AbortError');
  Object.defineProperty(error, 'cause', { value: signal.reason, configurable: true });
  return error;
}

/** Input of a thread. */
interface ThreadTask {
  readonly job: EngineJob;
  readonly progressPort: MessagePort;
  readonly pause: Int32Array;
}

/** State of a job that has a thread. */
interface RunningJob {
  readonly tenant: string;
  readonly pause: PauseControl;
  lease: Lease;
}

/**
 * Creates a pool; nothing runs until the first job.
 *
 * @param options.threads how many jobs render at the same time, at least 1.
 * @param options.threadModule the file that each thread runs, if not the engines' own.
 */
export function createEnginePool(options: {
  threads: number;
  logger: Logger;
  threadModule?: string;
  shareMetrics?: ShareMetrics;
}): EnginePool {
  const {
    threads,
    logger,
    threadModule = fileURLToPath(import.meta.resolve('@darkroom/engines/thread')),
    shareMetrics,
  } = options;
  const maxPaused = longRenderingLimits(threads).active;
  const piscina = new Piscina<ThreadTask, ThreadResult>({
    filename: threadModule,
    minThreads: 0,
    // More than the number that work: the threads of paused jobs are blocked.
    maxThreads: threads + maxPaused,
    concurrentTasksPerWorker: 1,
    // Starting a thread costs some 300 ms (canvas, fonts): so a started thread stays.
    idleTimeout: Infinity,
    execArgv: [...THREAD_ARGUMENTS],
    // No environment: a rendering depends on its job alone, and secrets stay out of threads that do not need them.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  });
  const shares = createTenantShares({
    resource: 'engine_threads',
    capacity: threads,
    waiting: { perTenant: Number.POSITIVE_INFINITY, perProcess: Number.POSITIVE_INFINITY },
    metrics: shareMetrics,
  });
  const longRenderings = createLongRenderings(threads, shareMetrics);
  const pausable = new Set<RunningJob>();
  let paused = 0;
  const controllers = new Set<AbortController>();
  const closing = new AbortController();

  // Emitted when a thread dies without a job, mostly while it starts: the job that it was started for would otherwise
  // wait for ever.
  piscina.on('error', (err: unknown) => {
    logger.error({ err }, 'engine thread failed outside a job');
    for (const controller of controllers) controller.abort(err);
  });

  const mayPause = ({ tenant }: RunningJob): boolean => paused < maxPaused && shares.isOutranked(tenant);
  /** Requests a pause from accounts that have more threads than a waiting one; call it when that may have changed. */
  const review = (): void => {
    for (const running of pausable) running.pause.setRequested(mayPause(running));
  };

  /** Waits for a thread; a job that resumes goes before the account's other jobs. */
  async function acquireThread(tenant: string, signal: AbortSignal, isFirstOfTenant = false): Promise<Lease> {
    const taken = shares.take(tenant, { signal, isFirstOfTenant });
    review();
    return taken.catch(() => {
      throw abortError(signal);
    });
  }

  /** Pauses the job: its thread slot goes to a waiting job, until it is this job's turn again. */
  async function yieldThread(running: RunningJob, signal: AbortSignal): Promise<void> {
    if (!signal.aborted && paused < maxPaused && running.lease.passOn()) {
      paused += 1;
      try {
        const lease = await acquireThread(running.tenant, signal, true);
        // The job has ended meanwhile: no other code would release the lease.
        if (signal.aborted) lease.release();
        else running.lease = lease;
      } catch {
        // Aborted, or its thread died: the job has no slot any more, and needs none to stop.
      } finally {
        paused -= 1;
      }
    }
    running.pause.resume();
    review();
  }

  async function renderInThread(
    job: EngineJob,
    running: RunningJob,
    { signal, onProgress }: Omit<RenderOptions, 'tenant'>,
  ): Promise<readonly RenderedFile[]> {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const controller = new AbortController();
    const { port1, port2 } = new MessageChannel();
    const terminate = (): void => controller.abort(signal.reason);
    port1.on('message', (message: number | 'stopped' | 'paused') => {
      if (message === 'stopped') terminate();
      else if (message === 'paused') void yieldThread(running, either);
      else onProgress?.(message);
    });
    let timer: NodeJS.Timeout | undefined;
    // The thread ends its child processes first, unless it is too busy to receive the message.
    const stop = (): void => {
      port1.postMessage('stop');
      timer = setTimeout(terminate, STOP_WITHIN_MS);
    };
    signal.addEventListener('abort', stop, { once: true });
    controllers.add(controller);
    if (isLongEngine(job.engine)) pausable.add(running);
    review();
    try {
      const answer = await piscina.run(
        { job, progressPort: port2, pause: running.pause.shared },
        { signal: controller.signal, transferList: [port2] },
      );
      if (answer.kind === 'unusable_input') throw new UnusableInputError(answer.problem, answer.fault);
      return answer.files;
    } catch (err) {
      if (signal.aborted) throw abortError(signal);
      // Any other AbortError means that a thread died while it started; the caller did not abort anything.
      throw err instanceof Error && err.name !== 'AbortError'
        ? err
        : new Error('the engine thread failed', { cause: err });
    } finally {
      clearTimeout(timer);
      port1.close();
      controllers.delete(controller);
      pausable.delete(running);
      ended.abort();
      signal.removeEventListener('abort', stop);
    }
  }

  return {
    threads,
    has: isEngineName,
    async render(job, { tenant, signal, onProgress }) {
      const either = AbortSignal.any([signal, closing.signal]);
      const running = { tenant, pause: createPauseControl(), lease: await acquireThread(tenant, either) };
      try {
        if (either.aborted) throw abortError(either);
        const options = { signal: either, ...(onProgress === undefined ? {} : { onProgress }) };
        return await renderInThread(job, running, options);
      } finally {
        running.lease.release();
        review();
      }
    },
    async enter(engine, { tenant, signal }) {
      return isLongEngine(engine) ? longRenderings.take(tenant, { signal }) : undefined;
    },
    async close() {
      closing.abort(new Error('the engine pool was closed'));
      await piscina.destroy();
    },
  };
}

/** @returns how many long renderings may be in progress, and how many including those that wait for a slot. */
export function longRenderingLimits(threads: number): { readonly active: number; readonly activeAndWaiting: number } {
  const active = threads + EXTRA_RENDERINGS;
  return { active, activeAndWaiting: active + WAITING_RENDERINGS.perProcess };
}

/**
 * Limits the long renderings (videos, songs) in progress at a time, working or paused. A paused one keeps its memory
 * and the process that encodes it: about 1 GB at 3840 x 2160. So the limit is low, and renderings beyond it stay in
 * Temporal, where they hold none of the worker's slots. One account has at most one in progress per thread.
 */
function createLongRenderings(threads: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'long_renderings',
    capacity: longRenderingLimits(threads).active,
    perTenant: threads,
    waiting: WAITING_RENDERINGS,
    metrics,
  });
}
