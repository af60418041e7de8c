/**
 * Answers the npm scripts below with `-- --help` (or `-h`) from texts beside this file, so that a user who looks around
 * first does not have to wait for an installation and a build. Programs that have a help of their own print the same
 * (test/commands/help.test.ts compares): `start` and `admin` in containers too, where these scripts do not exist.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import util from 'node:util';

/** Commands whose help is stored as a text. */
const TEXTS = {
  start: 'help/start.txt',
  admin: 'help/admin.txt',
  test: 'help/test.txt',
  'test:wide': 'help/test-wide.txt',
  'test:containers': 'help/test-containers.txt',
  'test:cluster': 'help/test-cluster.txt',
  check: 'help/check.txt',
  images: 'help/images.txt',
  bench: 'help/bench.txt',
  release: 'help/release.txt',
  build: 'help/build.txt',
  chaos: 'help/chaos.txt',
  attack: 'help/attack.txt',
  gallery: 'help/gallery.txt',
  screenshots: 'help/screenshots.txt',
  ts: 'help/ts.txt',
  cli: 'help/cli.txt',
};

/** Commands that have no help but that text, whatever else is requested with it. */
const WITH_ONE_TEXT = new Set([
  'test',
  'test:wide',
  'test:containers',
  'test:cluster',
  'check',
  'images',
  'build',
  'chaos',
  'attack',
  'gallery',
  'screenshots',
]);

/** The options of the commands above that take a value. */
const WITH_VALUE = new Set(['--data-dir', '--tag', '--output', '--helm', '--python']);

/**
 * @param name of the npm script: of `test:wide` it is `test`, followed by `--wide`. @param args what follows it.
 * @returns the text, or undefined if the command itself has to respond: no help is requested, or that of a
 * subcommand.
 */
export function findHelp(name, args) {
  if (!Object.hasOwn(TEXTS, name)) return undefined;
  const isRequested = args.includes('--help') || args.includes('-h');
  if (!isRequested || (!WITH_ONE_TEXT.has(name) && named(args).length > 0)) return undefined;
  return textOf(name === 'test' && args.includes('--wide') ? 'test:wide' : name);
}

/**
 * Rejects, before the installation, arguments that `npm start` does not accept and `npm run admin` without any, with
 * the message that the program would print.
 *
 * @returns the error message, or undefined if the program has to check the arguments itself.
 */
export function findProblem(name, args) {
  if (name === 'admin' && args.length === 0) return `${textOf(name)}\nname a group of commands`;
  if (name !== 'start') return undefined;
  // Node versions without it are too old, which is checked next.
  if (util.parseArgs === undefined) return undefined;
  const known = (textOf(name).match(/--[a-z-]+/g) ?? []).map((option) => [
    option.slice('--'.length),
    { type: WITH_VALUE.has(option) ? 'string' : 'boolean' },
  ]);
  const options = { ...Object.fromEntries(known), help: { type: 'boolean', short: 'h' } };
  try {
    util.parseArgs({ args, options });
    return undefined;
  } catch (error) {
    return `${error.message}\nSee npm start -- --help.`;
  }
}

function textOf(name) {
  return readFileSync(fileURLToPath(new URL(TEXTS[name], import.meta.url)), 'utf8');
}

/** The arguments other than options and their values: for `admin` a subcommand, whose own help is requested. */
function named(args) {
  return args.filter((argument, index) => !argument.startsWith('-') && !WITH_VALUE.has(args[index - 1]));
}
