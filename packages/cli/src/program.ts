/**
 * The command line as a whole: its commands, and how their results become exit codes. Errors are printed on stderr and
 * never contain the key.
 */
import { Command, CommanderError } from 'commander';
import { ApiError } from '@darkroom/api/client/api-client';
import { addBalanceCommand } from './commands/balance.ts';
import { addCancelCommand } from './commands/cancel.ts';
import { addChatCommand } from './commands/chat.ts';
import { addConfigureCommand } from './commands/configure.ts';
import { addMcpCommand } from './commands/mcp.ts';
import { addModelsCommand } from './commands/models.ts';
import { addRunCommand } from './commands/run.ts';
import { addStorageCommand } from './commands/storage.ts';
import { addTasksCommand } from './commands/tasks.ts';
import { addWatchCommand } from './commands/watch.ts';
import { errorCodeOf } from './error-code.ts';
import { EXIT_CODES, EXIT_CODES_HELP, InterruptedError, NotDoneError, UsageError, exitCodeOf } from './errors.ts';
import { openSession } from './session.ts';
import { createTerminal } from './terminal.ts';
import type { Terminal } from './terminal.ts';
import type { CliEnvironment } from './cli-environment.ts';

const ENVIRONMENT_HELP = `Configuration:
  DARKROOM_BASE_URL  where the service is; default http://127.0.0.1:8787/v1
  DARKROOM_API_KEY   the API key; never an argument, which other users could see
  Without them a file is read that "configure" writes: darkroom/config.json in
  XDG_CONFIG_HOME or ~/.config, for its owner only.`;

/** A whole key, wherever it occurs. */
const KEY = /dk_live_[0-9A-Za-z]+_[0-9A-Za-z]+/g;

/** Runs one command. @returns the exit code; it never throws. */
export async function runCli(cli: CliEnvironment): Promise<number> {
  const terminal = createTerminal(cli);
  try {
    assertNoKeys(cli.args);
    await createProgram(cli, terminal).parseAsync([...cli.args], { from: 'user' });
    const lost = await terminal.written();
    if (lost !== undefined && !isAbort(lost))
      throw new NotDoneError(`the result could not be written: ${lost.message}`);
    return EXIT_CODES.fine;
  } catch (thrown) {
    const error: unknown = cli.interrupt.aborted ? new InterruptedError() : thrown;
    // The reader of the results has closed the pipe: `… | head`.
    if (terminal.outputGone.aborted && !cli.interrupt.aborted && isAbort(thrown)) return EXIT_CODES.fine;
    reportError(error, cli, terminal);
    return exitCodeOf(error);
  } finally {
    terminal.setStatus(undefined);
  }
}

/** @throws {UsageError} arguments are visible to every user of the machine, and stored in shell histories. */
function assertNoKeys(args: readonly string[]): void {
  if (args.some((argument) => /(^|=)dk_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/.test(argument))) {
    throw new UsageError(
      'an API key is among the arguments, where others can see it: revoke it, and set DARKROOM_API_KEY or use configure',
    );
  }
}

/** The command requires a subcommand. */
const HELP_SHOWN = 'commander.help';

function createProgram(cli: CliEnvironment, terminal: Terminal): Command {
  const program = new Command();
  program
    .name(cli.programName)
    .description('Generate images, videos, audio and text with the models of a Darkroom.')
    .option('--json', 'print the result as JSON')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      // Reported together with all other errors.
      outputError: () => undefined,
      // The help of a command that requires a subcommand.
      writeErr: (text) => {
        if (!isJson(cli)) terminal.say(text.trimEnd());
      },
    })
    .addHelpText('after', `\n${ENVIRONMENT_HELP}\n\n${EXIT_CODES_HELP}`);
  const open = () => openSession(cli, terminal, isJson(cli));
  addModelsCommand(program, open);
  addRunCommand(program, open);
  addTasksCommand(program, open);
  addWatchCommand(program, open);
  addCancelCommand(program, open);
  addStorageCommand(program, open);
  addBalanceCommand(program, open);
  addChatCommand(program, open);
  addMcpCommand(program, open);
  addConfigureCommand(program, cli, terminal);
  if (cli.args.length === 0) program.action(() => program.outputHelp());
  return program;
}

/**
 * Whether the output is JSON. It works also if the arguments could not be parsed, so that the error has the requested
 * format.
 */
function isJson({ args }: CliEnvironment): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

function isAbort(error: unknown): boolean {
  return (error instanceof Error && error.name === 'AbortError') || errorCodeOf(error) === 'EPIPE';
}

function reportError(error: unknown, cli: CliEnvironment, terminal: Terminal): void {
  if (error instanceof CommanderError && (error.exitCode === 0 || (error.code === HELP_SHOWN && !isJson(cli)))) return;
  const message = redact(messageOf(error, cli), cli);
  if (!isJson(cli)) {
    terminal.say(message);
    return;
  }
  const { status, errorCode, requestId } = error instanceof ApiError ? error : {};
  terminal.say(JSON.stringify({ error: { message, exitCode: exitCodeOf(error), status, errorCode, requestId } }));
}

function messageOf(error: unknown, { programName }: CliEnvironment): string {
  if (error instanceof CommanderError) {
    if (error.code === HELP_SHOWN) return `a command is required; ${programName} --help lists them`;
    const message = error.message.replace(/^error: /, '');
    return `${message}\n${programName} --help shows the usage`;
  }
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ApiError && error.status >= 500 && error.requestId !== undefined) {
    return `${error.message} (HTTP ${error.status}, request ${error.requestId})`;
  }
  return error.message;
}

function redact(message: string, { environment }: CliEnvironment): string {
  const key = environment['DARKROOM_API_KEY']?.trim() ?? '';
  const withoutKeys = message.replaceAll(KEY, 'dk_live_…');
  return key.length < 8 ? withoutKeys : withoutKeys.replaceAll(key, '…');
}
