/**
 * Saves a task's outputs in a directory: under a temporary name until all bytes have arrived and their SHA-256 is the
 * one that the service states, then under `<taskId>-<n>.<ext>`. A complete file that already exists is left as it is.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, UnreachableError } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { NotDoneError } from './errors.ts';
import type { WireOutput, WireTask } from '@darkroom/api/tasks/task';

export interface SavedFile {
  readonly path: string;
  readonly outputId: string;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Whether the file already existed. */
  readonly isKept: boolean;
}

export interface DownloadOptions {
  /** An existing directory. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly onBytes: (fileName: string, received: number, total: number) => void;
  /** Only these outputs; default: all. */
  readonly outputIds?: ReadonlySet<string>;
}

/** After each wait the download resumes where it broke off. */
const RESUME_WAITS_MS = [500, 2_000, 5_000];

/**
 * Saves the outputs of a task that has succeeded.
 *
 * @throws {NotDoneError} the bytes are not those of the output, or no output is left. @throws {ApiError} @throws
 *   {UnreachableError}
 */
export async function saveOutputs(
  api: ApiClient,
  task: WireTask,
  options: DownloadOptions,
): Promise<readonly SavedFile[]> {
  const saved: SavedFile[] = [];
  if (task.status === 'success' && (task.output ?? []).length === 0) {
    throw new NotDoneError(`${task.taskId}: there is nothing left to save, its outputs were deleted`);
  }
  for (const [index, output] of (task.output ?? []).entries()) {
    if (options.outputIds?.has(output.id) === false) continue;
    const target = path.join(options.directory, fileNameOf(task.taskId, output, index));
    const isKept = await isWhole(target, output);
    if (!isKept) await save(api, task.taskId, output, target, options);
    const { id: outputId, type, mimeType, sizeBytes, sha256 } = output;
    saved.push({ path: target, outputId, type, mimeType, sizeBytes, sha256, isKept });
  }
  return saved;
}

/**
 * The name that the service gives the file in its URL, so that the number of an output does not change when
 * another is deleted.
 * Only a name of exactly that form is accepted: it becomes a path.
 */
export function fileNameOf(
  taskId: string,
  { url, mimeType }: Pick<WireOutput, 'url' | 'mimeType'>,
  index: number,
): string {
  const name = URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : '';
  if (/^[\w-]+-\d+\.[a-z0-9]+$/.test(name) && name.startsWith(`${taskId}-`)) return name;
  const subtype = /^[a-z]+\/([a-z0-9]+)/.exec(mimeType)?.[1] ?? 'bin';
  return `${taskId.replaceAll(/[^\w-]/g, '_')}-${index + 1}.${subtype}`;
}

async function isWhole(file: string, { sizeBytes, sha256 }: WireOutput): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || !found.isFile() || found.size !== sizeBytes) return false;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex') === sha256;
}

async function save(
  api: ApiClient,
  taskId: string,
  output: WireOutput,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  const draft = path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(4).toString('hex')}.part`);
  const file = await open(draft, 'wx');
  try {
    const sum = await receive(api, taskId, output, path.basename(target), file, options);
    if (sum !== output.sha256) {
      throw new NotDoneError(
        `${path.basename(target)}: the downloaded file is not the output (its SHA-256 differs); not saved`,
      );
    }
    await file.sync();
    await file.close();
    await rename(draft, target);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(draft, { force: true });
    throw error;
  }
}

/** What has been received of a file so far. */
interface Received {
  bytes: number;
  hash: Hash;
}

/** @returns the SHA-256 of what was written. */
async function receive(
  api: ApiClient,
  taskId: string,
  output: WireOutput,
  name: string,
  file: FileHandle,
  { signal, onBytes }: DownloadOptions,
): Promise<string> {
  const received: Received = { bytes: 0, hash: createHash('sha256') };
  let { url } = output;
  let farthest = 0;
  for (let attempt = 0; ; attempt++) {
    try {
      await receiveRest(api, url, file, received, output.sizeBytes, signal, () =>
        onBytes(name, received.bytes, output.sizeBytes),
      );
      if (received.bytes === output.sizeBytes) return received.hash.digest('hex');
      throw new UnreachableError(`${name}: ${received.bytes} of ${output.sizeBytes} bytes came`);
    } catch (error) {
      // Even a bad connection that delivers a little each time delivers all of it in the end.
      if (received.bytes > farthest) attempt = 0;
      farthest = Math.max(farthest, received.bytes);
      const waitMs = RESUME_WAITS_MS[attempt];
      if (signal.aborted || waitMs === undefined || !isWorthAnother(error)) throw error;
      await sleep(waitMs, undefined, { signal });
      url = await freshUrl(api, taskId, output, error);
    }
  }
}

async function receiveRest(
  api: ApiClient,
  url: string,
  file: FileHandle,
  received: Received,
  total: number,
  signal: AbortSignal,
  onProgress: () => void,
): Promise<void> {
  const headers: Record<string, string> = received.bytes === 0 ? {} : { Range: `bytes=${received.bytes}-` };
  const response = await api.fetch(url, { headers, signal });
  // A server without support for ranges sends the whole file again.
  if (received.bytes > 0 && response.status !== 206) {
    received.bytes = 0;
    received.hash = createHash('sha256');
    await file.truncate(0);
  }
  if (response.body === null) return;
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      if (received.bytes + chunk.length > total)
        throw new NotDoneError(`the download is larger than the output; not saved`);
      await file.write(chunk, 0, chunk.length, received.bytes);
      received.hash.update(chunk);
      received.bytes += chunk.length;
      onProgress();
    }
  } catch (error) {
    if (signal.aborted || error instanceof NotDoneError || isOfFileSystem(error)) throw error;
    throw new UnreachableError(`the download of ${new URL(url).origin} broke off`, { cause: error });
  }
}

/** A retry does not help if the disk is full. */
function isOfFileSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}

/** Not by the table of kinds: the file may be at a host of its own, whose 4xx say nothing about ours. */
function isWorthAnother(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && (error.status >= 500 || isExpired(error)));
}

function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.kind === 'url_expired';
}

/** A URL is valid for half an hour; each read of its task returns a valid one (contract §3). */
async function freshUrl(api: ApiClient, taskId: string, output: WireOutput, error: unknown): Promise<string> {
  if (!isExpired(error)) return output.url;
  const task = await api.call<WireTask>('GET', `/tasks/${encodeURIComponent(taskId)}`);
  return task.output?.find(({ id }) => id === output.id)?.url ?? output.url;
}
