/**
 * A directory for the files of one attempt of an activity: removed when the attempt ends, however it ends. What a
 * killed worker left behind is removed by the next one that starts on the machine.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createDirectory } from '../config/create-directory.ts';

const PREFIX = 'darkroom-work-';
/** The age from which a scratch directory is considered abandoned, in milliseconds: longer than any attempt takes. */
const STALE_MS = 24 * 3_600_000;

/** @param root the directory in which they are created; it is created too. */
export async function withScratch<T>(root: string, work: (directory: string) => Promise<T>): Promise<T> {
  await createDirectory(root);
  const directory = await mkdtemp(path.join(root, PREFIX));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Removes directories that no live attempt can be using, by the clock of the file system. @returns how many. */
export async function removeStaleScratch(root: string): Promise<number> {
  const names = await readdir(root).catch(() => []);
  if (!names.some((name) => name.startsWith(PREFIX))) return 0;
  const now = await withScratch(root, async (fresh) => (await stat(fresh)).mtimeMs);
  let removed = 0;
  for (const name of names) {
    if (!name.startsWith(PREFIX)) continue;
    const directory = path.join(root, name);
    const { mtimeMs } = await stat(directory).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs < STALE_MS) continue;
    await rm(directory, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
