/**
 * Statements that move money, as releases sent them that knew no wallets. Their processes run beside the new ones
 * during an upgrade, and again after a rollback.
 */

/** A create is that of 0.1.0, in `test/fixtures/releases`; these are the same in all releases until wallets. */
export const FORMER_SETTLE_HOLD = `
  WITH counters AS (
    UPDATE account_counters
       SET held_micro_usd = held_micro_usd - $4::bigint,
           available_micro_usd = available_micro_usd + ($4::bigint - $5::bigint),
           queued = queued - CASE WHEN $6 = 'queued' THEN 1 ELSE 0 END,
           running = running - CASE WHEN $6 = 'running' THEN 1 ELSE 0 END
     WHERE account_id = $1
 RETURNING account_id, available_micro_usd, held_micro_usd)
  INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id, model,
                              available_after_micro_usd, held_after_micro_usd)
  SELECT c.account_id, e.kind, $2, e.amount, $3, $7, c.available_micro_usd - e.behind, c.held_micro_usd + e.behind
    FROM counters c,
         (VALUES (1, 'capture', $5::bigint, $4::bigint - $5::bigint), (2, 'release', $4::bigint - $5::bigint, 0))
           AS e (place, kind, amount, behind)
   WHERE e.amount > 0 OR ($4::bigint = 0 AND e.kind = 'release')
   ORDER BY e.place`;

export const FORMER_PAY_IN = `
  WITH counters AS (
    UPDATE account_counters SET available_micro_usd = available_micro_usd + $3::bigint
     WHERE account_id = $1 AND available_micro_usd + $3::bigint >= 0
 RETURNING account_id, available_micro_usd, held_micro_usd),
  entry AS (
    INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, available_after_micro_usd,
                                held_after_micro_usd)
    SELECT account_id, $2, $4, $3::bigint, available_micro_usd, held_micro_usd FROM counters)
  SELECT available_micro_usd FROM counters`;

/** What decides in the create of all releases until wallets. */
export const FORMER_HOLD = `
  UPDATE account_counters c
     SET available_micro_usd = c.available_micro_usd - $2::bigint, held_micro_usd = c.held_micro_usd + $2::bigint,
         queued = c.queued + 1, tasks_total = c.tasks_total + 1
   WHERE c.account_id = $1 AND c.available_micro_usd >= $2::bigint
     AND c.queued + c.running + 1 <= c.queue_cap + c.running_cap
  RETURNING c.account_id`;
