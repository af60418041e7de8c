/**
 * What an embedded engine is: a name, and a pure function from a validated input to files, run in a thread of the
 * engine pool so that it never blocks the heartbeats of a worker. The same input gives the same bytes.
 */

/** The validated input of a task, as the caller sent it (spec §2.5). */
export type EngineInput = Readonly<Record<string, unknown>>;

/** The files that an input brings along, by their place in it: `image_url`, `image_urls.0`. */
export type EngineMedia = ReadonlyMap<string, { readonly mimeType: string; readonly bytes: Uint8Array }>;

/** What a thread of the pool is given. Structured-clonable. */
export interface EngineJob {
  /** The engine's name: the `model` of an upstream binding whose protocol is `embedded`. */
  readonly engine: string;
  readonly input: EngineInput;
  /** Seed where the input names none: derived from the task id, so that a repeated attempt gives the same bytes. */
  readonly fallbackSeed: number;
  readonly media?: EngineMedia;
}

/** What a thread answers: errors lose their class on the way, so what a caller can act on is told as a value. */
export type ThreadAnswer =
  | { readonly kind: 'rendered'; readonly files: readonly RenderedFile[] }
  | { readonly kind: 'unusable_input'; readonly problem: string };

/** What an engine throws where a file of the input cannot be decoded, or is too large when it is. */
export class UndecodableMediaError extends Error {
  override readonly name = 'UndecodableMediaError';
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
   * @throws {UnusableInputError} a file that the input brings cannot be used.
   * @throws {DOMException} `AbortError` when the signal fires; the thread's work is discarded and the thread replaced.
   */
  render(job: EngineJob, signal: AbortSignal): Promise<readonly RenderedFile[]>;
  close(): Promise<void>;
}

/**
 * An embedded engine: a pure function of its input and a seed. Runs in a thread of the pool.
 *
 * @param media the files that the input brings along; none for most.
 * @param seed 0 to 2147483647; the input's own `seed` where the model has that field, else one from the task id.
 */
export type Engine = (input: EngineInput, seed: number, media?: EngineMedia) => Promise<readonly RenderedFile[]>;
