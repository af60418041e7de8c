/** `admin models`: what can be done with model files before a process loads them, most of it without an installation. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isProviderFile, readModelTexts } from '../../catalogue/model-files.ts';
import type { ModelFileError } from '../../catalogue/model-files.ts';
import { packageFile } from '../../config/package-root.ts';
import { repeatable, wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import { print } from './installation.ts';
import type { OnInstallation } from './installation.ts';

// The catalogue, and what runs models, are imported where a command runs: they take as long to load as the rest of `admin`.

export function modelCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  const write = (text: string): void => void process.stdout.write(text);
  group
    .command('check')
    .description('read the model files of a directory as the api would, and report what is wrong with them')
    .argument('<directory>', 'directory with model files')
    .action(async (directory, _options, command) => {
      await checkModelDirectory(directory, command.optsWithGlobals().json === true);
    });
  tryCommand(group, environment, write);
  group
    .command('schema')
    .description('print the JSON Schema of model files or provider files, for editors')
    .addArgument(group.createArgument('[kind]', 'model or provider').choices(['model', 'provider']).default('model'))
    .action(async (kind) => {
      write(`${JSON.stringify(await fileSchema(kind === 'provider' ? 'provider' : 'model'), null, 2)}\n`);
    });
}

/** @param write writes to standard output. */
export function tryCommand(group: Group, environment: NodeJS.ProcessEnv, write: (text: string) => void): void {
  group
    .command('try')
    .description('show the request that a model file makes of an input, and with --send what its provider answers')
    .argument('<file>', 'model file')
    .option('--input <value...>', 'JSON, @file or name=value; default: the first example of the file')
    .addOption(repeatable('--media <field=file>', 'file for a field whose file is sent to the provider; repeatable'))
    .option('--route <name>', 'default: the default route')
    .option('--upstream <number>', 'of the route, from 0', wholeNumber(0, 7))
    .option('--send', 'send it, which may cost money')
    .option('--yes', 'send without asking')
    .option('--timeout <seconds>', 'with --send; default: the limit of the model', wholeNumber(1, 604_800))
    .option('--output <directory>', 'with --send: where to store what was made; default: nothing is downloaded')
    .option('--record <file>', 'with --send: where to store the exchanges')
    .option('--recording <file>', 'exchanges to evaluate the expressions over, instead of sending')
    .option(
      '--expect <outcome>',
      'done, rejected, failed or unknown, or with a reason, such as rejected:content_rejected: ' +
        'exit with 0 if it ends so, and with 1 otherwise; default: what the recording expects',
    )
    .action(async (file, options, command) => {
      const { tryModel } = await import('./try/try-model.ts');
      await tryModel(file, options, { isJson: command.optsWithGlobals().json === true, environment, print: write });
    });
}

/** The command that runs models against the real services of their providers. */
export function verifyCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .description('run models against the real services of their providers, with a bound on what that may cost')
    .argument('[names...]', 'models or providers; default: all that can be used')
    .option('--live', 'send; without it, show what would be sent and what it would cost')
    .option('--max-cost <usd>', 'with --live: what all runs together may cost at most')
    .addOption(
      repeatable(
        '--media-url <kind=url>',
        'URL of an image, video or audio to use where an example names a file that does not exist; repeatable',
      ),
    )
    .option('--cancel', 'also submit a second job and cancel it, where the mapping can')
    .option('--yes', 'send without asking')
    .action(
      onInstallation(async (installation, names, options) => {
        const { verifyModels } = await import('./verify/verify-models.ts');
        return verifyModels(installation, names, options);
      }),
    );
}

/**
 * Validates the model files of a directory together with the built-in ones, because model names must be unique.
 *
 * @throws {AdminError} a file is invalid.
 */
async function checkModelDirectory(directory: string, isJson: boolean): Promise<void> {
  const { createModelReader } = await import('../../catalogue/load-models.ts');
  const { lossesOf } = await import('../../catalogue/work-cost.ts');
  const { PROTOCOLS } = await import('../../providers/protocols.ts');
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

/** The JSON Schemas of the files, with which editors complete and check them. */
async function fileSchema(kind: 'model' | 'provider'): Promise<object> {
  const { modelFileSchema, providerFileSchema } = await import('../../catalogue/file-schemas.ts');
  const { PROTOCOLS } = await import('../../providers/protocols.ts');
  return kind === 'model' ? modelFileSchema(PROTOCOLS) : providerFileSchema(PROTOCOLS);
}
