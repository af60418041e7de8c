/**
 * The directory of a disk store as the file system sees it: where a key is stored, and that nothing in it leads out.
 * Separate from the store because these rules are about paths and links, the store's about bytes.
 *
 * A name outside the alphabet of keys (`~partial`) is ours: no key reaches it and no listing shows it.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, opendir, readdir, realpath, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createDirectory } from '../../config/create-directory.ts';
import { errorCodeOf } from '../../domain/darkroom-error.ts';
import { isObjectKey } from './object-store.ts';

const PARTIAL = '~partial';
/**
 * The age from which a temporary file is considered abandoned: 24 h, as for unreferenced objects (architecture,
 * "Archiving really copies"), which is longer than any upload takes.
 */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/** A store's root and its directory for unfinished files, in the same file system so that a rename is atomic. */
export interface DiskDirectory {
  readonly root: string;
  readonly partial: string;
}

/** Creates the directory where it is missing, and removes what a killed process left unfinished a day ago or longer. */
export async function openDiskDirectory(directory: string): Promise<DiskDirectory> {
  await createDirectory(directory);
  const root = await realpath(directory);
  const partial = path.join(root, PARTIAL);
  await createDirectory(partial);
  if ((await realpath(partial)) !== partial) throw new Error('the directory for unfinished files is a link');
  await removeAbandoned(partial);
  return { root, partial };
}

/** Ages are measured by the clock of the file system, which stamps the files: that of this process may differ. */
async function removeAbandoned(partial: string): Promise<void> {
  const fresh = path.join(partial, `clock-${randomUUID()}`);
  try {
    await writeFile(fresh, '', { flag: 'wx' });
  } catch (error) {
    // A full disk can still be read, and emptied.
    if (isFull(error)) return;
    throw error;
  }
  const { mtimeMs: now } = await stat(fresh);
  await rm(fresh, { force: true });
  for (const name of await readdir(partial)) {
    const file = path.join(partial, name);
    const facts = await ifThere(lstat(file));
    if (facts && now - facts.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
  }
}

function isFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';
}

/** Whether a directory below the root exists, and is reached without passing a link. */
export async function isPlainDirectory(directory: string): Promise<boolean> {
  return (await ifThere(realpath(directory))) === directory;
}

/**
 * Creates the directories between the root and a file, passing no link, and returns those whose entries changed: they
 * have to be synced for the new directories to survive a power cut.
 */
export async function makePlainDirectories(root: string, directory: string): Promise<string[]> {
  if (await isPlainDirectory(directory)) return [];
  const changed: string[] = [];
  let current = root;
  for (const segment of path.relative(root, directory).split(path.sep)) {
    const parent = current;
    current = path.join(parent, segment);
    const facts = await ifThere(lstat(current));
    if (facts?.isDirectory()) continue;
    if (facts)
      throw Object.assign(new Error('a part of the path is not a directory'), { code: 'ENOTDIR', syscall: 'mkdir' });
    await mkdir(current).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    changed.push(parent);
  }
  return changed;
}

/** Removes the directories above a deleted file that are empty now: otherwise one per task would be left for ever. */
export async function removeEmptyDirectories(root: string, directory: string): Promise<void> {
  for (let current = directory; current !== root; current = path.dirname(current)) {
    try {
      await rmdir(current);
    } catch {
      return; // Not empty, or gone already, or being filled at this moment: all fine.
    }
  }
}

/** Makes a directory's entries durable. One that is gone again has nothing to sync. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await ifThere(open(directory, 'r'));
  if (!handle) return;
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What to do about a file or directory that cannot be read. @param key of the file, or what its keys begin with. */
type OnUnreadable = (key: string, error: Error) => void;

/**
 * Every plain file below the root whose key begins with the prefix. Holds one open directory per level, never a whole
 * listing.
 *
 * @param onUnreadable absent: the first that cannot be read ends the walk.
 */
export async function* walkFiles(root: string, prefix: string, onUnreadable?: OnUnreadable): AsyncGenerator<FoundFile> {
  const base = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (base !== '' && !(await isPlainDirectory(path.join(root, base.slice(0, -1))))) return;
  yield* walkBelow({ root, prefix, onUnreadable }, base);
}

interface Walk {
  readonly root: string;
  readonly prefix: string;
  readonly onUnreadable: OnUnreadable | undefined;
}

interface FoundFile {
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

async function* walkBelow(walk: Walk, base: string): AsyncGenerator<FoundFile> {
  const { root, prefix } = walk;
  const entries = await ifReadable(walk, base, opendir(path.join(root, base)));
  if (!entries) return;
  try {
    for await (const entry of entries) {
      const key = base + entry.name;
      if (!key.startsWith(prefix) || !isObjectKey(key)) continue;
      if (entry.isDirectory()) yield* walkBelow(walk, `${key}/`);
      if (!entry.isFile()) continue;
      const facts = await ifReadable(walk, key, lstat(path.join(root, key)));
      if (facts?.isFile()) yield { key, sizeBytes: facts.size, modifiedAt: facts.mtime };
    }
  } catch (error) {
    leaveOut(walk, base, error);
  }
}

async function ifReadable<T>(walk: Walk, key: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await ifThere(work);
  } catch (error) {
    leaveOut(walk, key, error);
    return undefined;
  }
}

/** @throws an error that is not the system's, and every error where nothing may be left out. */
function leaveOut({ onUnreadable }: Walk, key: string, error: unknown): void {
  if (onUnreadable === undefined || !(error instanceof Error) || codeOf(error) === undefined) throw error;
  onUnreadable(key, error);
}

/** A result, or undefined where the path leads to nothing that could be an object. Other errors are thrown. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

// ELOOP: a link, where links are not followed. ENOTDIR: the key has a directory where a file exists.
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

function isNotThere(error: unknown): boolean {
  return NOT_THERE.has(codeOf(error) ?? '');
}

/** The system's name for an error, as `ENOENT`; undefined for errors that are not the system's. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error ? errorCodeOf(error) : undefined;
}
