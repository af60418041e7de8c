/**
 * Some timed threads (timed-threads.ts) that accounts, or upstreams, share: each holds at most as many as it leaves free,
 * and the others of its jobs wait in turn. Used by everything that processes the content of requests or of answers off
 * the event loop.
 */
import type { SharedResource, ShareMetrics } from '../telemetry/metrics.ts';
import { createTenantShares } from './tenant-shares.ts';
import { createTimedThread } from './timed-threads.ts';
import type { TimedThread, TimedThreadOptions } from './timed-threads.ts';

/** The number of threads. Two, so that one tenant leaves one thread to the others. */
const THREADS = 2;
const WAITING = { perTenant: 100, perProcess: 1_000 };

/** How one job is done. */
export interface ThreadJobOptions {
  /** Ends the wait for a thread, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Buffers of the job that need not be copied: they are detached in the caller. */
  readonly transferred?: readonly ArrayBuffer[];
  /** The time limit of this job; default: that of the pool. */
  readonly timeoutMs?: number;
}

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

export interface ThreadPoolOptions<Job> extends TimedThreadOptions<Job> {
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
  const { resource, metrics, waitMs, waiting = WAITING } = options;
  const shares = createTenantShares({
    resource,
    capacity: THREADS,
    leavesFree: true,
    waiting,
    retryAfterSeconds: 2,
    metrics,
  });
  const threads = Array.from({ length: THREADS }, () => createTimedThread<Job, Answer>(options));
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
