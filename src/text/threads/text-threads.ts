/**
 * The threads for work on the content of text requests (text-thread.ts), outside the event loop: a prompt of some
 * megabytes takes seconds to count, and what the offline text model does with a prompt depends on the prompt. Each job
 * has a time limit, after which its thread is terminated; accounts share the threads, and one account holds at most as
 * many as it leaves free.
 */
import type { AnswerPlan } from '@darkroom/offline-text/answer-plan';
import { SchemaTooComplexError } from '@darkroom/offline-text/schema-reader';
import { packageModule } from '../../config/package-root.ts';
import { ThreadEndedError, createThreadPool } from '../../limits/timed-threads.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import type { FunctionTool, Message, TextRequest } from '../request.ts';
import { timeOutMs } from '../../config/time-outs.ts';
import { TextFailure } from '../text-failure.ts';
import { countEach, isLongerThan } from '../tokens.ts';
import type { CountedRequest } from '../tokens.ts';

/**
 * The limit of a thread's JavaScript heap. The tokenizer's tables take 60 MB; the largest request and the objects built
 * from it take some 100 MB.
 */
const THREAD_HEAP_MB = 512;
/**
 * The time limit of one job, in milliseconds. A typical job takes a millisecond; counting 10 MB of random Chinese
 * characters, the slowest text, takes some 12 s.
 */
const JOB_TIMEOUT_MS = timeOutMs(10_000);
/** The longest wait for a thread, in milliseconds: about as long as the preceding jobs may take. */
const WAIT_MS = timeOutMs(20_000);
/**
 * Fewer are counted at once, in the calling thread: some hundredths of a second at most, usually less than one
 * thousandth.
 */
const INLINE_CHARACTERS = 8 * 1024;

/** The jobs of the text threads, and their results: everything whose duration depends on a request's content. */
export type TextJob =
  /** Only verifies that the thread is running. */
  | { readonly kind: 'start' }
  | { readonly kind: 'count'; readonly requests: readonly CountedRequest[]; readonly limit: number }
  | PlanJob;

/** Reads a request and plans an answer for each seed. */
interface PlanJob {
  readonly kind: 'plan';
  readonly request: TextRequest;
  readonly maxTokens: number;
  readonly seeds: readonly string[];
}

export type TextJobAnswer =
  | { readonly kind: 'started' }
  | { readonly kind: 'counted'; readonly tokens: readonly number[] }
  | { readonly kind: 'planned'; readonly plans: readonly AnswerPlan[] }
  /** A schema that refers to itself too often. */
  | { readonly kind: 'too_complex' }
  | { readonly kind: 'failed'; readonly message: string };

export interface TextThreads {
  /**
   * The number of input tokens of each of some requests.
   *
   * @param limit counting a request ends soon after this many: the result then only means more than that.
   * @throws {ShareExhaustedError} @throws {TextFailure} it took too long.
   */
  countInput(accountId: string, requests: readonly CountedRequest[], limit?: number): Promise<readonly number[]>;
  /**
   * What the offline text model will answer, for each seed.
   *
   * @throws {ShareExhaustedError} @throws {TextFailure} it took too long. @throws {SchemaTooComplexError}
   */
  plan(accountId: string, job: Omit<PlanJob, 'kind'>, signal?: AbortSignal): Promise<readonly AnswerPlan[]>;
  /** Starts the threads, so that the first request does not wait for them. */
  start(): Promise<void>;
  /** Ends the threads, and the jobs with them. */
  close(): Promise<void>;
}

/** @param options.timeoutMs the limit of one job. */
export function createTextThreads(
  options: { readonly metrics?: ShareMetrics | undefined; readonly timeoutMs?: number } = {},
): TextThreads {
  const { metrics, timeoutMs = JOB_TIMEOUT_MS } = options;
  const pool = createThreadPool<TextJob, TextJobAnswer>({
    resource: 'text_threads',
    module: packageModule('src/text/threads/text-thread.ts'),
    startJob: { kind: 'start' },
    heapMb: THREAD_HEAP_MB,
    timeoutMs,
    waitMs: WAIT_MS,
    metrics,
  });

  async function run(accountId: string, job: TextJob, signal?: AbortSignal): Promise<TextJobAnswer> {
    try {
      return await pool.run(accountId, job, { signal });
    } catch (error) {
      if (error instanceof ThreadEndedError) {
        const isLate = error.reason === 'timeout';
        const message = isLate ? 'the request took a text thread too long' : 'a text thread died of the request';
        throw new TextFailure(isLate ? 'upstream_timeout' : 'upstream_unavailable', message, { cause: error });
      }
      if (signal?.aborted !== true) throw error;
      throw new TextFailure('interrupted', 'the call was cancelled', { cause: error });
    }
  }

  return {
    async countInput(accountId, requests, limit = Infinity) {
      if (!isLongerThan(requests, INLINE_CHARACTERS)) return countEach(requests, limit);
      const answer = await run(accountId, { kind: 'count', requests: requests.map(withoutImages), limit });
      if (answer.kind !== 'counted') throw unexpected(answer);
      return answer.tokens;
    },
    async plan(accountId, job, signal) {
      const answer = await run(accountId, { kind: 'plan', ...job }, signal);
      if (answer.kind === 'too_complex') throw new SchemaTooComplexError();
      if (answer.kind !== 'planned') throw unexpected(answer);
      return answer.plans;
    },
    start: () => pool.start(),
    close: () => pool.close(),
  };
}

/** What is counted of a request: for images only that there are some, and not their bytes. */
function withoutImages({ messages, tools, format }: CountedRequest): {
  readonly messages: readonly Message[];
  readonly tools: readonly FunctionTool[];
  readonly format: CountedRequest['format'];
} {
  const bare = messages.map((message): Message => {
    const content = message.content.map((part) => (part.type === 'image' ? { ...part, url: '' } : part));
    return { ...message, content };
  });
  return { messages: bare, tools, format };
}

function unexpected(answer: TextJobAnswer): Error {
  return new Error(`a text thread failed: ${answer.kind === 'failed' ? answer.message : answer.kind}`);
}
