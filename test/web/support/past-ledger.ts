/**
 * A ledger as an account has it after months: entries of earlier days, which no test can wait for, written as the
 * program writes them, each with the available and held amounts after it.
 */
import type { LedgerKind } from '@darkroom/api/facts/ledger-kinds';
import type { Database } from '../../../src/database/database.ts';
import type { TestAccount } from '../../support/darkroom.ts';

const DAY_MS = 86_400_000;

/** What one entry belongs to; missing fields do not apply. */
export interface PastEntry {
  readonly kind: LedgerKind;
  readonly reference: string;
  readonly microUsd: bigint;
  readonly at: Date;
  readonly model?: string;
  readonly keyId?: string;
}

interface Counters {
  readonly available: bigint;
  readonly held: bigint;
}

/** The UTC day the given number of days ago: `2026-11-21`. */
export function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}

/** Noon of that day, plus the given number of minutes. */
export function noonBefore(days: number, minutes = 0): Date {
  return new Date(Date.parse(`${dayBefore(days)}T12:00:00Z`) + minutes * 60_000);
}

/** A request that was charged: three entries. @param capturedMicroUsd of the hold. */
export function paidRequest(
  reference: string,
  at: Date,
  by: { readonly model: string; readonly keyId: string },
  heldMicroUsd: bigint,
  capturedMicroUsd: bigint,
): readonly PastEntry[] {
  const released = heldMicroUsd - capturedMicroUsd;
  return [
    { kind: 'hold', reference, at, microUsd: heldMicroUsd, ...by },
    { kind: 'capture', reference, at, microUsd: capturedMicroUsd, ...by },
    ...(released === 0n ? [] : [{ kind: 'release' as const, reference, at, microUsd: released, ...by }]),
  ];
}

/** Records them in this order, after all earlier entries. */
export async function writeLedger(
  database: Database,
  { id }: Pick<TestAccount, 'id'>,
  entries: readonly PastEntry[],
): Promise<void> {
  await database.transaction(async (transaction) => {
    const [counters] = await transaction.query<Counters>(
      {
        name: 'test_ledger_counters',
        text: `SELECT available_micro_usd AS available, held_micro_usd AS held FROM account_counters
                WHERE account_id = $1 FOR UPDATE`,
      },
      [id],
    );
    let { available, held } = counters ?? { available: 0n, held: 0n };
    const rows = entries.map(({ kind, reference, microUsd, at, model, keyId }) => {
      if (kind === 'hold' || kind === 'capture') held += kind === 'hold' ? microUsd : -microUsd;
      if (kind === 'release') held -= microUsd;
      if (kind !== 'capture') available += kind === 'hold' ? -microUsd : microUsd;
      const now = { available: String(available), held: String(held) };
      return { kind, reference, amount: String(microUsd), at: at.toISOString(), model, key: keyId, ...now };
    });
    await transaction.query(
      {
        name: 'test_ledger_entries',
        text: `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, created_at, model, key_id,
                                           available_after_micro_usd, held_after_micro_usd)
               SELECT $1, e.kind, e.reference, e.amount, e.at, e.model, e.key, e.available, e.held
                 FROM ROWS FROM (json_to_recordset($2::json) AS (kind text, reference text, amount bigint,
                        at timestamptz, model text, key text, available bigint, held bigint))
                      WITH ORDINALITY AS e (kind, reference, amount, at, model, key, available, held, position)
                ORDER BY e.position`,
      },
      [id, JSON.stringify(rows)],
    );
    await transaction.query(
      {
        name: 'test_ledger_balance',
        text: 'UPDATE account_counters SET available_micro_usd = $2, held_micro_usd = $3 WHERE account_id = $1',
      },
      [id, available, held],
    );
  });
}
