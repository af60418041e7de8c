/**
 * What a file really is, read in a child process: the tables of a container can be made to take minutes and
 * gigabytes, and the process that reads them is then killed, which must be neither an api nor a worker. Children are
 * kept and reused, because one takes a while to start and every upload and output passes through here; accounts share
 * them.
 *
 * A file is read promptly first, by a child that has our priority. One that takes long is read again, by a child of its
 * own that everything else goes before, in a turn that leaves children to prompt files: on a busy machine that may take
 * a minute, and whoever sends such files must not hold what others wait for.
 *
 * A child that is killed was reading one file only. If it had read others before, that file is tried once more in a
 * new child, so that no account's file is rejected because of another account's.
 */
import { open } from 'node:fs/promises';
import type { ByteSource } from './byte-source.ts';
import type { InspectionFailure } from './inspection-failure.ts';
import { KilledChildError } from './killed-child-error.ts';
import { MediaChild } from './media-child.ts';
import { childModulePath } from './program-files.ts';
import type { MediaMetadata } from './media-metadata.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';
import { UnsupportedMediaError } from './unsupported-media-error.ts';

export type { MediaMetadata } from './media-metadata.ts';
export { UnsupportedMediaError } from './unsupported-media-error.ts';

/** Resident memory of a child: Node takes some 80, the tables of the longest video some 50. */
const MAX_MEMORY_MB = 512;
/** Processor time of a child for all its files together; long before that, it is replaced because of their number. */
const MAX_CPU_SECONDS = 120;
/** What one file may take of its child's time, not counting waits for the store: an honest one takes milliseconds. */
export const FILE_MS = 15_000;
/**
 * Processor time within these 15 s. A file that takes that is rejected; one that only waited may have met a busy
 * machine.
 */
const FILE_CPU_SECONDS = 3;
/** Processor time of a file that is read promptly. What takes longer is hostile or long. */
const PROMPT_CPU_SECONDS = 0.5;
/** A loader on a machine that is very busy, where everything else goes first (process-priority.ts). */
const START_MS = 300_000;
/** After this many files a child is replaced: what a library leaks goes with it. */
const FILES_PER_CHILD = 500;
/** A child that is idle for this long ends, unless it is the last one. */
const IDLE_MS = 60_000;
/** What is read of a file has to be piped and looked at: so much of its child's time for each megabyte that it has. */
const MS_PER_MB = 200;
const CPU_SECONDS_PER_MB = 0.06;
/**
 * What a child may request of one file, as container-metadata.ts and file-window.ts bound it, and at once: checked here
 * too, because the child may be compromised.
 */
const READS = { least: 80, bytesEach: 16 * 1024 };
const READ_BYTES = { least: 16 * 1024 * 1024, factor: 4 };

/** Inspects files in children that accounts share. */
export interface MediaInspector {
  /**
   * Inspects a file.
   *
   * @param tenant the account for which it is read: turns are shared out by account.
   * @throws {UnsupportedMediaError} its type is not served, or it cannot be read within the bounds.
   * @throws what the source and the turns throw.
   */
  inspect(tenant: string, source: ByteSource): Promise<MediaMetadata>;
  /** The same for a file on the disk. @throws the errors of the file system. */
  inspectFile(tenant: string, path: string): Promise<MediaMetadata>;
  /** The same for a file in memory. */
  inspectBytes(tenant: string, bytes: Uint8Array): Promise<MediaMetadata>;
  /** Ends all children; inspections in progress fail. */
  close(): Promise<void>;
}

/** Decides which file is read next. */
export interface Turns {
  /**
   * Does the work when it is its turn.
   *
   * @param work reads promptly what can be read promptly; `isPatient`: it takes the time that it needs.
   * @throws what the work throws, except that work which takes longer than prompt work may is done again, patiently;
   *   and errors of its own if too many wait.
   */
  run<T>(tenant: string, work: (isPatient: boolean) => Promise<T>): Promise<T>;
}

/** Prompt work takes too long. */
export class NotPromptError extends Error {
  override readonly name = 'NotPromptError';
}

/** Where one caller has all children: it never waits. */
export const AT_ONCE: Turns = {
  run: (_tenant, work) =>
    work(false).catch(async (error: unknown) => {
      if (error instanceof NotPromptError) return work(true);
      throw error;
    }),
};

export interface InspectorOptions {
  /** As many files are read at once as these admit, each in a child of its own. */
  readonly turns: Turns;
  /** Notified of each child that did not survive a file. */
  readonly onKilled?: (reason: InspectionFailure) => void;
  /** For tests. */
  readonly fileMs?: number;
  readonly fileCpuSeconds?: number;
}

