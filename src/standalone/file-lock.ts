/**
 * Locks between processes of one machine: a file that names its holder. A holder that died holds no lock.
 */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { isSameProcess, readProcess } from './processes.ts';

interface Holder {
  readonly pid: number;
  readonly startToken: string;
}

/** A lock we hold. */
export interface FileLock {
  release(): Promise<void>;
}

/** @returns the lock, or the pid of the live process that holds it. */
export async function tryLock(file: string): Promise<FileLock | { readonly heldBy: number }> {
  const ours: Holder = { pid: process.pid, startToken: (await readProcess(process.pid))?.startToken ?? '' };
  // Several callers in one process may try at the same moment.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(ours), { mode: 0o600 });
  try {
    for (;;) {
      try {
        // Unlike a file created exclusively, a link never appears empty.
        await link(draft, file);
        return { release: () => unlink(file).catch(() => undefined) };
      } catch (error) {
        if (errorCodeOf(error) !== 'EEXIST') throw error;
      }
      const holder = await readHolder(file);
      if (holder !== undefined && (await isSameProcess(holder))) return { heldBy: holder.pid };
      await removeStale(file, holder);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

const POLL_MS = 250;

/** Runs `work` while no other process does. If another process holds the lock, `onWait` is called once with its pid. */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  onWait: (heldBy: number) => void,
  signal?: AbortSignal,
): Promise<T> {
  let hasReported = false;
  for (;;) {
    const lock = await tryLock(file);
    if ('release' in lock) {
      try {
        return await work();
      } finally {
        await lock.release();
      }
    }
    if (!hasReported) onWait(lock.heldBy);
    hasReported = true;
    await delay(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('startToken' in value)) return undefined;
    const { pid, startToken } = value;
    return typeof pid === 'number' && typeof startToken === 'string' ? { pid, startToken } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Two processes may find the same stale lock: the one that is moved away must be the stale one, not the new lock of
 * the other.
 */
async function removeStale(file: string, stale: Holder | undefined): Promise<void> {
  const aside = `${file}.stale.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  const moved = await readHolder(aside);
  const isStale = moved?.pid === stale?.pid && moved?.startToken === stale?.startToken;
  if (!isStale) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}
