/** Creates a directory that the user has named: results are stored in it, or the configuration. */
import { access, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from './error-code.ts';

/**
 * Creates a directory and its missing parents. Node's recursive `mkdir` never returns on a file system that creates no
 * directories (/proc).
 */
export async function createDirectory(directory: string, options: { readonly mode?: number } = {}): Promise<void> {
  try {
    await mkdir(directory, options);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return;
    if (code !== 'ENOENT' || (await exists(path.dirname(directory)))) throw error;
    await createDirectory(path.dirname(directory), options);
    await mkdir(directory, options);
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