type Outcome = { readonly metadata: MediaMetadata } | { readonly error: unknown } | { readonly ended: unknown };

interface PooledChild {
  readonly child: MediaChild;
  files: number;
  idleTimer?: NodeJS.Timeout;
}

export function createMediaInspector({
  turns,
  onKilled,
  fileMs = FILE_MS,
  fileCpuSeconds = FILE_CPU_SECONDS,
}: InspectorOptions): MediaInspector {
  const idle: PooledChild[] = [];
  const all = new Set<PooledChild>();
  let isClosed = false;

  function requireOpen(): void {
    if (isClosed) throw new Error('the inspector is closed');
  }

  async function startChild(): Promise<PooledChild> {
    requireOpen();
    const child = await MediaChild.start(
      {
        module: childModulePath('inspect-child'),
        isUntrusted: true,
        maxMemoryMb: MAX_MEMORY_MB,
        maxCpuSeconds: MAX_CPU_SECONDS,
        isPrompt: true,
      },
      {},
    );
    const pooled = { child, files: 0 };
    all.add(pooled);
    try {
      // While it was being started, it could not be ended.
      requireOpen();
      await child.receiveJson(START_MS);
    } catch (error) {
      await endChild(pooled);
      // Nothing of a file has been read yet.
      throw error instanceof UndecodableMediaError
        ? new Error('the inspection child did not start', { cause: error })
        : error;
    }
    return pooled;
  }

  async function endChild(pooled: PooledChild): Promise<void> {
    clearTimeout(pooled.idleTimer);
    all.delete(pooled);
    const index = idle.indexOf(pooled);
    if (index >= 0) idle.splice(index, 1);
    await pooled.child.end();
  }

  async function release(pooled: PooledChild, isPatient: boolean): Promise<void> {
    if (isClosed || isPatient || pooled.files >= FILES_PER_CHILD) return endChild(pooled);
    idle.push(pooled);
    pooled.idleTimer = setTimeout(() => {
      // The one that was used last stays: the next file should not wait for a start.
      if (idle.length > 1) void endChild(pooled);
    }, IDLE_MS).unref();
    return undefined;
  }

  function acquireIdle(): PooledChild | undefined {
    const pooled = idle.pop();
    clearTimeout(pooled?.idleTimer);
    return pooled;
  }

  async function inspect(source: ByteSource, isPatient: boolean): Promise<MediaMetadata> {
    requireOpen();
    const pooled = isPatient ? undefined : acquireIdle();
    if (pooled !== undefined) {
      const outcome = await attempt(pooled, source, isPatient);
      if (!('ended' in outcome)) return unwrap(outcome);
    }
    const outcome = await attempt(await startChild(), source, isPatient);
    if (!('ended' in outcome)) return unwrap(outcome);
    if (!isTimeout(outcome.ended)) throw toUnsupported(outcome.ended, fileMs);
    // The machine may have stalled, and not the child: a file is rejected for its time only if two new children time
    // out.
    const last = await attempt(await startChild(), source, isPatient);
    if ('ended' in last) throw toUnsupported(last.ended, fileMs);
    return unwrap(last);
  }

  /** @returns the result; `ended`: the child did not survive it. @throws {NotPromptError} */
  async function attempt(pooled: PooledChild, source: ByteSource, isPatient: boolean): Promise<Outcome> {
    if (isPatient) pooled.child.letOthersFirst();
    const megabytes = Math.floor(source.sizeBytes / 1_000_000);
    const patientCpuSeconds = fileCpuSeconds + Math.ceil(CPU_SECONDS_PER_MB * megabytes);
    try {
      const metadata = await inspectWith(pooled, source, {
        ms: fileMs + MS_PER_MB * megabytes,
        cpuSeconds: isPatient ? patientCpuSeconds : Math.min(PROMPT_CPU_SECONDS, patientCpuSeconds),
      });
      await release(pooled, isPatient);
      return { metadata };
    } catch (error) {
      if (error instanceof UnsupportedMediaError || error instanceof SourceError) {
        await release(pooled, isPatient);
        return { error: error instanceof SourceError ? error.cause : error };
      }
      await endChild(pooled);
      requireOpen();
      const reason = failureOf(error);
      if (!isPatient && reason === 'cpu') throw new NotPromptError('the file takes long to read');
      if (reason !== undefined) onKilled?.(reason);
      return { ended: error };
    }
  }

  return {
    inspect(tenant, source) {
      return turns.run(tenant, (isPatient) => inspect(source, isPatient));
    },
    async inspectFile(tenant, path) {
      const handle = await open(path);
      try {
        const { size: sizeBytes } = await handle.stat();
        const read = async (start: number, end: number): Promise<Buffer> => {
          const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
          return buffer.subarray(0, bytesRead);
        };
        return await turns.run(tenant, (isPatient) => inspect({ sizeBytes, read }, isPatient));
      } finally {
        await handle.close();
      }
    },
    inspectBytes(tenant, bytes) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const read = (start: number, end: number): Promise<Buffer> => Promise.resolve(buffer.subarray(start, end));
      return turns.run(tenant, (isPatient) => inspect({ sizeBytes: bytes.byteLength, read }, isPatient));
    },
    async close() {
      isClosed = true;
      await Promise.all(Array.from(all, endChild));
    },
  };
}

