/**
 * Where money moves: payments and corrections here, holds of tasks in the accepting statement (tasks/create/accept.ts),
 * their settlements here, text calls in text/money/move.ts. Every move is a conditional UPDATE of the wallet and an
 * append-only entry that is unique on (kind, reference), in the caller's transaction (contract §7 "Money").
 *
 * The wallet of an account is its own row of counters, or the row that `wallet_id` names (docs/decisions/0014). No
 * caller names it: the statements read it from the account's row, where it never changes. They lock the account's row
 * before its wallet.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import { AccountNotFoundError, readAccount } from '../accounts/accounts.ts';
import { isSharedWallet } from '../accounts/wallet.ts';
import { UniqueViolationError } from '../database/database.ts';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { queryRows, rowStatement } from '../database/row-statement.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { newId } from '../domain/ids.ts';
import { formatUsd } from '../domain/money.ts';

/**
 * The largest available balance: a million million USD, far more than any wallet has, and far below the database's
 * integer limit.
 */
const MAX_AVAILABLE_MICRO_USD = 10n ** 18n;

/** There would be more than can be booked. */
export class BalanceTooLargeError extends DarkroomError {
  override readonly name = 'BalanceTooLargeError';
  override readonly kind = 'invalid_request';
  override readonly param = 'usd';
  override readonly keyword = 'maximum';

  constructor() {
    super('an account cannot have more than 1000000000000 USD; nothing was booked');
  }
}

/** Counters and entry together, or nothing. An entry records what was available and held after it. */
const payIn: Statement = {
  name: 'pay_in',
  text: `WITH counters AS (
           UPDATE account_counters w SET available_micro_usd = w.available_micro_usd + $3::bigint
             FROM account_counters a
            WHERE a.account_id = $1 AND w.account_id = coalesce(a.wallet_id, a.account_id)
              AND w.available_micro_usd + $3::bigint >= 0
        RETURNING a.account_id, a.wallet_id, w.available_micro_usd, w.held_micro_usd),
         entry AS (
           INSERT INTO ledger_entries (account_id, wallet_id, kind, reference, amount_micro_usd,
                                       available_after_micro_usd, held_after_micro_usd)
           SELECT account_id, wallet_id, $2, $4, $3::bigint, available_micro_usd, held_micro_usd FROM counters)
         SELECT available_micro_usd FROM counters`,
};

/**
 * Adds money to the wallet of an account.
 *
 * @param reference names this top-up for ever; the same one again is rejected.
 * @returns the available balance after it, in micro-USD.
 * @throws {UniqueViolationError} the reference was used before. @throws {AccountNotFoundError}
 * @throws {BalanceTooLargeError} the transaction must not commit.
 */
export async function topUp(
  transaction: Queryable,
  accountId: string,
  amountMicroUsd: bigint,
  reference: string,
): Promise<bigint> {
  const [row] = await transaction.query<{ available_micro_usd: bigint }>(payIn, [
    accountId,
    'topup',
    amountMicroUsd,
    reference,
  ]);
  if (row === undefined) throw new AccountNotFoundError(accountId);
  return bookable(row.available_micro_usd);
}

function bookable(availableMicroUsd: bigint): bigint {
  if (availableMicroUsd > MAX_AVAILABLE_MICRO_USD) throw new BalanceTooLargeError();
  return availableMicroUsd;
}

/** The available balance does not cover the worst case (spec §1.6). */
export class InsufficientBalanceError extends DarkroomError {
  override readonly name = 'InsufficientBalanceError';
  override readonly kind = 'insufficient_balance';
  readonly availableMicroUsd: bigint;
  readonly neededMicroUsd: bigint;
  /** What other work holds of the same balance, as far as that is known. */
  readonly heldMicroUsd: bigint;
  readonly accountId: string;

  constructor(accountId: string, availableMicroUsd: bigint, neededMicroUsd: bigint, heldMicroUsd = 0n) {
    super('the available balance does not cover the worst-case cost');
    this.accountId = accountId;
    this.availableMicroUsd = availableMicroUsd;
    this.neededMicroUsd = neededMicroUsd;
    this.heldMicroUsd = heldMicroUsd;
  }

  /** What an API client can do. What the operator can do is in the log (answer-errors.ts). */
  override get publicMessage(): string {
    const needed = formatUsd(this.neededMicroUsd);
    const available = formatUsd(this.availableMicroUsd);
    return `the request can cost up to ${needed} USD and ${available} USD is available; reduce the request, wait until running tasks release their holds (GET /v1/account), or contact the operator of this service to add to the balance`;
  }
}

/**
 * Why work that holds nothing itself is to wait and to be tried again, if it is: also for what other work holds, as
 * long as that would cover it if it were released.
 */
export function waitReasonOf(error: DarkroomError): WaitReason | undefined {
  if (!(error instanceof InsufficientBalanceError)) return error.waitsFor;
  const { availableMicroUsd, heldMicroUsd, neededMicroUsd } = error;
  return availableMicroUsd + heldMicroUsd >= neededMicroUsd ? 'balance' : undefined;
}

/** A correction would take more than is available. */
export class AdjustmentTooLargeError extends DarkroomError {
  override readonly name = 'AdjustmentTooLargeError';
  override readonly kind = 'invalid_request';
  override readonly param = 'usd';
  override readonly keyword = 'maximum';

  constructor() {
    super('an adjustment cannot take more than is available');
  }
}

/**
 * Corrects the balance of an account's wallet by an operator's decision, up or down.
 *
 * @param amountMicroUsd signed. @param reference names this correction for ever.
 * @returns the available balance after it.
 * @throws {UniqueViolationError} the reference was used before. @throws {AdjustmentTooLargeError}
 * @throws {AccountNotFoundError} @throws {BalanceTooLargeError} the transaction must not commit.
 */
