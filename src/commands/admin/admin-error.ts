/**
 * Errors of admin commands, with messages for the operator. Errors of other modules that an operator can resolve are
 * translated here; anything else is a bug and keeps its stack.
 */
import { AccountNotFoundError } from '../../accounts/accounts.ts';
import { WrongEncryptionKeyError } from '../../accounts/secret-cipher.ts';
import { KeyNotFoundError, KeyRefusedError } from '../../accounts/keys.ts';
import { UnknownLedgerEntryError } from '../../billing/ledger-list.ts';
import { AdjustmentTooLargeError } from '../../billing/ledger.ts';
import { BalanceTooLargeError, ReferenceUsedError } from '../../billing/operator-entries.ts';
import { TooMuchUsageError } from '../../billing/usage.ts';
import { OutputNotFoundError } from '../../objects/outputs/outputs.ts';
import { TaskNotFoundError } from '../../tasks/record/read.ts';

/** An error that the operator can resolve; the message says how. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** @returns the same error, or one that tells the operator how to resolve it. */
export function explained(error: unknown): unknown {
  if (error instanceof ReferenceUsedError) return new AdminError(`--reference: ${error.message}`, { cause: error });
  if (error instanceof BalanceTooLargeError || error instanceof AdjustmentTooLargeError) {
    return new AdminError(`--usd: ${error.message}`, { cause: error });
  }
  if (error instanceof TaskNotFoundError) return new AdminError('there is no such task', { cause: error });
  if (error instanceof UnknownLedgerEntryError) {
    return new AdminError('--cursor: not one that this list gave', { cause: error });
  }
  if (error instanceof TooMuchUsageError) {
    return new AdminError('--group-by: more rows than one answer holds; ask for fewer days or groups', {
      cause: error,
    });
  }
  if (error instanceof WrongEncryptionKeyError) {
    return new AdminError(
      `${error.message}: add it to ENCRYPTION_KEY_FALLBACKS, or, where it is lost, delete the secret and set a new one`,
      { cause: error },
    );
  }
  const isPlain = [AccountNotFoundError, KeyNotFoundError, KeyRefusedError, OutputNotFoundError].some(
    (each) => error instanceof each,
  );
  return isPlain && error instanceof Error ? new AdminError(error.message, { cause: error }) : error;
}
