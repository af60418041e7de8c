/** `admin models`: validates model files before a process loads them. It needs no installation. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isProviderFile, readModelTexts } from '../../catalogue/model-files.ts';
import { packageFile } from '../../config/package-root.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { print } from './print.ts';
import { wholeNumber } from '../command-line.ts';

export function modelCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  group
    .command('check')
    .description('read the model files of a directory as the api would, and report what is wrong with them')
    .argument('<folder>', 'directory with model files')
    .action((directory, _options, command) => checkModelDirectory(directory, command.optsWithGlobals().json === true));
  tryCommand(group, environment, (text) => void process.stdout.write(text));
}

/** @param print writes to standard output. */
export function tryCommand(group: Group, environment: NodeJS.ProcessEnv, print: (text: string) => void): void {
  group
    .command('try')
    .description('show the request that a model file makes of an input, and with --send what its provider answers')
    .argument('<file>', 'model file')
    .option('--input <value...>', 'JSON, @file or name=value; default: the first example of the file')
    .option('--media <field=path...>', 'file for a field whose file is sent to the provider')
    .option('--route <name>', 'default: the default route')
    .option('--upstream <number>', 'of the route, from 0', wholeNumber(0, 7))
    .option('--send', 'send it, which may cost money')
    .option('--yes', 'send without asking')
    .option('--timeout <seconds>', 'with --send; default: the limit of the model', wholeNumber(1, 604_800))
    .option('--output <folder>', 'with --send: where to store what was made; default: nothing is downloaded')
    .option('--record <file>', 'with --send: where to store the exchanges')
    .option('--recording <file>', 'exchanges to evaluate the expressions over, instead of sending')
    .action(async (file, options, command) => {
      // Here and not above, as for `check`.
      const { tryModel } = await import('./try/try-model.ts');
      await tryModel(file, options, { isJson: command.optsWithGlobals().json === true, environment, print });
    });
}

/** The command that runs models against the real services of their providers. */
export function verifyCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .description('run models against the real services of their providers, with a bound on what that may cost')
    .argument('[names...]', 'models or providers; default: all that can be used')
    .option('--live', 'send; without it, show what would be sent and what it would cost')
    .option('--max-cost <usd>', 'with --live: what all runs together may cost at most')
    .option('--media <kind=url...>', 'image, video or audio to use where an example names a file that does not exist')
    .option('--cancel', 'also submit a second job and cancel it, where the mapping can')
    .option('--yes', 'send without asking')
    .action(
      onInstallation(async (installation, names, options) => {
        // Here and not above, as for `check`.
        const { verifyModels } = await import('./verify/verify-models.ts');
        return verifyModels(installation, names, options);
      }),
    );
}

/**
 * Validates them together with the embedded ones, because model names must be unique.
 *
 * @throws {AdminError} a file is invalid.
 */
async function checkModelDirectory(directory: string, isJson: boolean): Promise<void> {
  // Here and not above: they take as long to load as the rest of `admin` together, and only this command needs them.
  const { createModelReader } = await import('../../catalogue/load-models.ts');
  const { lossesOf } = await import('../../catalogue/losses.ts');
  const { PROTOCOLS } = await import('../../providers/protocols.ts');
  const [embedded, own] = [packageFile('models'), path.resolve(directory)];
  const isEmbedded = (await realpath(own).catch(() => own)) === (await realpath(embedded));
  const texts = await readModelTexts(isEmbedded ? [own] : [embedded, own]);
  const { definitions, problems } = await createModelReader(PROTOCOLS)(texts);
  print(
    {
      folder: own,
      files: [...texts.keys()].filter((file) => file.startsWith(own + path.sep) && !isProviderFile(file)).length,
      models: definitions.map(({ name }) => name).sort(),
      belowCost: lossesOf(definitions).map(({ model, problem }) => ({ model, problem })),
      problems: problems.map(({ file, problem }) => ({ file, problem })),
    },
    isJson,
  );
  const rejected = new Set(problems.map(({ file }) => file)).size;
  if (rejected > 0) throw new AdminError(`${rejected} of the files would be rejected`);
}
