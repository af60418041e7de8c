/**
 * An account as its owner sees it (contract §7 `GET /account`), and as operators do, who also see its organisation and
 * its wallet, and why it is suspended.
 */
import type { Limits, WireAdminAccount } from '@darkroom/api/admin/admin-account';
import type { WireAccount } from '@darkroom/api/tasks/account';
import type { Static } from 'typebox';
import type { Account, AccountLimits } from '../accounts/accounts.ts';
import { isReduced } from '../accounts/callback-receivers.ts';
import type { FailingReceiver } from '../accounts/callback-receivers.ts';
import { formatUsd } from '../domain/money.ts';
import { secondsOf } from './unix-seconds.ts';

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

/** The limits that operators set: from the names of the wire to those of the module. */
export function limitsOf(limits: Static<typeof Limits> = {}): Partial<AccountLimits> {
  const { createsPerMinute, readsPerMinute, runningTasks, queuedTasks, persistentBytes } = limits;
  const { textRequestsPerMinute, textTokensPerMinute, textStreams } = limits;
  return {
    ...(createsPerMinute === undefined ? {} : { createsPerMinute }),
    ...(readsPerMinute === undefined ? {} : { readsPerMinute }),
    ...(runningTasks === undefined ? {} : { runningCap: runningTasks }),
    ...(queuedTasks === undefined ? {} : { queueCap: queuedTasks }),
    ...(persistentBytes === undefined ? {} : { storageCapBytes: persistentBytes }),
    ...(textRequestsPerMinute === undefined ? {} : { textRequestsPerMinute }),
    ...(textTokensPerMinute === undefined ? {} : { textTokensPerMinute }),
    ...(textStreams === undefined ? {} : { textStreamsCap: textStreams }),
  };
}

export function presentAdminAccount(account: Account): WireAdminAccount {
  const { organisationId, walletId, suspensionReason } = account;
  return {
    ...presentAccount(account),
    organisationId,
    walletId,
    ...(suspensionReason === null ? {} : { suspensionReason }),
  };
}
