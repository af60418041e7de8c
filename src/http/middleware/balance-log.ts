/**
 * Logs 402 responses for the operator. The response goes to an API client, who can neither record a payment nor run a
 * command here; the operator, who can, reads the log, and under `npm start` the terminal. One line per account in ten
 * minutes, because a client that repeats its request would otherwise fill the log.
 */
import type { InsufficientBalanceError } from '../../billing/ledger.ts';
import { formatUsd } from '../../domain/money.ts';
import type { Logger } from '../../telemetry/log.ts';

const QUIET_MS = 600_000;
/** The maximum number of accounts whose last line is remembered; an evicted account may get one line too many. */
const MAX_REMEMBERED = 1_000;

export interface BalanceLog {
  /** A request was rejected by this error. */
  rejected(error: InsufficientBalanceError): void;
}

/** @param admin the command that runs `admin` on this installation. @param now in milliseconds. */
export function createBalanceLog(logger: Logger, admin: string, now: () => number): BalanceLog {
  const loggedAt = new Map<string, number>();
  return {
    rejected({ accountId, availableMicroUsd, neededMicroUsd }) {
      const last = loggedAt.get(accountId);
      if (last !== undefined && now() - last < QUIET_MS) return;
      loggedAt.delete(accountId);
      loggedAt.set(accountId, now());
      const [oldest] = loggedAt.keys();
      if (loggedAt.size > MAX_REMEMBERED && oldest !== undefined) loggedAt.delete(oldest);
      logger.warn(
        { accountId, availableUsd: formatUsd(availableMicroUsd), neededUsd: formatUsd(neededMicroUsd) },
        `an account's balance does not cover its requests; top it up with ${admin} accounts top-up ${accountId} --usd 10`,
      );
    },
  };
}
