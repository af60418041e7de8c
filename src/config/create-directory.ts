/**
 * Creates a directory that a user has named. Separate from `mkdir` of Node, which never returns with `recursive` on a
 * file system that creates no directories, such as /proc: it creates the parent again and again, which is there.
 */
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../domain/darkroom-error.ts';

/** @param directory a path, created with its missing parents. @throws the system's error, with its code. */
export async function createDirectory(directory: string, options: { readonly mode?: number } = {}): Promise<void> {
  try {
    await mkdir(directory, options);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'EEXIST' && (await isDirectory(directory))) return;
    if (code !== 'ENOENT') throw error;
    const parent = path.dirname(path.resolve(directory));
    if (await isDirectory(parent)) {
      const message = `the file system of ${parent} cannot have a directory ${path.basename(directory)}`;
      throw Object.assign(new Error(message, { cause: error }), { code, syscall: 'mkdir' });
    }
    await createDirectory(parent, options);
    await mkdir(directory, options).catch(async (failure: unknown) => {
      // Another process has created it meanwhile.
      if (errorCodeOf(failure) !== 'EEXIST' || !(await isDirectory(directory))) throw failure;
    });
  }
}

async function isDirectory(file: string): Promise<boolean> {
  return stat(file).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}
