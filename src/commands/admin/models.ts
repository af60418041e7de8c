/** `admin models`: validates model files before a process loads them. It needs no installation. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { readModelTexts } from '../../catalogue/model-files.ts';
import { packageFile } from '../../config/package-root.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import { print } from './print.ts';

export function modelCommands(group: Group): void {
  group
    .command('check')
    .description('read the model files of a directory as the api would, and report what is wrong with them')
    .argument('<folder>', 'directory with model files')
    .action((directory, _options, command) => checkModelDirectory(directory, command.optsWithGlobals().json === true));
}

/**
 * Validates them together with the embedded ones, because model names must be unique.
 *
 * @throws {AdminError} a file is invalid.
 */
async function checkModelDirectory(directory: string, isJson: boolean): Promise<void> {
  // Here and not above: they take as long to load as the rest of `admin` together, and only this command needs them.
  const { createModelReader } = await import('../../catalogue/load-models.ts');
  const { PROTOCOLS } = await import('../../providers/protocols.ts');
  const [embedded, own] = [packageFile('models'), path.resolve(directory)];
  const isEmbedded = (await realpath(own).catch(() => own)) === (await realpath(embedded));
  const texts = await readModelTexts(isEmbedded ? [own] : [embedded, own]);
  const { definitions, problems } = createModelReader(PROTOCOLS)(texts);
  print(
    {
      folder: own,
      files: [...texts.keys()].filter((file) => path.dirname(file) === own).length,
      models: definitions.map(({ name }) => name).sort(),
      problems: problems.map(({ file, problem }) => ({ file, problem })),
    },
    isJson,
  );
  const rejected = new Set(problems.map(({ file }) => file)).size;
  if (rejected > 0) throw new AdminError(`${rejected} of the files would be rejected`);
}