export async function adjust(
  transaction: Queryable,
  accountId: string,
  amountMicroUsd: bigint,
  reference: string,
): Promise<bigint> {
  await readAccount(transaction, accountId);
  const [row] = await transaction.query<{ available_micro_usd: bigint }>(payIn, [
    accountId,
    'adjustment',
    amountMicroUsd,
    reference,
  ]);
  if (row === undefined) throw new AdjustmentTooLargeError();
  return bookable(row.available_micro_usd);
}

/** What one settlement moves. `capturedMicroUsd` is at most `heldMicroUsd`; the rest is released. */
export interface Settlement {
  readonly reference: string;
  readonly keyId: string;
  readonly model: string;
  readonly heldMicroUsd: bigint;
  readonly capturedMicroUsd: bigint;
  /** Which counter the task occupied until now. */
  readonly occupied: 'queued' | 'running';
}

/**
 * One statement for what one account settles together: slots, money and entries, or nothing. `paid` locks the wallet,
 * if it is not the same row. The entries are in the order of the settlements, and each has the balances after it: what
 * is there in the end, without what the entries behind it move.
 */
const settleHolds = rowStatement(
  'settle_hold',
  {
    place: 'integer',
    reference: 'text',
    key_id: 'text',
    model: 'text',
    held: 'bigint',
    captured: 'bigint',
    occupied: 'text',
  },
  1,
  (rows) => `WITH total AS (
           SELECT sum(held)::bigint AS held, sum(held - captured)::bigint AS released,
                  (count(*) FILTER (WHERE occupied = 'queued'))::integer AS queued,
                  (count(*) FILTER (WHERE occupied = 'running'))::integer AS running
             FROM ${rows} v),
         account AS (
           UPDATE account_counters c
              SET held_micro_usd = c.held_micro_usd - CASE WHEN c.wallet_id IS NULL THEN t.held ELSE 0 END,
                  available_micro_usd = c.available_micro_usd + CASE WHEN c.wallet_id IS NULL THEN t.released ELSE 0 END,
                  queued = c.queued - t.queued,
                  running = c.running - t.running
             FROM total t
            WHERE c.account_id = $1
        RETURNING c.account_id, c.wallet_id, c.available_micro_usd, c.held_micro_usd),
         paid AS (
           UPDATE account_counters w
              SET held_micro_usd = w.held_micro_usd - t.held,
                  available_micro_usd = w.available_micro_usd + t.released
             FROM account a, total t WHERE ${isSharedWallet('account')}
        RETURNING a.account_id, a.wallet_id, w.available_micro_usd, w.held_micro_usd),
         counters AS (
           SELECT * FROM account WHERE wallet_id IS NULL UNION ALL SELECT * FROM paid),
         entry AS (
           SELECT v.*, e.kind, e.amount, e.part,
                  coalesce(sum(e.amount) OVER behind, 0)::bigint AS ended_behind,
                  coalesce(sum(e.amount) FILTER (WHERE e.kind = 'release') OVER behind, 0)::bigint AS released_behind
             FROM ${rows} v
            CROSS JOIN LATERAL (VALUES (1, 'capture', v.captured), (2, 'release', v.held - v.captured))
                    AS e (part, kind, amount)
           WINDOW behind AS (ORDER BY v.place, e.part ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING))
         INSERT INTO ledger_entries (account_id, wallet_id, kind, reference, amount_micro_usd, key_id, model,
                                     available_after_micro_usd, held_after_micro_usd)
         SELECT c.account_id, c.wallet_id, e.kind, e.reference, e.amount, e.key_id, e.model,
                c.available_micro_usd - e.released_behind, c.held_micro_usd + e.ended_behind
           FROM counters c, entry e
          WHERE e.amount > 0 OR (e.held = 0 AND e.kind = 'release')
          ORDER BY e.place, e.part`,
);

/**
 * Ends holds of one account: captures what was earned, releases the rest, and gives the account's slots back.
 *
 * @param settlements at least one, each of another reference.
 * @throws {UniqueViolationError} a reference was settled before; the caller's transaction must not commit.
 */
export async function settle(
  transaction: Queryable,
  accountId: string,
  settlements: readonly Settlement[],
): Promise<void> {
  const rows = settlements.map((settlement, place) => [
    place,
    settlement.reference,
    settlement.keyId,
    settlement.model,
    settlement.heldMicroUsd,
    settlement.capturedMicroUsd,
    settlement.occupied,
  ]);
  await queryRows(transaction, settleHolds, rows, [accountId]);
}

/** An entry of this kind has this reference already; nothing was booked. */
class ReferenceUsedError extends DarkroomError {
  override readonly name = 'ReferenceUsedError';
  override readonly kind = 'invalid_request';
  override readonly param = 'reference';
  override readonly keyword = 'unique';

  constructor(reference: string) {
    super(`the reference ${reference} was used before; nothing was booked`);
  }
}

/**
 * An entry that an operator makes in the ledger: a payment or a correction, under a reference that is used once, so
 * that a command or request that is sent twice counts once.
 */
interface OperatorEntry {
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
  return recordEntry(database, topUp, entry, 'topup');
}

/**
 * Corrects a balance, up or down.
 *
 * @throws {ReferenceUsedError} @throws {BalanceTooLargeError} @throws {AccountNotFoundError}
 * @throws {AdjustmentTooLargeError} it would take more than is available.
 */
export function recordAdjustment(database: Database, entry: OperatorEntry): Promise<LedgerChange> {
  return recordEntry(database, adjust, entry, 'adjustment');
}

async function recordEntry(
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
