/**
 * How a command can end, and the exit code for each case, for use by scripts. The only module that defines the codes.
 */
import { CommanderError } from 'commander';
import { ERROR_KINDS, factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorCategory } from '@darkroom/api/facts/error-kinds';
import { ApiError, UnreachableError } from '@darkroom/api/client/api-client';

export const EXIT_CODES = {
  fine: 0,
  notDone: 1,
  wrongUsage: 2,
  notAllowed: 3,
  insufficientBalance: 4,
  unreachable: 5,
  /** 128 + SIGINT, as in shells. */
  interrupted: 130,
} as const;

const DESCRIPTIONS: readonly (readonly [code: number, description: string])[] = [
  [EXIT_CODES.fine, 'done'],
  [EXIT_CODES.notDone, 'the task failed, or a part of the request could not be done'],
  [EXIT_CODES.wrongUsage, `wrong usage, or input that the service rejects (${statusesOf('request')})`],
  [EXIT_CODES.notAllowed, `not allowed: the API key, its scopes, or the account (${statusesOf('access')})`],
  [EXIT_CODES.insufficientBalance, `insufficient balance (${statusesOf('balance')})`],
  [EXIT_CODES.unreachable, `the service cannot be reached, or fails (${statusesOf('service')}), also after waiting`],
  [EXIT_CODES.interrupted, 'interrupted'],
];

/** As shown by `--help`. */
export const EXIT_CODES_HELP = [
  'Exit codes:',
  ...DESCRIPTIONS.map(([code, description]) => `  ${String(code).padEnd(3)}  ${description}`),
].join('\n');

/** The HTTP statuses of a category: `401, 403`. */
function statusesOf(category: ErrorCategory): string {
  const statuses = Object.values(ERROR_KINDS)
    .filter((kind) => kind.category === category)
    .map(({ status }) => (status >= 500 ? '5xx' : String(status)));
  return [...new Set(statuses)].toSorted().join(', ');
}

/** The command line or the configuration is wrong: nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The service processed the request, but not with the desired result: a task failed, an output was not deleted. */
export class NotDoneError extends Error {
  override readonly name = 'NotDoneError';
}

/** Ctrl-C. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';

  constructor() {
    super('interrupted');
  }
}

/** The exit code for any error that a command throws. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof InterruptedError) return EXIT_CODES.interrupted;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUsage;
  if (error instanceof UsageError) return EXIT_CODES.wrongUsage;
  if (error instanceof UnreachableError) return EXIT_CODES.unreachable;
  if (error instanceof ApiError) return CATEGORY_EXIT_CODES[factsOf(error.kind).category];
  return EXIT_CODES.notDone;
}

const CATEGORY_EXIT_CODES: Readonly<Record<ErrorCategory, number>> = {
  request: EXIT_CODES.wrongUsage,
  access: EXIT_CODES.notAllowed,
  balance: EXIT_CODES.insufficientBalance,
  service: EXIT_CODES.unreachable,
};
