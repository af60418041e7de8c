/**
 * A thread that does one job at a time, each within a time limit: for work whose duration depends on untrusted input.
 * Nothing but the end of its thread interrupts a regular expression or a loop that does not terminate; the next job
 * gets a new thread. Used by everything that runs untrusted input off the event loop.
 */
import { Piscina } from 'piscina';
import { timeOutMs } from '../config/time-outs.ts';
import { THREAD_ARGUMENTS } from './thread-arguments.ts';

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

export interface TimedThreadOptions<Job> {
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
