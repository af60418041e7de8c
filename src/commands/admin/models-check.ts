/** `admin models check`: what the api would make of the files of a directory. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { createModelReader } from '../../catalogue/load-models.ts';
import { lossesOf } from '../../catalogue/work-cost.ts';
import { isProviderFile, readModelTexts } from '../../catalogue/model-files.ts';
import type { ModelFileError } from '../../catalogue/model-files.ts';
import { packageFile } from '../../config/package-root.ts';
import { PROTOCOLS } from '../../providers/protocols.ts';
import { AdminError } from './admin-error.ts';
import { print } from './print.ts';

/**
 * Validates the model files of a directory together with the built-in ones, because model names must be unique.
 *
 * @throws {AdminError} a file is invalid.
 */
export async function checkModelDirectory(directory: string, isJson: boolean): Promise<void> {
  const [builtIn, own] = [packageFile('models'), path.resolve(directory)];
  const isBuiltIn = (await realpath(own).catch(() => own)) === (await realpath(builtIn));
  const texts = await readModelTexts(isBuiltIn ? [own] : [builtIn, own]);
  const { definitions, files, problems } = await createModelReader(PROTOCOLS)(texts);
  const isOwn = (file: string): boolean => file.startsWith(own + path.sep);
  const ownFiles = [...texts.keys()].filter(isOwn);
  const ownModels = [...files].flatMap(([file, model]) => (isOwn(file) ? [model] : []));
  print(
    {
      folder: own,
      files: ownFiles.length,
      models: ownModels.map(({ name }) => name).sort(),
      ...(isBuiltIn ? {} : { builtIn: definitions.length - ownModels.length }),
      belowCost: lossesOf(ownModels).map(({ model, problem }) => ({ model, problem })),
      problems: problems.map(({ file, problem }) => ({ file, problem })),
    },
    isJson,
  );
  const unread = ownFiles.filter((file) => !isProviderFile(file) && !files.has(file));
  requireNone(problems, unread);
}

/** @param unread the model files without a model. @throws {AdminError} some are invalid. */
function requireNone(problems: readonly ModelFileError[], unread: readonly string[]): void {
  const rejected = new Set(problems.map(({ file }) => file));
  if (rejected.size === 0) return;
  const others = unread.filter((file) => !rejected.has(file)).length;
  const dependent = others === 0 ? '' : `, and with them ${others} that refer to a provider`;
  throw new AdminError(`${rejected.size} of the files would be rejected${dependent}`);
}
