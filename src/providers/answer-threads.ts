/**
 * The threads in which answers of providers are read, off the event loop of a worker, on which the heartbeats of every
 * task depend: large answers are parsed there, and the expressions of model files are evaluated. A regular expression
 * over untrusted text can run forever, and only the end of its thread interrupts it. Upstreams share the threads, so
 * that the answers of one never hold up those of another.
 *
 * What a thread takes or returns is copied by the event loop in one piece. Large pieces are copied in turns
 * (src/limits/turns.ts).
 */
import { deserialize } from 'node:v8';
import { packageModule } from '../config/package-root.ts';
import { timeOutMs } from '../config/time-outs.ts';
import { createThreadPool } from '../limits/timed-threads.ts';
import type { ThreadJobOptions } from '../limits/timed-threads.ts';
import { createTurns } from '../limits/turns.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import type { AnswerJob, AnswerJobResult } from './answer-thread.ts';

/**
 * The time limit of evaluating expressions, in milliseconds. It usually takes some microseconds, and a second or two for
 * a document of many megabytes, several times as long on a busy machine: the threads have a low priority.
 */
const EVALUATION_TIMEOUT_MS = timeOutMs(15_000);
/**
 * The same for parsing. It always ends, after some tenths of a second for the largest answer, and may be of work that
 * was paid for: a machine that is busy must not lose it.
 */
const PARSING_TIMEOUT_MS = timeOutMs(60_000);
/** The limit of a thread's JavaScript heap: eight times the size of the largest answer (upstream-calls.ts). */
const THREAD_HEAP_MB = 512;
/** Every waiting job is an activity's, and a worker bounds those; one that gave up would lose what a provider answered. */
const WAITING = { perTenant: Infinity, perProcess: Infinity };

export interface AnswerThreads {
  /**
   * Runs a job in the upstream's share of the threads, once one is free for it.
   *
   * @param upstream its name.
   * @param signal ends the wait for a thread, with its reason.
   * @throws {ThreadEndedError} the job took longer than it may, or its thread died.
   */
  run(
    upstream: string,
    job: Exclude<AnswerJob, { kind: 'start' | 'parse' }>,
    signal?: AbortSignal,
  ): Promise<Extract<AnswerJobResult, { kind: 'evaluated' }>>;
  /**
   * Parses a large answer. Throws as `run` does.
   *
   * @param bytes in memory of their own, which is handed over.
   * @returns undefined if it is not JSON.
   */
  parse(upstream: string, bytes: Uint8Array<ArrayBuffer>, signal?: AbortSignal): Promise<unknown>;
  /** Resolves when the next large piece may be copied. */
  nextTurn(): Promise<void>;
  /** Ends the threads, and the jobs with them. */
  close(): Promise<void>;
}

/**
 * Creates the threads of a process; each starts with its first job.
 *
 * @param options.timeoutMs the limit of evaluating expressions.
 */
export function createAnswerThreads(
  options: { readonly metrics?: ShareMetrics | undefined; readonly timeoutMs?: number } = {},
): AnswerThreads {
  const { metrics, timeoutMs = EVALUATION_TIMEOUT_MS } = options;
  const pool = createThreadPool<AnswerJob, AnswerJobResult>({
    resource: 'answer_threads',
    module: packageModule('src/providers/answer-thread.ts'),
    startJob: { kind: 'start' },
    heapMb: THREAD_HEAP_MB,
    timeoutMs,
    waiting: WAITING,
    metrics,
  });
  const turns = createTurns();

  async function run<Kind extends AnswerJobResult['kind']>(
    upstream: string,
    job: AnswerJob,
    kind: Kind,
    options: ThreadJobOptions,
  ): Promise<Extract<AnswerJobResult, { kind: Kind }>> {
    const result = await pool.run(upstream, job, options);
    if (result.kind !== kind) throw new Error(`an answer thread returned ${result.kind}`);
    return result as Extract<AnswerJobResult, { kind: Kind }>;
  }

  return {
    run: (upstream, job, signal) =>
      run(upstream, job, 'evaluated', { signal, transferred: [job.scope.buffer as ArrayBuffer] }),
    async parse(upstream, bytes, signal) {
      const transferred = [bytes.buffer];
      const limits = { signal, transferred, timeoutMs: PARSING_TIMEOUT_MS };
      const { serialized } = await run(upstream, { kind: 'parse', bytes }, 'parsed', limits);
      if (serialized === undefined) return undefined;
      await turns.next();
      return deserialize(serialized) as unknown;
    },
    nextTurn: () => turns.next(),
    close: () => pool.close(),
  };
}
