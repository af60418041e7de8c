/**
 * Small copies of stored images, for readers that accept no large ones. The image is untrusted, so it is decoded in a
 * media child; the child is given the bytes, because an api process has no scratch disk. Accounts share the children.
 */
import os from 'node:os';
import type { Readable } from 'node:stream';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';
import type { Jpeg } from './decode.ts';
import { MediaChild } from './media-child.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** The image is held in memory until it has been sent to its child: a process holds this once for each child. */
const MAX_SOURCE_BYTES = 50_000_000;
/** 100 megapixels, and what Node takes. */
const MAX_MEMORY_MB = 1024;
/** A hundred megapixels take some 3 s. */
const MAX_CPU_SECONDS = 20;
/** A preview is awaited by a person or a model in the middle of a conversation: beyond this it comes too late. */
const MAX_WAIT_MS = 10_000;
const MAX_MS = 20_000;
/** A task has several images, and a client may request all of them at once. */
const WAITING = { perTenant: 32, perProcess: 500 };
const RETRY_SECONDS = 5;

/** How large a preview may be. */
export interface PreviewBounds {
  /** Pixels of its long edge; a smaller image keeps its size. */
  readonly maxEdge: number;
  /** At least 5,000: what a preview of any image can be made to fit. */
  readonly maxBytes: number;
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
   * @param tenant the account whose share is used.
   * @throws {UndecodableMediaError} it is not an image, or too large or too hard to read for this.
   * @throws {ShareExhaustedError} too many are being made.
   * @throws {PreviewTooSlowError} @throws what the source and the signal throw.
   */
  make(tenant: string, source: PreviewSource, bounds: PreviewBounds, signal: AbortSignal): Promise<Jpeg>;
}

/** It took too long, which may be the machine's fault. */
export class PreviewTooSlowError extends Error {
  override readonly name = 'PreviewTooSlowError';

  constructor() {
    super(`a preview was not made within ${MAX_MS / 1000} s`);
  }
}

/** @param children at once; default one more than cores, so that one account can use as many as there are cores. */
export function createPreviewMaker(
  metrics?: ShareMetrics,
  children: number = os.availableParallelism() + 1,
): PreviewMaker {
  const shares = createTenantShares({
    resource: 'previews',
    capacity: children,
    leavesFree: true,
    waiting: WAITING,
    retryAfterSeconds: RETRY_SECONDS,
    metrics,
  });
  return {
    async make(tenant, source, bounds, signal) {
      if (source.sizeBytes > MAX_SOURCE_BYTES) {
        throw new UndecodableMediaError(`larger than ${MAX_SOURCE_BYTES / 1_000_000} MB`, { kind: 'too_large' });
      }
      const takeOptions = { signal, waitMs: MAX_WAIT_MS };
      return shares.run(tenant, () => makeInTime(source, bounds, signal), takeOptions);
    },
  };
}

async function makeInTime(source: PreviewSource, bounds: PreviewBounds, signal: AbortSignal): Promise<Jpeg> {
  const time = AbortSignal.timeout(MAX_MS);
  try {
    return await makeInChild(source, bounds, AbortSignal.any([signal, time]));
  } catch (error) {
    signal.throwIfAborted();
    if (time.aborted) throw new PreviewTooSlowError();
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
      module: 'src/media/decode-child.ts',
      isUntrusted: true,
      maxMemoryMb: MAX_MEMORY_MB,
      maxCpuSeconds: MAX_CPU_SECONDS,
      signal,
    },
    { decode: 'preview', ...bounds },
  );
  try {
    await child.give(Buffer.concat(chunks));
    const { width, height } = await child.receiveFacts();
    return { width: Number(width), height: Number(height), jpeg: await child.receiveBytes() };
  } finally {
    await child.end();
  }
}
