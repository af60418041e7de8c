/**
 * How admin commands parse their arguments: the account, amounts, names, times. An invalid argument is reported with
 * the name of its option.
 */
import { Option } from '@commander-js/extra-typings';
import { listAccountPage, readAccount } from '../../accounts/accounts.ts';
import type { AccountLimits } from '../../accounts/accounts.ts';
import type { Queryable } from '../../database/database.ts';
import { parseUsd } from '../../domain/money.ts';
import { createProgram, wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';

/** `admin` with the options of all its commands, which may appear anywhere. */
export function createAdminProgram() {
  return createProgram('npm run admin --')
    .usage('<group> <command>')
    .option('--json', 'print JSON')
    .addOption(new Option('--no-json').hideHelp())
    .option('--data-dir <directory>', 'data directory of the installation that npm start runs');
}

/** A group of commands, or a single one, before it has arguments and options of its own. */
export type Group = ReturnType<ReturnType<typeof createAdminProgram>['command']>;

/** The option of commands that work on one account: flags and description. */
export const ACCOUNT = ['--account <account>', 'default: the only account'] as const;

/** @throws {AdminError} no account was named, and there is not exactly one. @throws {AccountNotFoundError} */
export async function onlyAccount(database: Queryable, named: string | undefined): Promise<string> {
  if (named !== undefined) return (await readAccount(database, named)).id;
  const [first, second] = await listAccountPage(database, 2);
  if (first === undefined || second !== undefined) {
    const found = first === undefined ? 'no account' : 'more than one account';
    throw new AdminError(`--account: there is ${found}; name one (npm run admin -- accounts list)`);
  }
  return first.id;
}

/** @throws {AdminError} */
export function readName(name: string): string {
  if (/^(?=.*\S)[^\p{Cc}\u2028\u2029\p{Surrogate}]{1,100}$/u.test(name)) return name;
  throw new AdminError('--name: want 1 to 100 characters on one line, and not only white space');
}

/** @returns it without surrounding whitespace. @throws {AdminError} it is empty or too long. */
export function readReason(reason: string | undefined): string | undefined {
  const text = reason?.trim();
  if (text === undefined || /^[^\p{Cc}\u2028\u2029\p{Surrogate}]{1,500}$/u.test(text)) return text;
  throw new AdminError('--reason: want 1 to 500 characters on one line');
}

/** @returns micro-USD, not negative. @throws {AdminError} */
export function readAmount(option: string, text: string): bigint {
  const amount = parseUsd(text);
  if (amount === undefined) throw new AdminError(`--${option}: "${text}" is not a decimal amount such as 10 or 0.05`);
  return amount;
}

/** @returns micro-USD with its sign. @throws {AdminError} */
export function readSignedAmount(option: string, text: string): bigint {
  return text.startsWith('-') ? -readAmount(option, text.slice(1)) : readAmount(option, text);
}

/** @throws {AdminError} it is given and is not a valid payment reference. */
export function readReference(reference: string | undefined): string | undefined {
  if (reference === undefined || /^[!-~]{1,200}$/.test(reference)) return reference;
  throw new AdminError('--reference: want 1 to 200 visible ASCII characters without blanks');
}

const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

/**
 * A time that has passed: a date (`2027-01-31`, its beginning in UTC), a time (`2027-01-31T12:00:00Z`), or how long ago
 * (`90m`, `24h`, `7d`).
 *
 * @param now milliseconds since 1970. @returns Unix seconds. @throws {AdminError}
 */
export function readPast(option: string, text: string, now: number): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const at = unit === '' ? readTime(text) : now - Number(count) * (UNITS_MS[unit] ?? 0);
  if (!Number.isNaN(at) && at >= 0) return Math.floor(at / 1000);
  throw new AdminError(
    `--${option}: "${text}" is not a date (2027-01-31), a time (2027-01-31T12:00:00Z) or how long ago (90m, 24h, 7d)`,
  );
}

/** @returns NaN: it is neither a date nor a time. */
function readTime(text: string): number {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  return isDate || isTime ? Date.parse(text) : Number.NaN;
}

/**
 * A future time: a date (`2027-01-31`, the end of that UTC day), a time (`2027-01-31T12:00:00Z`), or days from now
 * (`30d`).
 *
 * @param now milliseconds since 1970. @throws {AdminError}
 */
export function readExpiry(option: string, text: string, now: number): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const isDate = !text.includes('T');
  const at = days === undefined ? readTime(text) + (isDate ? DAY_MS : 0) : now + Number(days) * DAY_MS;
  if (Number.isNaN(at)) {
    throw new AdminError(
      `--${option}: "${text}" is not a date (2027-01-31), a time (2027-01-31T12:00:00Z) or days (30d)`,
    );
  }
  if (at <= now) throw new AdminError(`--${option}: ${text} is not in the future`);
  return new Date(at);
}

const MAX_RATE = 10_000_000;
const MAX_TASKS = 1_000_000;
const MAX_TOKENS = 1_000_000_000;
const MAX_GB = 1_000_000;
const BYTES_PER_GB = 1_000_000_000;

/** Adds the options that set an account's limits. */
export function limitOptions(command: Group) {
  const rate = wholeNumber(1, MAX_RATE);
  const tasks = wholeNumber(0, MAX_TASKS);
  return command
    .option('--creates-per-minute <number>', 'creating requests per minute; as many at once', rate)
    .option('--reads-per-minute <number>', 'all other requests per minute', rate)
    .option('--running-cap <number>', 'tasks that run at once', tasks)
    .option('--queue-cap <number>', 'tasks that wait behind them', tasks)
    .option('--storage-cap-gb <number>', 'persistent storage in GB (10^9 bytes)', wholeNumber(0, MAX_GB))
    .option('--text-requests-per-minute <number>', 'text requests per minute; as many at once', rate)
    .option(
      '--text-tokens-per-minute <number>',
      'tokens of text per minute, input and output together',
      wholeNumber(1, MAX_TOKENS),
    )
    .option('--text-streams-cap <number>', 'text calls in progress at once, streamed or not', tasks);
}

/** The values of those options. */
export type LimitOptions = Omit<Partial<AccountLimits>, 'storageCapBytes'> & { readonly storageCapGb?: number };

/** @returns the limits that were given. */
export function limitsOf({ storageCapGb, ...limits }: LimitOptions): Partial<AccountLimits> {
  return { ...limits, ...(storageCapGb === undefined ? {} : { storageCapBytes: storageCapGb * BYTES_PER_GB }) };
}
