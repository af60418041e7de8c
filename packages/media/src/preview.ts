/**
 * Small copies of stored images, for readers that accept no large ones. The image is untrusted, so it is decoded in a
 * media child; the child is given the bytes, because an api process has no scratch disk. Accounts share the children.
 */
import type { Readable } from 'node:stream';
import type { Jpeg } from './decode.ts';
import { MediaChild } from './media-child.ts';
import { childModulePath } from './program-files.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** The image is held in memory until it has been sent to its child: a process holds this once for each child. */
const MAX_SOURCE_BYTES = 50_000_000;
/** 100 megapixels, and what Node takes; 48 of a photograph in HEIC, because WebAssembly returns no memory. */
const MAX_MEMORY_MB = 1536;
/** A hundred megapixels take some 3 s. */
const MAX_CPU_SECONDS = 20;
/** How large a preview may be. */
export interface PreviewBounds {
  /** Pixels of its long edge; a smaller image keeps its size. */
  readonly maxEdge: number;
  /** At least 5,000: what a preview of any image can be made to fit. */
  readonly maxBytes: number;
  /** Of the JPEG, 1 to 100, as far as it fits. Default: good to look at. */
  readonly quality?: number;
}

/** A stored image. */
export interface PreviewSource {
  readonly sizeBytes: number;
  read(): Promise<Readable>;
}

export interface PreviewMaker {
  /**
   * Makes a small copy of an image: a JPEG, upright, on white if the image is transparent; of an animated one the
   * first frame.
   *
   * @param tenant the account for which it is made.
   * @throws {UndecodableMediaError} it is not an image, or too large or too hard to read for this.
   * @throws what the turns throw if too many are being made.
   * @throws {PreviewTooSlowError} @throws what the source and the signal throw.
   */
  make(tenant: string, source: PreviewSource, bounds: PreviewBounds, signal: AbortSignal): Promise<Jpeg>;
}

/** Making the preview took too long, possibly because the machine is overloaded. */
export class PreviewTooSlowError extends Error {
  override readonly name = 'PreviewTooSlowError';

  constructor(maxMs: number) {
    super(`a preview was not made within ${maxMs / 1000} s`);
  }
}

/** Decides which preview is made next, and how many are made at once. */
export interface PreviewTurns {
  /**
   * Does the work when it is its turn. @throws what the work and the signal throw, and errors of its own if the wait
   * is too long or too many wait.
   */
  run<T>(
    tenant: string,
    work: () => Promise<T>,
    options: { readonly signal: AbortSignal; readonly waitMs: number },
  ): Promise<T>;
}

/** @param maxMs the longest that a preview may take; half of that is the longest wait for its turn. */
export function createPreviewMaker(turns: PreviewTurns, maxMs: number): PreviewMaker {
  return {
    async make(tenant, source, bounds, signal) {
      if (source.sizeBytes > MAX_SOURCE_BYTES) {
        throw new UndecodableMediaError(`larger than ${MAX_SOURCE_BYTES / 1_000_000} MB`, { kind: 'too_large' });
      }
      const takeOptions = { signal, waitMs: maxMs / 2 };
      return turns.run(tenant, () => makeInTime(source, bounds, signal, maxMs), takeOptions);
    },
  };
}

async function makeInTime(
  source: PreviewSource,
  bounds: PreviewBounds,
  signal: AbortSignal,
  maxMs: number,
): Promise<Jpeg> {
  const time = AbortSignal.timeout(maxMs);
  try {
    return await makeInChild(source, bounds, AbortSignal.any([signal, time]));
  } catch (error) {
    signal.throwIfAborted();
    if (time.aborted) throw new PreviewTooSlowError(maxMs);
    throw error;
  }
}

async function makeInChild(source: PreviewSource, bounds: PreviewBounds, signal: AbortSignal): Promise<Jpeg> {
  const chunks: Buffer[] = [];
  for await (const chunk of await source.read()) {
    signal.throwIfAborted();
    chunks.push(chunk as Buffer);
  }
  const child = await MediaChild.start(
    {
      module: childModulePath('decode-child'),
      isUntrusted: true,
      maxMemoryMb: MAX_MEMORY_MB,
      maxCpuSeconds: MAX_CPU_SECONDS,
      signal,
    },
    { decode: 'preview', ...bounds },
  );
  try {
    await child.sendBytes(Buffer.concat(chunks));
    const { width, height } = await child.receiveJson();
    return { width: Number(width), height: Number(height), jpeg: await child.receiveBytes() };
  } finally {
    await child.end();
  }
}
