/**
 * Threads that do one job at a time, each within a time limit, and pools of them that tenants share: for work whose
 * duration depends on untrusted input. Nothing but the end of its thread interrupts a regular expression or a loop that
 * does not terminate; the next job gets a new thread. Used by everything that runs untrusted input off the event loop.
 */
import { parseArgs } from 'node:util';
import { Piscina } from 'piscina';
import { timeOutMs } from '../config/time-outs.ts';
import type { ShareMetrics, SharedResource } from '../telemetry/metrics.ts';
import { createTenantShares } from './tenant-shares.ts';

/**
 * How long a thread may take to start, in milliseconds. Loading its module takes a tenth of a second, and some seconds
 * on a very busy machine.
 */
const START_TIMEOUT_MS = timeOutMs(30_000);

/** A job returned no result: it took longer than it may, or its thread died, of its memory limit for example. */
export class ThreadEndedError extends Error {
  override readonly name = 'ThreadEndedError';
  readonly reason: 'timeout' | 'died';

  constructor(reason: 'timeout' | 'died', cause: unknown) {
    super(reason === 'timeout' ? 'the job took longer than it may' : 'the thread of the job died', { cause });
    this.reason = reason;
  }
}

export interface TimedThread<Job, Answer> {
  /**
   * Does a job, starting the thread first if there is none; the time limit begins when the thread is running. The
   * caller waits for each job to end before it submits the next.
   *
   * @param transferred buffers of the job that need not be copied: they are detached in the caller.
   * @throws {ThreadEndedError} there is no result, and the thread is gone.
   */
  run(job: Job, timeoutMs: number, transferred?: readonly ArrayBuffer[]): Promise<Answer>;
  /**
   * Starts the thread, so that the first job does not wait for that. Closing also ends a start, which is not a
   * failure.
   *
   * @throws {ThreadEndedError} it does not start.
   */
  start(): Promise<void>;
  /** Ends the thread, and the job with it. */
  close(): Promise<void>;
}

interface TimedThreadOptions<Job> {
  /** The file that the thread runs: its default export takes a job and returns the result, and throws nothing. */
  readonly module: string;
  /** A job that is done at once: it shows that the thread is running. */
  readonly startJob: Job;
  /** The limit of the thread's JavaScript heap. A job that exceeds it ends the thread. */
  readonly heapMb: number;
}

