/**
 * Holds that cannot be taken together: too little money for all, more calls than the account may have in progress, or
 * keys with spend caps. With the account's counters and its wallet locked, each is checked in the order in which it
 * came, and those that fit are held in one statement, in one transaction.
 */
import { IS_WALLET, lockAccountAndWallet } from '../../accounts/wallet.ts';
import { InsufficientBalanceError } from '../../billing/ledger.ts';
import { SpendCapError, chargeSpendCaps, readSpendCaps } from '../../billing/spend-caps.ts';
import type { CapPeriod } from '../../billing/spend-caps.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { moveTextMoney, backgroundCap } from './move.ts';
import type { NewTextCall } from './move.ts';

/** The account has reached its limit of concurrent text calls. */
export class TooManyStreamsError extends DarkroomError {
  override readonly name = 'TooManyStreamsError';
  override readonly kind = 'rate_limited';
  readonly cap: number;

  constructor(cap: number) {
    super(`${cap} text calls are running already`);
    this.cap = cap;
  }

  override get publicMessage(): string {
    return `${this.cap} text calls are running, which is the limit of this account; retry when one has ended`;
  }
}

/** This process has no lease at this moment, and so may not hold money: no process would settle it. */
export class NoLeaseError extends DatabaseUnavailableError {}

export type HoldRejection = InsufficientBalanceError | SpendCapError | TooManyStreamsError;

/** What an account has left. */
interface Room {
  available: bigint;
  held: bigint;
  streams: number;
  readonly streamsCap: number;
  readonly caps: readonly { readonly capId: string; readonly period: CapPeriod; readonly cap: bigint; spent: bigint }[];
}

const lockAccount: Statement = {
  name: 'lock_account_for_text_calls',
  text: lockAccountAndWallet(`w.available_micro_usd AS available, w.held_micro_usd AS held, c.text_streams AS streams,
                              c.text_streams_cap AS "streamsCap"`),
};

/**
 * Holds the calls of an account that fit, one after another.
 *
 * @returns why each was rejected, in their order; undefined for those that are held.
 * @throws {NoLeaseError}
 */
export async function holdOneByOne(
  database: Database,
  accountId: string,
  processId: string,
  calls: readonly NewTextCall[],
): Promise<readonly (HoldRejection | undefined)[]> {
  return database.transaction(async (transaction) => {
    const room = await readRoom(transaction, accountId, calls);
    const rejections = calls.map((call) => {
      const rejection = findRejection(room, call);
      if (rejection === undefined) take(room, call);
      return rejection;
    });
    const fitting = calls.filter((_, index) => rejections[index] === undefined);
    if (fitting.length > 0) await holdAll(transaction, accountId, processId, fitting);
    return rejections;
  });
}

const selectAvailable: Statement = {
  name: 'select_available_for_text_call',
  text: `SELECT w.available_micro_usd AS available, w.held_micro_usd AS held
           FROM account_counters c JOIN account_counters w ON ${IS_WALLET} WHERE c.account_id = $1`,
};

/**
 * Checks that the money for a call that is accepted now and held later is there at this moment.
 *
 * @throws {InsufficientBalanceError} @throws {SpendCapError}
 */
export async function requireCovered(database: Queryable, call: NewTextCall): Promise<void> {
  const [account] = await database.query<Pick<Room, 'available' | 'held'>>(selectAvailable, [call.accountId]);
  if (account === undefined) throw new Error('an authenticated account has no counters');
  const caps = call.spendCapIds.length === 0 ? [] : await readSpendCaps(database, call.spendCapIds);
  const rejection = findRejection({ ...account, caps, streams: 0, streamsCap: 1 }, call);
  if (rejection !== undefined) throw rejection;
}

async function readRoom(transaction: Queryable, accountId: string, calls: readonly NewTextCall[]): Promise<Room> {
  const [account] = await transaction.query<Omit<Room, 'caps'>>(lockAccount, [accountId]);
  if (account === undefined) throw new Error('an authenticated account has no counters');
  const capIds = [...new Set(calls.flatMap(({ spendCapIds }) => spendCapIds))];
  // A separate statement, after the lock: every transaction that spends locks this account's row first.
  return { ...account, caps: capIds.length === 0 ? [] : await readSpendCaps(transaction, capIds) };
}

function findRejection(
  room: Room,
  { accountId, heldMicroUsd, spendCapIds, isBackground = false }: NewTextCall,
): HoldRejection | undefined {
  if (room.available < heldMicroUsd) {
    return new InsufficientBalanceError(accountId, room.available, heldMicroUsd, room.held);
  }
  for (const { capId, period, cap, spent } of room.caps) {
    if (!spendCapIds.includes(capId) || spent + heldMicroUsd <= cap) continue;
    return new SpendCapError(period, cap, cap > spent ? cap - spent : 0n, heldMicroUsd);
  }
  const cap = isBackground ? backgroundCap.of(room.streamsCap) : room.streamsCap;
  return room.streams < cap ? undefined : new TooManyStreamsError(cap);
}

function take(room: Room, { heldMicroUsd, spendCapIds }: NewTextCall): void {
  room.available -= heldMicroUsd;
  room.held += heldMicroUsd;
  room.streams += 1;
  for (const cap of room.caps) if (spendCapIds.includes(cap.capId)) cap.spent += heldMicroUsd;
}

async function holdAll(
  transaction: Queryable,
  accountId: string,
  processId: string,
  calls: readonly NewTextCall[],
): Promise<void> {
  // Each was checked in its turn; a later one may have filled the half that those in the background leave.
  const checked = calls.map((call) => ({ ...call, isBackground: false }));
  const { fits, isLeased } = await moveTextMoney(transaction, accountId, processId, [], checked);
  if (!isLeased) throw new NoLeaseError('the lease of this process has run out');
  if (!fits) throw new Error('holds that were checked under the lock did not fit');
  for (const [capIds, microUsd] of sumsByCaps(calls)) await chargeSpendCaps(transaction, capIds, microUsd);
}

/** The sums of the holds for keys that have the same caps. */
function sumsByCaps(calls: readonly NewTextCall[]): Iterable<readonly [readonly string[], bigint]> {
  const sums = new Map<string, readonly [readonly string[], bigint]>();
  for (const { spendCapIds, heldMicroUsd } of calls) {
    if (spendCapIds.length === 0) continue;
    const [, sum] = sums.get(spendCapIds.join()) ?? [spendCapIds, 0n];
    sums.set(spendCapIds.join(), [spendCapIds, sum + heldMicroUsd]);
  }
  return sums.values();
}
