/**
 * Proves the ledger over the whole database (contract §7 "Money"): wallets equal the sums of their entries, every
 * task has one hold and at most one settlement, and nothing is counted that was not booked. The rules are in
 * `verify-rules.ts`.
 */
import type { Database, Queryable, Statement } from '../database/database.ts';
import { LEDGER_RULES, MAX_VIOLATIONS } from './verify-rules.ts';

/** One thing that does not add up. */
export interface LedgerViolation {
  readonly rule: string;
  /** The account, task or entry for which the rule does not hold. */
  readonly subject: string;
  readonly detail: string;
}

/** All rules see the same moment, so that the proof holds while the system runs; no other transaction waits for it. */
const beginSnapshot: Statement = {
  name: 'begin_ledger_snapshot',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};
const takeTime: Statement = {
  name: 'take_time_for_ledger',
  // Sums over millions of rows: minutes on a slow machine, and memory to sort in.
  text: `SELECT set_config('statement_timeout', '10min', true), set_config('work_mem', '64MB', true)`,
};

/** @returns at most `MAX_VIOLATIONS`; none if everything holds. */
export async function verifyLedger(database: Database): Promise<readonly LedgerViolation[]> {
  return database.transaction(async (transaction) => {
    await transaction.query(beginSnapshot);
    await transaction.query(takeTime);
    return findViolations(transaction);
  });
}

/** The same on what a transaction sees. */
export async function findViolations(transaction: Queryable): Promise<readonly LedgerViolation[]> {
  const found: LedgerViolation[] = [];
  for (const rule of LEDGER_RULES) {
    if (found.length < MAX_VIOLATIONS) found.push(...(await transaction.query<LedgerViolation>(rule)));
  }
  return found.slice(0, MAX_VIOLATIONS);
}
