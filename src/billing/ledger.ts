/**
 * Where money moves: top-ups here, holds in the accepting statement (tasks/accept.ts), settlements here. Every move is a
 * conditional UPDATE of the account's counters and an append-only entry that is unique on (kind, reference), in the
 * caller's transaction (contract §7 "Money").
 */
import type { Queryable, Statement } from '../database/database.ts';
import { AccountNotFoundError } from '../accounts/accounts.ts';

const addAvailable: Statement = {
  name: 'add_available',
  text: `UPDATE account_counters SET available_micro_usd = available_micro_usd + $2 WHERE account_id = $1
         RETURNING available_micro_usd`,
};
const insertEntry: Statement = {
  name: 'insert_ledger_entry',
  text: `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id) VALUES ($1, $2, $3, $4, $5)`,
};

/**
 * Adds money to an account.
 *
 * @param reference names this top-up for ever; the same one again is refused.
 * @returns the available balance after it, in micro-USD.
 * @throws {UniqueViolationError} the reference was used before. @throws {AccountNotFoundError}
 */
export async function topUp(
  transaction: Queryable,
  accountId: string,
  amountMicroUsd: bigint,
  reference: string,
): Promise<bigint> {
  const [row] = await transaction.query<{ available_micro_usd: bigint }>(addAvailable, [accountId, amountMicroUsd]);
  if (row === undefined) throw new AccountNotFoundError(accountId);
  await transaction.query(insertEntry, [accountId, 'topup', reference, amountMicroUsd, null]);
  return row.available_micro_usd;
}

/** What one settlement moves. `capturedMicroUsd` is at most `heldMicroUsd`; the rest is released. */
export interface Settlement {
  readonly accountId: string;
  readonly reference: string;
  readonly keyId: string;
  readonly heldMicroUsd: bigint;
  readonly capturedMicroUsd: bigint;
  /** Which counter the task occupied until now. */
  readonly occupied: 'queued' | 'running';
}

/** One statement: counters and entries together, or nothing. */
const settleHold: Statement = {
  name: 'settle_hold',
  text: `WITH counters AS (
           UPDATE account_counters
              SET held_micro_usd = held_micro_usd - $4::bigint,
                  available_micro_usd = available_micro_usd + ($4::bigint - $5::bigint),
                  queued = queued - CASE WHEN $6 = 'queued' THEN 1 ELSE 0 END,
                  running = running - CASE WHEN $6 = 'running' THEN 1 ELSE 0 END
            WHERE account_id = $1
        RETURNING account_id)
         INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id)
         SELECT c.account_id, e.kind, $2, e.amount, $3
           FROM counters c,
                (VALUES ('capture', $5::bigint), ('release', $4::bigint - $5::bigint)) AS e (kind, amount)
          WHERE e.amount > 0 OR ($4::bigint = 0 AND e.kind = 'release')`,
};

/**
 * Ends a hold: captures what was earned, releases the rest, and gives the account's slot back.
 *
 * @throws {UniqueViolationError} the reference was settled before; the caller's transaction must not commit.
 */
export async function settle(transaction: Queryable, settlement: Settlement): Promise<void> {
  await transaction.query(settleHold, [
    settlement.accountId,
    settlement.reference,
    settlement.keyId,
    settlement.heldMicroUsd,
    settlement.capturedMicroUsd,
    settlement.occupied,
  ]);
}
