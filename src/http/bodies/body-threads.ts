/**
 * The threads in which large request bodies are parsed, outside the event loop: ten megabytes of JSON take some tenths
 * of a second to decode, parse and fingerprint, in which no other request would be served. Accounts share the threads.
 *
 * The result is turned into a value of this thread in one piece, which takes a fraction of that. This, and all
 * further work on a large body here, is done in turns (limits/turns.ts).
 */
import { timeOutMs } from '../../config/time-outs.ts';
import { packageModule } from '../../config/package-root.ts';
import { createThreadPool } from '../../limits/timed-threads.ts';
import type { ThreadPool } from '../../limits/timed-threads.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import type { BodyJob, BodyJobAnswer } from './body-job.ts';

/** The limit of a thread's JavaScript heap: 10 MB of short values take some 100 MB. */
const THREAD_HEAP_MB = 512;
/** The time limit of parsing one body. The worst body within the bounds takes a second on a slow machine. */
const JOB_TIMEOUT_MS = timeOutMs(10_000);
const WAIT_MS = timeOutMs(20_000);

export type BodyThreads = ThreadPool<BodyJob, BodyJobAnswer>;

export function createBodyThreads(metrics?: ShareMetrics): BodyThreads {
  return createThreadPool<BodyJob, BodyJobAnswer>({
    resource: 'body_threads',
    module: packageModule('src/http/bodies/body-thread.ts'),
    startJob: { kind: 'start' },
    heapMb: THREAD_HEAP_MB,
    timeoutMs: JOB_TIMEOUT_MS,
    waitMs: WAIT_MS,
    metrics,
  });
}
