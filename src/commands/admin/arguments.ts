/**
 * How admin commands parse their arguments: the account, amounts, names, times. An invalid argument is reported with
 * the name of its option.
 */
import type { Argv } from 'yargs';
import { listAccountPage, readAccount } from '../../accounts/accounts.ts';
import type { AccountLimits } from '../../accounts/accounts.ts';
import type { Queryable } from '../../database/database.ts';
import { parseUsd } from '../../domain/money.ts';
import { AdminError } from './admin-error.ts';

/** A group of commands, with the options of all of them. */
export type Group = Argv<{ json: boolean; 'data-dir': string | undefined }>;

/** The option of commands that work on one account. */
export const ACCOUNT = { type: 'string', describe: 'default: the only account' } as const;

/** An option that takes several values: separated by spaces or commas, or given several times. */
export function listOf<Value extends string = string>(choices?: readonly Value[]) {
  return {
    type: 'array',
    string: true,
    ...(choices === undefined ? {} : { choices }),
    // yargs compares the result with the choices.
    coerce: (values: readonly string[] | undefined) =>
      values?.flatMap((value) => value.split(',')) as readonly Value[] | undefined,
  } as const;
}

/** @throws {AdminError} an option that takes one value was given several times. */
export function requireSingle(options: Readonly<Record<string, unknown>>, lists: readonly string[]): true {
  for (const [name, value] of Object.entries(options)) {
    if (name === '_' || !Array.isArray(value) || lists.includes(name)) continue;
    throw new AdminError(`--${name}: given more than once`);
  }
  return true;
}

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
  const said = reason?.trim();
  if (said === undefined || /^[^\p{Cc}\u2028\u2029\p{Surrogate}]{1,500}$/u.test(said)) return said;
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

/** @throws {AdminError} */
export function readWhole(option: string, value: number, minimum: number, maximum: number): number {
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new AdminError(`--${option}: want a whole number from ${minimum} to ${maximum}`);
}

const DAY_MS = 86_400_000;

/**
 * A future time: a date (`2027-01-31`, the end of that UTC day), a time (`2027-01-31T12:00:00Z`), or days from now
 * (`30d`).
 *
 * @param now milliseconds since 1970. @throws {AdminError}
 */
export function readExpiry(option: string, text: string, now: number): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at =
    days !== undefined
      ? now + Number(days) * DAY_MS
      : isDate
        ? Date.parse(text) + DAY_MS
        : isTime
          ? Date.parse(text)
          : Number.NaN;
  if (Number.isNaN(at)) {
    throw new AdminError(
      `--${option}: "${text}" is not a date (2027-01-31), a time (2027-01-31T12:00:00Z) or days (30d)`,
    );
  }
  if (at <= now) throw new AdminError(`--${option}: ${text} is not in the future`);
  return new Date(at);
}

/** The options that set an account's limits. */
export const LIMIT_OPTIONS = {
  'creates-per-minute': { type: 'number', describe: 'creating requests per minute; as many at once' },
  'reads-per-minute': { type: 'number', describe: 'all other requests per minute' },
  'running-cap': { type: 'number', describe: 'tasks that run at once' },
  'queue-cap': { type: 'number', describe: 'tasks that wait behind them' },
  'storage-cap-gb': { type: 'number', describe: 'persistent storage in GB (10^9 bytes)' },
  'text-requests-per-minute': { type: 'number', describe: 'text requests per minute; as many at once' },
  'text-tokens-per-minute': { type: 'number', describe: 'tokens of text per minute, input and output together' },
  'text-streams-cap': { type: 'number', describe: 'text calls under way at once, streamed or not' },
} as const;

/** The values of those options. */
export interface LimitOptions {
  readonly createsPerMinute?: number | undefined;
  readonly readsPerMinute?: number | undefined;
  readonly runningCap?: number | undefined;
  readonly queueCap?: number | undefined;
  readonly storageCapGb?: number | undefined;
  readonly textRequestsPerMinute?: number | undefined;
  readonly textTokensPerMinute?: number | undefined;
  readonly textStreamsCap?: number | undefined;
}

const MAX_RATE = 10_000_000;
const MAX_TASKS = 1_000_000;
const MAX_TOKENS = 1_000_000_000;
const MAX_GB = 1_000_000;
const BYTES_PER_GB = 1_000_000_000;

/** @returns the limits that were given. @throws {AdminError} */
export function readLimits(options: LimitOptions): Partial<AccountLimits> {
  const { createsPerMinute, readsPerMinute, runningCap, queueCap, storageCapGb } = options;
  const { textRequestsPerMinute, textTokensPerMinute, textStreamsCap } = options;
  return {
    ...(createsPerMinute === undefined
      ? {}
      : { createsPerMinute: readWhole('creates-per-minute', createsPerMinute, 1, MAX_RATE) }),
    ...(readsPerMinute === undefined
      ? {}
      : { readsPerMinute: readWhole('reads-per-minute', readsPerMinute, 1, MAX_RATE) }),
    ...(runningCap === undefined ? {} : { runningCap: readWhole('running-cap', runningCap, 0, MAX_TASKS) }),
    ...(queueCap === undefined ? {} : { queueCap: readWhole('queue-cap', queueCap, 0, MAX_TASKS) }),
    ...(storageCapGb === undefined
      ? {}
      : { storageCapBytes: readWhole('storage-cap-gb', storageCapGb, 0, MAX_GB) * BYTES_PER_GB }),
    ...(textRequestsPerMinute === undefined
      ? {}
      : { textRequestsPerMinute: readWhole('text-requests-per-minute', textRequestsPerMinute, 1, MAX_RATE) }),
    ...(textTokensPerMinute === undefined
      ? {}
      : { textTokensPerMinute: readWhole('text-tokens-per-minute', textTokensPerMinute, 1, MAX_TOKENS) }),
    ...(textStreamsCap === undefined
      ? {}
      : { textStreamsCap: readWhole('text-streams-cap', textStreamsCap, 0, MAX_TASKS) }),
  };
}
