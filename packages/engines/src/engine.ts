/**
 * What an embedded engine is: a name, and a function from a validated input, a seed and the input's files to new files,
 * run in a thread of the engine pool so that it never blocks the heartbeats of a worker. The same work gives the same
 * images and audio.
 */
import type { InputFault } from '@darkroom/api/facts/input-fault';

export { UndecodableMediaError } from '@darkroom/media/undecodable-media-error';

/** The validated input of a task, as the caller sent it (spec §2.5). */
export type EngineInput = Readonly<Record<string, unknown>>;

/** One file of an input: untrusted, to be read by `@darkroom/media/decode` and nothing else. */
export interface EngineFile {
  /** Read from the bytes. */
  readonly mimeType: string;
  readonly path: string;
}

/** The files of an input, by their path in it: `image_url`, `image_urls.0`. */
export type EngineMedia = ReadonlyMap<string, EngineFile>;

/** Input of the pool. Structured-clonable. */
export interface EngineJob {
  /** The engine's name: the `model` of an upstream binding whose protocol is `embedded`. */
  readonly engine: string;
  readonly input: EngineInput;
  /** Seed if the input names none: derived from the task id, so that a repeated attempt gives the same files. */
  readonly fallbackSeed: number;
  readonly media: EngineMedia;
  /** A directory for this job alone, empty at first, for the engine's output; the caller removes it. */
  readonly scratch: string;
}

/** What one run of an engine works on. */
export interface EngineWork {
  readonly input: EngineInput;
  /** 0 to 2147483647; the input's own `seed` where the model has that field, else one from the task id. */
  readonly seed: number;
  readonly media: EngineMedia;
  readonly scratch: string;
  /** Reports the fraction done, 0 to 1; may be called as often as needed. */
  readonly progress: (fraction: number) => void;
  /** Called by long engines between two steps, so that other jobs can go first. Absent: the engine never pauses. */
  readonly pausePoint?: () => void;
}

/** One rendered file: its bytes, or a file in the scratch directory. */
export type RenderedFile = { readonly bytes: Uint8Array } | { readonly path: string };

/**
 * An embedded engine. Runs in a thread of the pool.
 *
 * @throws {UndecodableMediaError} a file cannot be used.
 * @throws {UnusableInputError} the engine cannot make anything from the input.
 */
export type Engine = (work: EngineWork) => Promise<readonly RenderedFile[]>;

/** The result from a thread. Errors lose their class on the way, so those that a caller can act on are values. */
export type ThreadResult =
  | { readonly kind: 'rendered'; readonly files: readonly RenderedFile[] }
  | { readonly kind: 'unusable_input'; readonly problem: string; readonly fault: InputFault };
