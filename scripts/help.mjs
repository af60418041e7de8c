/**
 * Answers `npm start -- --help` and `npm run admin -- --help` from texts beside this file, so that somebody who looks
 * around first waits for no installation and no build. The programs print the same texts themselves
 * (test/commands/help.test.ts compares), in containers too, where these scripts are not.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Commands whose help is kept as a text. */
const TEXTS = { start: 'help/start.txt', admin: 'help/admin.txt' };

/** The options of the commands above that take a value. */
const WITH_VALUE = new Set(['--data-dir']);

/**
 * @param name of the npm script. @param args what follows it.
 * @returns the text, or undefined where the command itself has to answer: no help is asked for, or that of a subcommand.
 */
export function findHelp(name, args) {
  if (!Object.hasOwn(TEXTS, name)) return undefined;
  const isAsked = args.includes('--help') || (name === 'start' && args.includes('-h'));
  if (!isAsked || named(args).length > 0) return undefined;
  return textOf(name);
}

/**
 * Rejects arguments that `npm start` does not accept before the installation, with the message the program would print.
 *
 * @returns the error message, or undefined if the program has to check the arguments itself.
 */
export function findProblem(name, args) {
  if (name !== 'start') return undefined;
  const known = new Set(textOf(name).match(/--[a-z-]+/g));
  const unknown = args
    .map((argument) => argument.split('=')[0])
    .find((option) => /^--./.test(option) && !known.has(option));
  if (unknown !== undefined) return `Unknown option '${unknown}'\nSee npm start -- --help.`;
  const [argument] = named(args);
  if (argument === undefined) return undefined;
  return `Unexpected argument '${argument}'. This command does not take positional arguments\nSee npm start -- --help.`;
}

function textOf(name) {
  return readFileSync(fileURLToPath(new URL(TEXTS[name], import.meta.url)), 'utf8');
}

/** What is named beside the options and their values: of `admin` a subcommand, whose own help is meant. */
function named(args) {
  return args.filter((argument, index) => !argument.startsWith('-') && !WITH_VALUE.has(args[index - 1]));
}
