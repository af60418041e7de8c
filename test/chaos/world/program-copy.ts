/**
 * The built program in the campaign's own directory: a later build does not affect it, and a mutant affects only it.
 */
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_ROOT, packageFile } from '../../../src/config/package-root.ts';

/** A deliberate mistake: `find` in one compiled file is replaced by `replace`. */
export interface Patch {
  /** Below `dist`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** @returns the file that `node` is given. @throws {Error} a patch does not fit the program any more. */
export async function copyProgram(target: string, patches: readonly Patch[]): Promise<string> {
  await mkdir(target);
  for (const name of ['package.json', 'dist', 'migrations', 'models']) {
    await cp(packageFile(name), path.join(target, name), { recursive: true });
  }
  await symlink(path.join(PACKAGE_ROOT, 'node_modules'), path.join(target, 'node_modules'));
  // Patches are of modules.
  if (patches.length > 0) await rm(path.join(target, 'dist/program'), { recursive: true });
  for (const { file, find, replace } of patches) {
    const place = path.join(target, 'dist', file);
    const text = await readFile(place, 'utf8');
    if (text.split(find).length !== 2) throw new Error(`the mutant's text is not once in dist/${file}: ${find}`);
    await writeFile(
      place,
      text.replace(find, () => replace),
    );
  }
  return path.join(target, 'dist/src/main.js');
}
