/**
 * What operators record in the ledger: payments and corrections, each under a reference that is used once, so that a command or request
 * that is sent twice counts once. The moves themselves are those of `ledger.ts`.
 */
import { UniqueViolationError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../domain/ids.ts';
import { adjust, topUp } from './ledger.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** An entry of this kind has this reference already; nothing was booked. */
export class ReferenceUsedError extends DarkroomError {
  override readonly name = 'ReferenceUsedError';
  override readonly kind = 'invalid_request';
  override readonly param = 'reference';
  override readonly keyword = 'unique';

  constructor(reference: string) {
    super(`the reference ${reference} was used before; nothing was booked`);
  }
}

/** An entry that an operator makes in the ledger. */
export interface OperatorEntry {
  /** The account whose wallet it moves. */
  readonly accountId: string;
  /** Above zero for a top-up; signed and not zero for an adjustment. At most 10^18 either way. */
  readonly amountMicroUsd: bigint;
  /** Absent: one is generated. */
  readonly reference?: string | undefined;
}

/** The entry that was recorded. */
export interface LedgerChange {
  readonly reference: string;
  readonly availableMicroUsd: bigint;
}

/**
 * Adds a payment to an account.
 *
 * @throws {ReferenceUsedError} @throws {BalanceTooLargeError} @throws {AccountNotFoundError}
 */
export function recordTopUp(database: Database, entry: OperatorEntry): Promise<LedgerChange> {
  return record(database, topUp, entry, 'topup');
}

/**
 * Corrects a balance, up or down.
 *
 * @throws {ReferenceUsedError} @throws {BalanceTooLargeError} @throws {AccountNotFoundError}
 * @throws {AdjustmentTooLargeError} it would take more than is available.
 */
export function recordAdjustment(database: Database, entry: OperatorEntry): Promise<LedgerChange> {
  return record(database, adjust, entry, 'adjustment');
}

async function record(
  database: Database,
  move: typeof topUp,
  { accountId, amountMicroUsd, reference: given }: OperatorEntry,
  kind: 'topup' | 'adjustment',
): Promise<LedgerChange> {
  const reference = given ?? newId(kind);
  try {
    return await database.transaction(async (transaction) => {
      const availableMicroUsd = await move(transaction, accountId, amountMicroUsd, reference);
      return { reference, availableMicroUsd };
    });
  } catch (error) {
    if (error instanceof UniqueViolationError) throw new ReferenceUsedError(reference);
    throw error;
  }
}
