/** `admin models`: what can be done with model files before a process loads them, most of it without an installation. */
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { repeatable, wholeNumber } from '../command-line.ts';

// The modules that do the work are imported where a command runs: they take as long to load as the rest of `admin`.

export function modelCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  const write = (text: string): void => void process.stdout.write(text);
  group
    .command('check')
    .description('read the model files of a directory as the api would, and report what is wrong with them')
    .argument('<directory>', 'directory with model files')
    .action(async (directory, _options, command) => {
      const { checkModelDirectory } = await import('./model-files.ts');
      await checkModelDirectory(directory, command.optsWithGlobals().json === true);
    });
  tryCommand(group, environment, write);
  group
    .command('schema')
    .description('print the JSON Schema of model files or provider files, for editors')
    .addArgument(group.createArgument('[kind]', 'model or provider').choices(['model', 'provider']).default('model'))
    .action(async (kind) => {
      const { fileSchema } = await import('./models-schema.ts');
      write(`${JSON.stringify(fileSchema(kind === 'provider' ? 'provider' : 'model'), null, 2)}\n`);
    });
}

/** @param print writes to standard output. */
export function tryCommand(group: Group, environment: NodeJS.ProcessEnv, print: (text: string) => void): void {
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