/** An error of the store, kept apart from the errors of the child. */
class SourceError extends Error {}

async function unwrap(outcome: Exclude<Outcome, { readonly ended: unknown }>): Promise<MediaMetadata> {
  if ('metadata' in outcome) return outcome.metadata;
  throw outcome.error;
}

/** The child reads more of a file than any decoder needs. */
class TooMuchReadingError extends UndecodableMediaError {}

/** @returns undefined: the child could have continued, and says that the file is broken. */
function failureOf(error: unknown): InspectionFailure | undefined {
  if (error instanceof KilledChildError) return error.reason;
  if (error instanceof TooMuchReadingError) return 'reading';
  return error instanceof UndecodableMediaError ? undefined : 'other';
}

function isTimeout(error: unknown): boolean {
  return error instanceof KilledChildError && error.reason === 'time';
}

function toUnsupported(error: unknown, fileMs: number): unknown {
  if (isTimeout(error)) return new UnsupportedMediaError(undefined, `takes longer than ${fileMs / 1000} s to read`);
  return error instanceof UndecodableMediaError ? new UnsupportedMediaError(undefined, error.message) : error;
}

/** One file in one child. @throws {UnsupportedMediaError} @throws {SourceError} or what ended the child. */
async function inspectWith(
  pooled: PooledChild,
  { sizeBytes, read }: ByteSource,
  bounds: { readonly ms: number; readonly cpuSeconds: number },
): Promise<MediaMetadata> {
  const { child } = pooled;
  pooled.files += 1;
  let [leftMs, reads, readBytes] = [bounds.ms, 0, 0];
  child.allowCpu(bounds.cpuSeconds);
  let sourceError: SourceError | undefined;
  await child.sendJson({ sizeBytes });
  const maxReads = READS.least + sizeBytes / READS.bytesEach;
  const maxReadBytes = READ_BYTES.least + sizeBytes * READ_BYTES.factor;
  for (;;) {
    const requestedAt = performance.now();
    const reply = await child.receiveJson(Math.max(1, leftMs));
    leftMs -= performance.now() - requestedAt;
    if (reply['isLost'] === true && sourceError !== undefined) throw sourceError;
    if (typeof reply['unsupported'] === 'string') throw new UnsupportedMediaError(reply['unsupported'] || undefined);
    // What a child sends is checked where it is used: numbers and strings for a record of our own.
    if (reply['metadata'] !== undefined) return reply['metadata'] as MediaMetadata;
    const [start, end] = parseRange(reply['read'], sizeBytes);
    reads += 1;
    readBytes += end - start;
    if (reads > maxReads || readBytes > maxReadBytes) {
      throw new TooMuchReadingError('requires too many reads');
    }
    const bytes = await read(start, end).catch((cause: unknown) => {
      sourceError = new SourceError('the file cannot be read', { cause });
    });
    const sentAt = performance.now();
    if (bytes === undefined) await child.sendJson({ isLost: true });
    else await child.sendBytes(bytes, Math.max(1, leftMs));
    leftMs -= performance.now() - sentAt;
  }
}

/** A range inside the file. @throws {TypeError} the child requests something else: it is compromised. */
function parseRange(range: unknown, sizeBytes: number): readonly [start: number, end: number] {
  const [start, end] = (Array.isArray(range) ? range : []) as readonly unknown[];
  if (!Number.isInteger(start) || !Number.isInteger(end)) throw new TypeError('an inspection requested no range');
  const [first, beyond] = [Number(start), Math.min(Number(end), sizeBytes)];
  if (first < 0 || first > beyond || beyond - first > READ_BYTES.least) {
    throw new TypeError('an inspection requested a range outside the file');
  }
  return [first, beyond];
}
