/**
 * What an embedded engine is: a name, and a pure function from a validated input to files, run in a thread of the
 * engine pool so that it never blocks the heartbeats of a worker. The same input gives the same bytes.
 */

/** The validated input of a task, as the caller sent it (spec §2.5). */
export type EngineInput = Readonly<Record<string, unknown>>;

/** What a thread of the pool is given. Structured-clonable. */
export interface EngineJob {
  /** The engine's name: the `model` of an upstream binding whose protocol is `embedded`. */
  readonly engine: string;
  readonly input: EngineInput;
  /** Seed where the input names none: derived from the task id, so that a repeated attempt gives the same bytes. */
  readonly fallbackSeed: number;
}

/** One rendered file. */
export interface RenderedFile {
  readonly bytes: Uint8Array;
}

/** A bounded number of threads that render. */
export interface EnginePool {
  readonly threads: number;
  /** Whether there is an engine of that name. */
  has(engine: string): boolean;
  /**
   * Renders one job; waits for a free thread first.
   *
   * @throws {DOMException} `AbortError` when the signal fires; the thread's work is discarded and the thread replaced.
   */
  render(job: EngineJob, signal: AbortSignal): Promise<readonly RenderedFile[]>;
  close(): Promise<void>;
}

/**
 * An embedded engine: a pure function of its input and a seed. Runs in a thread of the pool.
 *
 * @param seed 0 to 2147483647; the input's own `seed` where the model has that field, else one from the task id.
 */
export type Engine = (input: EngineInput, seed: number) => Promise<readonly RenderedFile[]>;
