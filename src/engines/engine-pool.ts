/**
 * The pool of threads in which the embedded engines render, so that no picture ever blocks the event loop that sends a
 * worker's heartbeats (architecture, `engines/`). Threads start with the first job and stay; one job a thread.
 *
 * Jobs wait here and not in piscina: its own queue is only looked at when a thread finishes, so a job queued behind one
 * whose thread dies would wait for ever.
 */
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { packageModule } from '../config/package-root.ts';
import type { Logger } from '../telemetry/log.ts';
import { isEngineName } from './engine-names.ts';
import { UnusableInputError } from '../providers/unusable-input-error.ts';
import type { EngineJob, EnginePool, RenderOptions, RenderedFile, ThreadAnswer } from './engine.ts';

/**
 * 256 MB of JavaScript heap a thread. Pixels live outside that heap; what is inside is shapes and code, some 30 MB at
 * the largest size, and the loader that compiles our source. The limit only turns a runaway into one failed job.
 */
const THREAD_HEAP_MB = 256;

/** How long a thread has to end the processes that it started, before it is terminated. */
const STOP_WITHIN_MS = 500;

/** What a caller gets when the signal fires, as from every other abortable call of the platform. */
function abortError(signal: AbortSignal): DOMException {
  const error = new DOMException('the rendering was aborted', 'AbortError');
  Object.defineProperty(error, 'cause', { value: signal.reason, configurable: true });
  return error;
}

/** Lets a bounded number of jobs through, the others in the order in which they came. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Resolves when a place is free; rejects when the signal fires first. */
  async enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abortError(signal);
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(abortError(signal));
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(admit);
    });
  }

  /** Hands the place to the job that waits longest. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/**
 * Makes a pool; nothing runs until the first job.
 *
 * @param options.threads how many jobs render at the same time, at least 1.
 * @param options.threadModule the file that each thread runs, where it is not the engines' own.
 */
export function createEnginePool(options: { threads: number; logger: Logger; threadModule?: string }): EnginePool {
  const { threads, logger, threadModule = packageModule('src/engines/thread.ts') } = options;
  const piscina = new Piscina<{ job: EngineJob; progressPort: MessagePort }, ThreadAnswer>({
    filename: threadModule,
    minThreads: 0,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    // Starting a thread costs some 300 ms (canvas, fonts): once started it stays.
    idleTimeout: Infinity,
    // From source the main thread runs under a loader (`--import tsx`), and so must the others.
    execArgv: process.execArgv,
    // No environment: a rendering depends on its job alone, and no secret is where it is not needed.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  });
  const gate = new Gate(threads);
  const running = new Set<AbortController>();
  const closing = new AbortController();

  // Emitted for a thread that dies without a job, above all while it starts: the job that it was started for would
  // otherwise wait for ever.
  piscina.on('error', (err: unknown) => {
    logger.error({ err }, 'an engine thread failed outside a job');
    for (const controller of running) controller.abort(err);
  });

  async function renderInThread(
    job: EngineJob,
    { signal, onProgress }: RenderOptions,
  ): Promise<readonly RenderedFile[]> {
    const controller = new AbortController();
    const { port1, port2 } = new MessageChannel();
    const terminate = (): void => controller.abort(signal.reason);
    port1.on('message', (message: number | 'stopped') => {
      if (message === 'stopped') terminate();
      else onProgress?.(message);
    });
    let timer: NodeJS.Timeout | undefined;
    // The thread ends its children first, where it is not too busy to hear of it.
    const stop = (): void => {
      port1.postMessage('stop');
      timer = setTimeout(terminate, STOP_WITHIN_MS);
    };
    signal.addEventListener('abort', stop, { once: true });
    running.add(controller);
    try {
      const answer = await piscina.run(
        { job, progressPort: port2 },
        { signal: controller.signal, transferList: [port2] },
      );
      if (answer.kind === 'unusable_input') throw new UnusableInputError(answer.problem, answer.fault);
      return answer.files;
    } catch (err) {
      if (signal.aborted) throw abortError(signal);
      // What is left of AbortError is a thread that died while it started; whoever waits did not abort anything.
      throw err instanceof Error && err.name !== 'AbortError'
        ? err
        : new Error('the engine thread failed', { cause: err });
    } finally {
      clearTimeout(timer);
      port1.close();
      running.delete(controller);
      signal.removeEventListener('abort', stop);
    }
  }

  return {
    threads,
    has: isEngineName,
    async render(job, { signal, onProgress }) {
      const either = AbortSignal.any([signal, closing.signal]);
      await gate.enter(either);
      try {
        if (either.aborted) throw abortError(either);
        return await renderInThread(job, { signal: either, ...(onProgress === undefined ? {} : { onProgress }) });
      } finally {
        gate.leave();
      }
    },
    async close() {
      closing.abort(new Error('the engine pool was closed'));
      await piscina.destroy();
    },
  };
}
