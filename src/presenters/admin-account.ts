/**
 * Accounts as operators send and receive them: what their owners see (account.ts), and in addition its organisation and
 * wallet, and why one is suspended, which is for operators alone.
 */
import type { Static } from 'typebox';
import type { Limits } from '@darkroom/api/admin/admin-account';
import type { Account, AccountLimits } from '../accounts/accounts.ts';
import type { WireAdminAccount } from '@darkroom/api/admin/admin-account';
import { presentAccount } from './account.ts';

/** From the names of the wire to those of the module. */
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
