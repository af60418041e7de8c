/**
 * An account as its owner sees it (contract §7 `GET /account`).
 */
import type { Account } from '../accounts/accounts.ts';
import type { WireAccount } from '@darkroom/api/tasks/account';
import { formatUsd } from '../domain/money.ts';
import { secondsOf } from './unix-seconds.ts';
import type { FailingReceiver } from '../accounts/callback-receivers.ts';
import { isReduced } from '../accounts/callback-receivers.ts';

export function presentAccount(account: Account): WireAccount {
  const { availableMicroUsd, heldMicroUsd, limits } = account;
  return {
    accountId: account.id,
    name: account.name,
    status: account.status,
    balance: formatUsd(availableMicroUsd + heldMicroUsd),
    held: formatUsd(heldMicroUsd),
    available: formatUsd(availableMicroUsd),
    currency: 'USD',
    limits: {
      createsPerMinute: limits.createsPerMinute,
      readsPerMinute: limits.readsPerMinute,
      runningTasks: limits.runningCap,
      queuedTasks: limits.queueCap,
      persistentBytes: limits.storageCapBytes,
      textRequestsPerMinute: limits.textRequestsPerMinute,
      textTokensPerMinute: limits.textTokensPerMinute,
      textStreams: limits.textStreamsCap,
    },
    usage: {
      runningTasks: account.running,
      queuedTasks: account.queued,
      persistentBytes: account.persistentBytes,
      textStreams: account.textStreams,
    },
    created: secondsOf(account.createdAt),
  };
}

/** @param now milliseconds since 1970. @see isReduced for `oneAttemptAfterDays`. */
export function presentCallbackProblems(
  receivers: readonly FailingReceiver[],
  oneAttemptAfterDays: number,
  now: number,
): NonNullable<WireAccount['callbackProblems']> {
  return receivers.map((receiver) => ({
    origin: receiver.origin,
    failingSince: secondsOf(receiver.failingSince),
    lastFailed: secondsOf(receiver.lastFailedAt),
    lastStatus: receiver.lastHttpStatus ?? 0,
    ...(receiver.lastErrorClass === null ? {} : { lastErrorClass: receiver.lastErrorClass }),
    givenUp: receiver.givenUp,
    isReduced: isReduced(receiver, oneAttemptAfterDays, now),
  }));
}
