/**
 * The data directory of `npm start`: everything that one installation stores. It is used by one process at a time,
 * records which layout it has, and contains nothing else.
 */
import { chmod, open, readFile, readdir, rename, statfs } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_DATA_DIRECTORY } from '../config/config.ts';
import { createDirectory } from '../config/create-directory.ts';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { StandaloneError } from './standalone-error.ts';
import { tryLock } from './file-lock.ts';

/** An opened data directory: locked for other processes until it is released. */
export interface DataDirectory {
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
export function resolveDataDirectory(option: string | undefined, environment: NodeJS.ProcessEnv): string {
  const fromEnvironment = environment['DATA_DIR'];
  const chosen = [option, fromEnvironment].find((value) => value !== undefined && value !== '');
  return chosen === undefined ? DEFAULT_DATA_DIRECTORY : path.resolve(chosen);
}

/**
 * Creates the directory if necessary, and locks it.
 *
 * @throws {StandaloneError} another process has it, it is not ours, has another layout, is not writable, or the disk is
 *   full.
 */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  try {
    await create(directory);
    const entries = await readdir(directory);
    const isForeign = !entries.includes(LAYOUT_FILE) && entries.some((entry) => !entry.startsWith(LOCK_FILE));
    if (isForeign) {
      throw new StandaloneError(
        `${directory} is not empty and is not a data folder of Darkroom. Name an empty or new folder with DATA_DIR or --data-dir.`,
      );
    }
    // If we run as root, PostgreSQL runs as another user, who may traverse the directory but neither list nor read it.
    await chmod(directory, process.getuid?.() === 0 ? 0o711 : 0o700);
    const lock = await tryLock(path.join(directory, LOCK_FILE));
    if ('heldBy' in lock) {
      throw new StandaloneError(
        `Darkroom is already running on ${directory} (process ${lock.heldBy}). ` +
          'Stop it first, or name another folder with DATA_DIR or --data-dir, and other ports.',
      );
    }
    try {
      await checkLayout(directory);
      await checkSpace(directory);
    } catch (error) {
      await lock.release();
      throw error;
    }
    return { path: directory, release: () => lock.release() };
  } catch (error) {
    throw explainStorageError(error, directory);
  }
}

/** What is left of the errors after `explainStorageError`: the path itself is wrong. */
async function create(directory: string): Promise<void> {
  try {
    await createDirectory(directory, { mode: 0o700 });
  } catch (error) {
    if (explainStorageError(error, directory) !== error || !(error instanceof Error)) throw error;
    throw new StandaloneError(
      `${directory} cannot be created: ${error.message}. Name another folder with DATA_DIR or --data-dir.`,
      { cause: error },
    );
  }
}

/**
 * Translates a system error of the disk into what the user can do; any other error stays as it is, unless the disk is
 * full by now: then that is the cause, whatever failed first.
 */
export async function explainFailure(error: unknown, directory: string): Promise<unknown> {
  const explained = explainStorageError(error, directory);
  if (explained !== error || (await readFreeBytes(directory)) >= NEARLY_FULL_BYTES) return explained;
  const { message } = diskFull(directory);
  return new StandaloneError(error instanceof Error ? `${message}\n\n${error.message}` : message, { cause: error });
}

function explainStorageError(error: unknown, directory: string): unknown {
  switch (errorCodeOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(directory, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new StandaloneError(
        `${directory} cannot be written by this user: correct its permissions, or set DATA_DIR.`,
        {
          cause: error,
        },
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new StandaloneError(`${directory} is not a folder: set DATA_DIR to one.`, { cause: error });
    default:
      return error;
  }
}

/**
 * Writes a file atomically; it is on the disk when this returns.
 *
 * @param mode the file's permissions; secrets are readable by their owner only.
 */
export async function writeFileAtomically(file: string, content: string, mode: number): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'w', mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  const parent = await open(path.dirname(file), 'r');
  try {
    await parent.sync();
  } finally {
    await parent.close();
  }
}

function diskFull(directory: string, cause?: unknown): StandaloneError {
  return new StandaloneError(
    `the disk of ${directory} is full: free some space, or set DATA_DIR to a folder elsewhere.`,
    {
      cause,
    },
  );
}

async function checkLayout(directory: string): Promise<void> {
  const file = path.join(directory, LAYOUT_FILE);
  const found = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (found === LAYOUT) return;
  if (found !== '') {
    throw new StandaloneError(
      `${directory} was made by another release of Darkroom (layout ${found}; this one supports ${LAYOUT}).`,
    );
  }
  await writeFileAtomically(file, `${LAYOUT}\n`, 0o600);
}

async function checkSpace(directory: string): Promise<void> {
  if ((await readFreeBytes(directory)) < LEAST_FREE_BYTES) throw diskFull(directory);
}

async function readFreeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
