/** What the proof of the ledger finds after the ledger was modified by hand; the change is undone. */
import assert from 'node:assert/strict';
import { findViolations } from '../../src/billing/verify.ts';
import type { LedgerViolation } from '../../src/billing/verify.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

class RolledBack extends Error {}

/** @param changes statements that our own code would never run. */
export async function violationsAfter(room: TaskRoom, changes: readonly string[]): Promise<readonly LedgerViolation[]> {
  let found: readonly LedgerViolation[] = [];
  const work = room.database.transaction(async (transaction) => {
    const run = (text: string): Promise<unknown> => transaction.query({ name: '', text });
    await run('ALTER TABLE ledger_entries DISABLE TRIGGER USER');
    for (const change of changes) await run(change);
    found = await findViolations(transaction);
    throw new RolledBack();
  });
  await assert.rejects(work, RolledBack);
  return found;
}

/** The rules that do not hold then, each once. */
export async function rulesBrokenBy(room: TaskRoom, changes: readonly string[]): Promise<readonly string[]> {
  const rules = (await violationsAfter(room, changes)).map((violation) => violation.rule);
  return [...new Set(rules)].toSorted();
}

/** An entry that our own code would never write. */
export function strayEntry(kind: string, reference: string, amount: bigint | number, owner: string): string {
  return `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, available_after_micro_usd,
                                      held_after_micro_usd)
          VALUES ('${owner}', '${kind}', '${reference}', ${amount}, 0, 0)`;
}
