/**
 * Proves the ledger over the whole database (contract §7 "Money"): what counters say is what entries add up to, every
 * task has one hold and at most one settlement, and what is held is what open tasks hold.
 */
import type { Queryable, Statement } from '../database/database.ts';

/** One thing that does not add up. */
export interface LedgerViolation {
  readonly rule: string;
  readonly subject: string;
  readonly detail: string;
}

const violationsStatement: Statement = {
  name: 'verify_ledger',
  text: `WITH sums AS (
           SELECT account_id,
                  coalesce(sum(amount_micro_usd) FILTER (WHERE kind IN ('topup', 'adjustment')), 0) AS paid_in,
                  coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'hold'), 0) AS holds,
                  coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'capture'), 0) AS captures,
                  coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'release'), 0) AS releases
             FROM ledger_entries GROUP BY account_id),
         open AS (
           SELECT account_id, sum(held_micro_usd) AS held FROM tasks WHERE completed_at IS NULL GROUP BY account_id),
         settled AS (
           SELECT reference, sum(amount_micro_usd) AS amount,
                  coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'capture'), 0) AS captured
             FROM ledger_entries WHERE kind IN ('capture', 'release') GROUP BY reference)
         SELECT 'topups + adjustments = available + held + captured' AS rule, c.account_id AS subject,
                format('%s <> %s + %s + %s', coalesce(s.paid_in, 0), c.available_micro_usd, c.held_micro_usd,
                       coalesce(s.captures, 0)) AS detail
           FROM account_counters c LEFT JOIN sums s USING (account_id)
          WHERE coalesce(s.paid_in, 0) <> c.available_micro_usd + c.held_micro_usd + coalesce(s.captures, 0)
         UNION ALL
         SELECT 'held = holds - captures - releases = what open tasks hold', c.account_id,
                format('held %s, entries %s, open tasks %s', c.held_micro_usd,
                       coalesce(s.holds - s.captures - s.releases, 0), coalesce(o.held, 0))
           FROM account_counters c LEFT JOIN sums s USING (account_id) LEFT JOIN open o USING (account_id)
          WHERE c.held_micro_usd <> coalesce(s.holds - s.captures - s.releases, 0)
             OR c.held_micro_usd <> coalesce(o.held, 0)
         UNION ALL
         SELECT 'one hold per task', t.id, 'the task has no hold of its amount'
           FROM tasks t
          WHERE NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.kind = 'hold' AND e.reference = t.id
                             AND e.amount_micro_usd = t.held_micro_usd AND e.account_id = t.account_id)
         UNION ALL
         SELECT 'one settlement per task, of what was held', t.id,
                format('held %s, settled %s, captured %s in the ledger and %s in the task, terminal: %s',
                       t.held_micro_usd, coalesce(s.amount::text, 'nothing'), s.captured, t.captured_micro_usd,
                       t.completed_at IS NOT NULL)
           FROM tasks t LEFT JOIN settled s ON s.reference = t.id
          WHERE (t.completed_at IS NULL) <> (s.amount IS NULL) OR s.amount <> t.held_micro_usd
             OR s.captured <> t.captured_micro_usd
         UNION ALL
         SELECT 'running slots are those of open tasks', c.account_id,
                format('running %s, queued %s, open tasks %s', c.running, c.queued, coalesce(n.open, 0))
           FROM account_counters c
           LEFT JOIN (SELECT account_id, count(*) AS open FROM tasks WHERE completed_at IS NULL GROUP BY account_id) n
                USING (account_id)
          WHERE c.running + c.queued <> coalesce(n.open, 0)
         LIMIT 100`,
};

/** @returns at most a hundred violations; none when all holds. */
export async function verifyLedger(database: Queryable): Promise<readonly LedgerViolation[]> {
  return database.query<LedgerViolation>(violationsStatement);
}
