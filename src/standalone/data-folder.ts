/**
 * The data directory of `npm start`: everything that one installation stores. It is used by one process at a time,
 * records which layout it has, and contains nothing else.
 */
import { chmod, mkdir, open, readFile, readdir, rename, statfs } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_DATA_FOLDER } from '../config/admin-command.ts';
import { EmbeddedError, systemCode } from './embedded-error.ts';
import { tryLock } from './file-lock.ts';

/** An opened data directory: locked for other processes until it is released. */
export interface DataFolder {
  readonly path: string;
  release(): Promise<void>;
}

const LAYOUT = '1';
const LAYOUT_FILE = 'VERSION';
const LOCK_FILE = 'lock';
/** PostgreSQL's and Temporal's files take 120 MB before the first task. */
const LEAST_FREE_BYTES = 256 * 1024 * 1024;
/** PostgreSQL extends its log by 16 MB at a time, and stops where it cannot. */
const NEARLY_FULL_BYTES = 16 * 1024 * 1024;

/** Selects the directory: the option, then `DATA_DIR`, then `data` in the project. */
export function locateDataFolder(option: string | undefined, environment: NodeJS.ProcessEnv): string {
  const fromEnvironment = environment['DATA_DIR'];
  const chosen = [option, fromEnvironment].find((value) => value !== undefined && value !== '');
  return chosen === undefined ? DEFAULT_DATA_FOLDER : path.resolve(chosen);
}

/**
 * Creates the directory if necessary, and locks it.
 *
 * @throws {EmbeddedError} another process has it, it is not ours, has another layout, is not writable, or the disk is
 *   full.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const entries = await readdir(folder);
    const isForeign = !entries.includes(LAYOUT_FILE) && entries.some((entry) => !entry.startsWith(LOCK_FILE));
    if (isForeign) {
      throw new EmbeddedError(
        `${folder} is not empty and is no data folder of Darkroom. Name an empty or new folder with DATA_DIR or --data-dir.`,
      );
    }
    // If we run as root, PostgreSQL runs as another user, who may traverse the directory but neither list nor read it.
    await chmod(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
    const lock = await tryLock(path.join(folder, LOCK_FILE));
    if ('heldBy' in lock) {
      throw new EmbeddedError(
        `Darkroom is already running on ${folder} (process ${lock.heldBy}). ` +
          'Stop it first, or name another folder with DATA_DIR or --data-dir, and other ports.',
      );
    }
    try {
      await checkLayout(folder);
      await checkSpace(folder);
    } catch (error) {
      await lock.release();
      throw error;
    }
    return { path: folder, release: () => lock.release() };
  } catch (error) {
    throw explainStorageError(error, folder);
  }
}

/**
 * Translates a system error of the disk into what the user can do; any other error stays as it is, unless the disk is
 * full by now: then that is the cause, whatever failed first.
 */
export async function explainFailure(error: unknown, folder: string): Promise<unknown> {
  const explained = explainStorageError(error, folder);
  if (explained !== error || (await readFreeBytes(folder)) >= NEARLY_FULL_BYTES) return explained;
  const { message } = diskFull(folder);
  return new EmbeddedError(error instanceof Error ? `${message}\n\n${error.message}` : message, { cause: error });
}

function explainStorageError(error: unknown, folder: string): unknown {
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(folder, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new EmbeddedError(`${folder} cannot be written by this user: mend its rights, or set DATA_DIR.`, {
        cause: error,
      });
    case 'ENOTDIR':
    case 'EEXIST':
      return new EmbeddedError(`${folder} is not a folder: set DATA_DIR to one.`, { cause: error });
    default:
      return error;
  }
}

/**
 * Writes a file atomically; it is on the disk when this returns.
 *
 * @param mode the file's permissions; secrets are readable by their owner only.
 */
export async function writeWhole(file: string, content: string, mode: number): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'w', mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  const folder = await open(path.dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function diskFull(folder: string, cause?: unknown): EmbeddedError {
  return new EmbeddedError(`the disk of ${folder} is full: free some space, or set DATA_DIR to a folder elsewhere.`, {
    cause,
  });
}

async function checkLayout(folder: string): Promise<void> {
  const file = path.join(folder, LAYOUT_FILE);
  const found = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (found === LAYOUT) return;
  if (found !== '') {
    throw new EmbeddedError(
      `${folder} was made by another release of Darkroom (layout ${found}; this one knows ${LAYOUT}).`,
    );
  }
  await writeWhole(file, `${LAYOUT}\n`, 0o600);
}

async function checkSpace(folder: string): Promise<void> {
  if ((await readFreeBytes(folder)) < LEAST_FREE_BYTES) throw diskFull(folder);
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