/** Creates a thread that starts with its first job and does not keep the process alive. */
export function createTimedThread<Job, Answer>(options: TimedThreadOptions<Job>): TimedThread<Job, Answer> {
  let pool: Piscina<Job, Answer> | undefined;
  let current: AbortController | undefined;
  let isStarted = false;
  let isClosed = false;

  const start = (): Piscina<Job, Answer> => {
    const started = new Piscina<Job, Answer>({
      filename: options.module,
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Infinity,
      execArgv: [...THREAD_ARGUMENTS],
      // No secrets where they are not needed.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    });
    // Emitted for a thread that dies while it starts: the job that it was started for would wait for ever. One that was
    // ended with its job may report an error of its own afterwards, when another thread has the next job.
    started.on('error', () => {
      if (pool === started) current?.abort();
    });
    return started;
  };

  async function runWithin(job: Job, timeoutMs: number, transferred: readonly ArrayBuffer[] = []): Promise<Answer> {
    const own = (pool ??= start());
    const controller = new AbortController();
    current = controller;
    let isLate = false;
    // Aborting ends the thread; the next job gets a new one.
    const timer = setTimeout(() => {
      isLate = true;
      controller.abort();
    }, timeoutMs);
    try {
      return await own.run(job, { signal: controller.signal, transferList: [...transferred] });
    } catch (error) {
      if (pool === own) pool = undefined;
      void own.destroy();
      throw new ThreadEndedError(isLate ? 'timeout' : 'died', error);
    } finally {
      clearTimeout(timer);
    }
  }

  let starting: Promise<void> | undefined;
  const startOnce = (): Promise<void> => {
    starting ??= runWithin(options.startJob, START_TIMEOUT_MS).then(
      () => {
        isStarted = true;
        starting = undefined;
      },
      (error: unknown) => {
        starting = undefined;
        throw error;
      },
    );
    return starting;
  };

  return {
    async start() {
      try {
        await startOnce();
      } catch (error) {
        if (!isClosed) throw error;
      }
    },
    async run(job, timeoutMs, transferred) {
      // Jobs that waited for their turn would start it again.
      if (isClosed) throw new ThreadEndedError('died', new Error('the thread was closed'));
      try {
        if (!isStarted) await startOnce();
        return await runWithin(job, timeoutMs, transferred);
      } catch (error) {
        isStarted = false;
        throw error;
      }
    },
    async close() {
      isClosed = true;
      await pool?.destroy();
    },
  };
}

/**
 * Those of the process that a thread needs: source maps, and what is loaded first. A thread does not start with an
 * option for V8 or for the whole process, such as `--max-old-space-size`, and Node 24 passes such options to every
 * process of its test runner.
 */
const INHERITED = {
  'enable-source-maps': { type: 'boolean' },
  conditions: { type: 'string', short: 'C', multiple: true },
  import: { type: 'string', multiple: true },
  require: { type: 'string', short: 'r', multiple: true },
} as const;

/** The options of Node with which threads are started. @param processArguments as in `process.execArgv`. */
export function threadArguments(processArguments: readonly string[]): readonly string[] {
  const { tokens } = parseArgs({ args: [...processArguments], options: INHERITED, strict: false, tokens: true });
  const inherited = tokens.flatMap((token) => {
    if (token.kind !== 'option' || !Object.hasOwn(INHERITED, token.name)) return [];
    return [token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`];
  });
  // The pool's own code tries `require` first, and Node 20 (24 does not) ends the whole process if a thread is
  // terminated while `require` links an ES module ("IsGraphAsync must be used on an instantiated module"): a process
  // that is stopped while its threads start would not shut down in order.
  return [...inherited, '--no-experimental-require-module'];
}

export const THREAD_ARGUMENTS = threadArguments(process.execArgv);

/** The number of threads. Two, so that one tenant leaves one thread to the others. */
const POOL_THREADS = 2;
const POOL_WAITING = { perTenant: 100, perProcess: 1_000 };

/** How one job is done. */
export interface ThreadJobOptions {
  /** Ends the wait for a thread, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Buffers of the job that need not be copied: they are detached in the caller. */
  readonly transferred?: readonly ArrayBuffer[];
  /** The time limit of this job; default: that of the pool. */
  readonly timeoutMs?: number;
}

/**
 * Some timed threads that accounts, or upstreams, share: each holds at most as many as it leaves free, and the others
 * of its jobs wait in turn.
 */
export interface ThreadPool<Job, Answer> {
  /**
   * Does a job for an account or another tenant, once a thread is free for it.
   *
   * @throws {ShareExhaustedError} too many jobs wait, or this one waited too long.
   * @throws {ThreadEndedError} the job took longer than it may, or its thread died.
   */
  run(tenant: string, job: Job, options?: ThreadJobOptions): Promise<Answer>;
  /** Starts the threads, so that the first jobs do not wait for that. */
  start(): Promise<void>;
  /** Ends the threads, and the jobs with them. */
  close(): Promise<void>;
}

interface ThreadPoolOptions<Job> extends TimedThreadOptions<Job> {
  readonly resource: SharedResource;
  readonly metrics?: ShareMetrics | undefined;
  /** The time limit of one job, unless it has its own. */
  readonly timeoutMs: number;
  /** The longest wait for a thread; absent: as long as it takes. */
  readonly waitMs?: number;
  /** How many jobs may wait; default: 100 of a tenant, 1,000 in all. */
  readonly waiting?: { readonly perTenant: number; readonly perProcess: number };
}

export function createThreadPool<Job, Answer>(options: ThreadPoolOptions<Job>): ThreadPool<Job, Answer> {
  const { resource, metrics, waitMs, waiting = POOL_WAITING } = options;
  const shares = createTenantShares({
    resource,
    capacity: POOL_THREADS,
    leavesFree: true,
    waiting,
    retryAfterSeconds: 2,
    metrics,
  });
  const threads = Array.from({ length: POOL_THREADS }, () => createTimedThread<Job, Answer>(options));
  const idle = [...threads];
  return {
    run(tenant, job, { signal, transferred, timeoutMs = options.timeoutMs } = {}) {
      const runInThread = async (): Promise<Answer> => {
        const thread = idle.pop() as TimedThread<Job, Answer>;
        try {
          return await thread.run(job, timeoutMs, transferred);
        } finally {
          idle.push(thread);
        }
      };
      return shares.run(tenant, runInThread, { signal, waitMs });
    },
    async start() {
      await Promise.all(threads.map((thread) => thread.start()));
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
