/**
 * How the program's command lines are parsed: commander with typed options, an error for each wrong argument that
 * states what is wrong and where the help is, and parsers of option values.
 */
import { Command, CommanderError, Help, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** The arguments are wrong; nothing was done. */
class UsageError extends DarkroomError {
  override readonly name = 'UsageError';
  override readonly kind = 'invalid_request';
}

/** @param name how the program is started, for its help. */
export function createProgram(name: string): Command {
  const help = new Help();
  return new Command(name)
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .configureHelp({
      showGlobalOptions: true,
      // Required ones first.
      visibleOptions: (command) =>
        help.visibleOptions(command).toSorted((a, b) => Number(b.mandatory) - Number(a.mandatory)),
      subcommandTerm: (command) => help.subcommandTerm(command).replace(' [options]', ''),
      optionDescription: (option) => `${help.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    });
}

/**
 * Runs the command that the arguments name, or prints its help.
 *
 * @param missing the message where no command is named. @throws {UsageError} and what the command throws.
 */
export async function runProgram(program: CommandUnknownOpts, args: readonly string[], missing: string): Promise<void> {
  prepare(program, missing);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Help was requested.
    if (error instanceof CommanderError && error.exitCode === 0) return;
    throw error;
  }
}

/** The command requires a subcommand. */
const HELP_SHOWN = 'commander.help';

/** Makes a command and those below it throw errors, where commander prints them and exits. */
function prepare(command: CommandUnknownOpts, missing: string): void {
  const quiet = (): void => undefined;
  command.configureOutput({ writeErr: quiet, outputError: quiet }).exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    if (error.code === HELP_SHOWN) throw new UsageError(`${command.helpInformation()}\n${missing}`);
    const shown = command.commands.length > 0 ? 'lists the commands' : 'shows its arguments and options';
    throw new UsageError(`${error.message.replace(/^error: /, '')}\n${fullName(command)} --help ${shown}`);
  });
  for (const option of command.options) requireSingle(command, option);
  for (const each of command.commands) prepare(each, `name a command of ${each.name()}`);
}

function fullName(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** The options that take one value and may be given several times. */
const REPEATABLE = new WeakSet<Option>();

/**
 * An option that may be given several times, each with one value. One with `<value...>` would take the arguments behind
 * it for values, too.
 */
export function repeatable<Flags extends string>(flags: Flags, description: string) {
  const collect = (text: string, earlier: readonly string[] = []): readonly string[] => [...earlier, text];
  const option = new Option(flags, description).argParser(collect);
  REPEATABLE.add(option);
  return option;
}

/** An option that takes one value is rejected if it is given again; commander would take the last. */
function requireSingle(command: CommandUnknownOpts, option: Option): void {
  if (!option.required || option.variadic || REPEATABLE.has(option)) return;
  let isGiven = false;
  command.on(`option:${option.name()}`, () => {
    if (isGiven) throw new UsageError(`--${option.name()}: given more than once`);
    isGiven = true;
  });
}

/** The parser of an option that is a whole number. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`Want a whole number from ${minimum} to ${maximum}.`);
  };
}

/** The parser of an option that takes several values: separated by blanks or commas, or given several times. */
export function listOf(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, ...text.split(',')];
}

/** An option that takes several of these values. */
export function listOption<Flags extends string, Value extends string>(
  flags: Flags,
  description: string,
  choices: readonly Value[],
) {
  const parse = (text: string, earlier: readonly Value[] = []): readonly Value[] => [
    ...earlier,
    ...text.split(',').map((value) => oneOf(choices, value)),
  ];
  return new Option(flags, description).choices(choices).argParser(parse);
}

function oneOf<Value extends string>(choices: readonly Value[], value: string): Value {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
  return found;
}
