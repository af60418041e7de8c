/**
 * A folder for the files of one attempt of an activity: gone when it is over, however it ends. What a killed worker left
 * behind is removed by the next one that starts on the machine.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const PREFIX = 'darkroom-work-';
/** Longer than any attempt takes: what is older belongs to nobody. */
const STALE_MS = 24 * 3_600_000;

/** @param root the folder below which they are made; it is made too. */
export async function withScratch<T>(root: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(root, { recursive: true });
  const folder = await mkdtemp(path.join(root, PREFIX));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes what no living attempt can be using, by the clock of the file system. @returns how many folders. */
export async function removeStaleScratch(root: string): Promise<number> {
  const names = await readdir(root).catch(() => []);
  if (!names.some((name) => name.startsWith(PREFIX))) return 0;
  const now = await withScratch(root, async (fresh) => (await stat(fresh)).mtimeMs);
  let removed = 0;
  for (const name of names) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = path.join(root, name);
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs < STALE_MS) continue;
    await rm(folder, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
