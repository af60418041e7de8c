/**
 * Proves the ledger over the whole database (contract §7 "Money"): wallets equal the sums of their entries, every
 * task has one hold and at most one settlement, and nothing is counted that was not booked. The rules are SQL.
 */
import { MAX_VIOLATIONS } from '@darkroom/api/facts/limits';
import type { Database, Queryable, Statement } from '../database/database.ts';

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
  // Sums over millions of rows need minutes on a slow machine, and memory to sort in.
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

/** The time limit of a verification statement, in milliseconds. Our other statements have a much shorter limit. */
const TIMEOUT_MS = 600_000;

/**
 * What must hold for a part of the ledger. Each statement is set-based: it takes seconds for millions of entries
 * on a fast machine, and minutes on a slow one. It returns what does not hold as `rule`, `subject` and `detail`.
 */
function rules(name: string, select: string): Statement {
  return { name: `verify_${name}`, text: `${select} LIMIT ${MAX_VIOLATIONS}`, timeoutMs: TIMEOUT_MS };
}

/** SQL for the change that an entry makes to the available and the held amount. */
const AVAILABLE_CHANGE = `CASE kind WHEN 'hold' THEN -amount_micro_usd WHEN 'capture' THEN 0 ELSE amount_micro_usd END`;
const HELD_CHANGE = `CASE kind WHEN 'hold' THEN amount_micro_usd WHEN 'capture' THEN -amount_micro_usd
                          WHEN 'release' THEN -amount_micro_usd ELSE 0 END`;
/** SQL for the wallet of an entry, and of an account: the one that is named, or the account's own, which has its id. */
const WALLET = 'coalesce(wallet_id, account_id)';
/** SQL for all tasks as `t`, with what remains of those that were pruned (docs/decisions/0026). */
const ALL_TASKS = `(SELECT id, account_id, held_micro_usd, captured_micro_usd, completed_at, spend_cap_ids FROM tasks
                    UNION ALL
                    SELECT task_id, account_id, held_micro_usd, captured_micro_usd, completed_at, spend_cap_ids
                      FROM pruned_tasks) t`;

const balances = rules(
  'balances',
  `WITH parts AS (
     SELECT account_id, wallet_id,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind IN ('topup', 'adjustment')), 0) AS paid_in,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'hold'), 0) AS holds,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'capture'), 0) AS captures,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'release'), 0) AS releases
       FROM ledger_entries GROUP BY account_id, wallet_id),
   sums AS (
     SELECT ${WALLET} AS account_id, sum(paid_in) AS paid_in, sum(holds) AS holds, sum(captures) AS captures,
            sum(releases) AS releases
       FROM parts GROUP BY 1),
   held AS (
     SELECT account_id, sum(held_micro_usd) AS held
       FROM (SELECT account_id, held_micro_usd FROM tasks WHERE completed_at IS NULL
             UNION ALL
             SELECT account_id, held_micro_usd FROM text_calls WHERE settled_at IS NULL) o
      GROUP BY account_id),
   open AS (
     SELECT coalesce(c.wallet_id, c.account_id) AS account_id, sum(h.held) AS held
       FROM held h JOIN account_counters c USING (account_id) GROUP BY 1)
   SELECT 'topups + adjustments = available + held + captured' AS rule, c.account_id AS subject,
          format('%s <> %s + %s + %s', coalesce(s.paid_in, 0), c.available_micro_usd, c.held_micro_usd,
                 coalesce(s.captures, 0)) AS detail
     FROM account_counters c LEFT JOIN sums s USING (account_id)
    WHERE c.wallet_id IS NULL
      AND coalesce(s.paid_in, 0) <> c.available_micro_usd + c.held_micro_usd + coalesce(s.captures, 0)
   UNION ALL
   SELECT 'held = holds - captures - releases = what open tasks and text calls hold', c.account_id,
          format('held %s, entries %s, open tasks and text calls %s', c.held_micro_usd,
                 coalesce(s.holds - s.captures - s.releases, 0), coalesce(o.held, 0))
     FROM account_counters c LEFT JOIN sums s USING (account_id) LEFT JOIN open o USING (account_id)
    WHERE c.wallet_id IS NULL AND (c.held_micro_usd <> coalesce(s.holds - s.captures - s.releases, 0)
                                   OR c.held_micro_usd <> coalesce(o.held, 0))
   UNION ALL
   SELECT DISTINCT 'every entry is of an account', p.account_id, 'no account has this id'
     FROM parts p LEFT JOIN account_counters c USING (account_id)
    WHERE c.account_id IS NULL
   UNION ALL
   SELECT 'every entry is of the wallet of its account', p.account_id,
          format('entries of wallet %s, and the wallet of the account is %s', coalesce(p.wallet_id, p.account_id),
                 coalesce(c.wallet_id, c.account_id))
     FROM parts p JOIN account_counters c USING (account_id)
    WHERE p.wallet_id IS DISTINCT FROM c.wallet_id
   UNION ALL
   SELECT 'an account that draws on a wallet has no money beside it', account_id,
          format('available %s, held %s', available_micro_usd, held_micro_usd)
     FROM account_counters
    WHERE wallet_id IS NOT NULL AND (available_micro_usd <> 0 OR held_micro_usd <> 0)
   UNION ALL
   SELECT 'a wallet is an account that draws on no other', c.account_id, format('its wallet is %s', c.wallet_id)
     FROM account_counters c LEFT JOIN account_counters w ON w.account_id = c.wallet_id
    WHERE c.wallet_id IS NOT NULL AND (w.account_id IS NULL OR w.wallet_id IS NOT NULL)`,
);

/** Entries of a wallet are written while it is locked, so that they follow one another by their ids. */
const succession = rules(
  'succession',
  `SELECT 'every entry follows from the one before it' AS rule, format('%s %s', kind, reference) AS subject,
          format('available %s, held %s, after available %s, held %s and an amount of %s', available_after_micro_usd,
                 held_after_micro_usd, available_before, held_before, amount_micro_usd) AS detail
     FROM (SELECT kind, reference, amount_micro_usd, available_after_micro_usd, held_after_micro_usd,
                  lag(available_after_micro_usd, 1, 0::bigint) OVER succession AS available_before,
                  lag(held_after_micro_usd, 1, 0::bigint) OVER succession AS held_before
             FROM ledger_entries
           WINDOW succession AS (PARTITION BY ${WALLET} ORDER BY id)) e
    WHERE available_after_micro_usd <> available_before + ${AVAILABLE_CHANGE}
       OR held_after_micro_usd <> held_before + ${HELD_CHANGE}`,
);

const lastEntries = rules(
  'last_entries',
  `SELECT 'the last entry has the balance of the account' AS rule, c.account_id AS subject,
          format('available %s, held %s, and the account has available %s, held %s',
                 coalesce(e.available_after_micro_usd, 0), coalesce(e.held_after_micro_usd, 0),
                 c.available_micro_usd, c.held_micro_usd) AS detail
     FROM account_counters c
     LEFT JOIN LATERAL (
          (SELECT id, available_after_micro_usd, held_after_micro_usd FROM ledger_entries
            WHERE account_id = c.account_id AND wallet_id IS NULL ORDER BY id DESC LIMIT 1)
          UNION ALL
          (SELECT id, available_after_micro_usd, held_after_micro_usd FROM ledger_entries
            WHERE wallet_id = c.account_id ORDER BY id DESC LIMIT 1)
           ORDER BY id DESC LIMIT 1) e ON true
    WHERE c.wallet_id IS NULL AND (c.available_micro_usd <> coalesce(e.available_after_micro_usd, 0)
                                   OR c.held_micro_usd <> coalesce(e.held_after_micro_usd, 0))`,
);

const entries = rules(
  'entries',
  `SELECT 'no amount but an adjustment is negative' AS rule, format('%s %s', kind, reference) AS subject,
          format('amount %s', amount_micro_usd) AS detail
     FROM ledger_entries WHERE amount_micro_usd < 0 AND kind <> 'adjustment'
   UNION ALL
   SELECT 'every capture and release has a hold that covers it', s.reference,
          format('settled %s, held %s', s.amount, coalesce(h.amount_micro_usd::text, 'nothing'))
     FROM (SELECT account_id, reference, sum(amount_micro_usd) AS amount
             FROM ledger_entries WHERE kind IN ('capture', 'release') GROUP BY account_id, reference) s
     LEFT JOIN ledger_entries h ON h.kind = 'hold' AND h.reference = s.reference AND h.account_id = s.account_id
    WHERE h.id IS NULL OR s.amount > h.amount_micro_usd`,
);

const tasks = rules(
  'tasks',
  `WITH settled AS (
     SELECT reference, sum(amount_micro_usd) AS amount,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'capture'), 0) AS captured
       FROM ledger_entries WHERE kind IN ('capture', 'release') GROUP BY reference)
   SELECT 'one hold per task' AS rule, t.id AS subject, 'the task has no hold of its amount' AS detail
     FROM ${ALL_TASKS}
    WHERE NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.kind = 'hold' AND e.reference = t.id
                       AND e.amount_micro_usd = t.held_micro_usd AND e.account_id = t.account_id)
   UNION ALL
   SELECT 'a pruned task is gone', p.task_id, 'its row is there'
     FROM pruned_tasks p JOIN tasks t ON t.id = p.task_id
   UNION ALL
   SELECT 'one settlement per task, of what was held', t.id,
          format('held %s, settled %s, captured %s in the ledger and %s in the task, terminal: %s',
                 t.held_micro_usd, coalesce(s.amount::text, 'nothing'), s.captured, t.captured_micro_usd,
                 t.completed_at IS NOT NULL)
     FROM ${ALL_TASKS} LEFT JOIN settled s ON s.reference = t.id
    WHERE (t.completed_at IS NULL) <> (s.amount IS NULL) OR s.amount <> t.held_micro_usd
       OR s.captured <> t.captured_micro_usd`,
);

/** A row without a process is no call: it blocks a late hold that was never confirmed (migrations/0001_schema.sql). */
const textCalls = rules(
  'text_calls',
  `WITH settled AS (
     SELECT reference, sum(amount_micro_usd) AS amount,
            coalesce(sum(amount_micro_usd) FILTER (WHERE kind = 'capture'), 0) AS captured
       FROM ledger_entries WHERE kind IN ('capture', 'release') GROUP BY reference)
   SELECT 'one hold per text call' AS rule, t.id AS subject, 'the call has no hold of its amount' AS detail
     FROM text_calls t
    WHERE t.process_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.kind = 'hold' AND e.reference = t.id
                       AND e.amount_micro_usd = t.held_micro_usd AND e.account_id = t.account_id)
   UNION ALL
   -- A process that was suspended for a month may settle a call again after it was pruned; its hold is settled by then.
   SELECT 'nothing is held for a call that never was', t.id, 'there is an entry of it'
     FROM text_calls t
    WHERE t.process_id IS NULL
      AND EXISTS (SELECT 1 FROM ledger_entries e
                   WHERE e.reference = t.id AND e.kind IN ('hold', 'capture', 'release')
                  HAVING sum(${HELD_CHANGE}) <> 0 OR max(e.created_at) >= t.created_at)
   UNION ALL
   SELECT 'one settlement per text call, of what was held', t.id,
          format('held %s, settled %s, captured %s in the ledger and %s in the call, settled: %s',
                 t.held_micro_usd, coalesce(s.amount::text, 'nothing'), s.captured, t.captured_micro_usd,
                 t.settled_at IS NOT NULL)
     FROM text_calls t LEFT JOIN settled s ON s.reference = t.id
    WHERE t.process_id IS NOT NULL
      AND ((t.settled_at IS NULL) <> (s.amount IS NULL) OR s.amount <> t.held_micro_usd
           OR s.captured <> t.captured_micro_usd)
   UNION ALL
   SELECT 'what a report has beyond its hold is the operator''s cost', coalesce(t.id, o.task_id),
          format('due %s, held %s, captured %s, booked %s', t.due_micro_usd, t.held_micro_usd, t.captured_micro_usd,
                 o.at_most_micro_usd)
     FROM (SELECT * FROM text_calls WHERE due_micro_usd IS NOT NULL) t
     FULL JOIN (SELECT * FROM operator_costs WHERE reason = 'hold_exceeded') o ON o.task_id = t.id
    WHERE t.id IS NULL OR o.task_id IS NULL OR t.captured_micro_usd <> t.held_micro_usd
       OR o.at_most_micro_usd <> t.due_micro_usd - t.held_micro_usd`,
);

const counters = rules(
  'counters',
  `WITH counted AS (
     SELECT account_id, count(*) AS total, count(*) FILTER (WHERE completed_at IS NULL) AS open
       FROM tasks GROUP BY account_id),
   streams AS (
     SELECT account_id, count(*) AS open FROM text_calls WHERE settled_at IS NULL GROUP BY account_id)
   SELECT 'running slots are those of open tasks' AS rule, c.account_id AS subject,
          format('running %s, queued %s, open tasks %s', c.running, c.queued, coalesce(n.open, 0)) AS detail
     FROM account_counters c LEFT JOIN counted n USING (account_id)
    WHERE c.running + c.queued <> coalesce(n.open, 0)
   UNION ALL
   SELECT 'every task is counted once', c.account_id,
          format('counted %s, there are %s', c.tasks_total, coalesce(n.total, 0))
     FROM account_counters c LEFT JOIN counted n USING (account_id)
    WHERE c.tasks_total <> coalesce(n.total, 0)
   UNION ALL
   SELECT 'text streams are the calls that are not settled', c.account_id,
          format('counted %s, there are %s', c.text_streams, coalesce(t.open, 0))
     FROM account_counters c LEFT JOIN streams t USING (account_id)
    WHERE c.text_streams <> coalesce(t.open, 0)`,
);

/** What counts against a cap is what was held and not released, on the UTC day of the hold and in total. */
const spendCaps = rules(
  'spend_caps',
  `WITH spent AS (
     SELECT u.cap_id, to_char(h.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
            h.amount_micro_usd - coalesce(r.amount_micro_usd, 0) AS amount
       FROM (SELECT id, spend_cap_ids FROM ${ALL_TASKS} UNION ALL SELECT id, spend_cap_ids FROM text_calls) t
      CROSS JOIN LATERAL unnest(t.spend_cap_ids) AS u (cap_id)
       JOIN spend_caps c ON c.id = u.cap_id
       JOIN ledger_entries h ON h.kind = 'hold' AND h.reference = t.id
       LEFT JOIN ledger_entries r ON r.kind = 'release' AND r.reference = t.id
      WHERE t.spend_cap_ids IS NOT NULL
      UNION ALL
     SELECT p.cap_id, to_char(p.day, 'YYYY-MM-DD'), p.spent_micro_usd
       FROM pruned_text_spend p JOIN spend_caps c ON c.id = p.cap_id),
   expected AS (
     SELECT cap_id, p.period, sum(amount) AS amount
       FROM spent CROSS JOIN LATERAL (VALUES (day), ('total')) AS p (period) GROUP BY cap_id, p.period)
   SELECT 'spend caps count what was held and not released' AS rule, format('%s %s', cap_id, period) AS subject,
          format('counted %s, entries %s', coalesce(p.spent_micro_usd, 0), coalesce(e.amount, 0)) AS detail
     FROM expected e FULL JOIN spend_periods p USING (cap_id, period)
    WHERE coalesce(e.amount, 0) <> coalesce(p.spent_micro_usd, 0)`,
);

const storage = rules(
  'storage',
  `WITH booked AS (
     SELECT reference, account_id, sum(amount_micro_usd) FILTER (WHERE kind = 'hold') AS held,
            sum(amount_micro_usd) FILTER (WHERE kind = 'capture') AS captured
       FROM ledger_entries
      WHERE kind IN ('hold', 'capture') AND starts_with(reference, 'storage:') GROUP BY reference, account_id),
   metered AS (
     SELECT format('storage:%s:%s', account_id, to_char(day, 'YYYY-MM-DD')) AS reference, account_id, paid_micro_usd
       FROM storage_days),
   kept AS (
     SELECT account_id, sum(size_bytes) AS bytes
       FROM (SELECT account_id, size_bytes FROM storage_periods WHERE ended_at IS NULL
             UNION ALL
             SELECT account_id, size_bytes FROM outputs WHERE pending_since IS NOT NULL) k
      GROUP BY account_id)
   SELECT 'a day of storage is held and captured as it was metered' AS rule, reference AS subject,
          format('metered %s, held %s, captured %s', coalesce(m.paid_micro_usd, 0), coalesce(b.held, 0),
                 coalesce(b.captured, 0)) AS detail
     FROM metered m FULL JOIN booked b USING (reference, account_id)
    WHERE coalesce(m.paid_micro_usd, 0) <> coalesce(b.held, 0)
       OR coalesce(m.paid_micro_usd, 0) <> coalesce(b.captured, 0)
   UNION ALL
   SELECT 'persistent bytes are those of open periods and pending promotions', c.account_id,
          format('counted %s, there are %s', c.persistent_bytes, coalesce(k.bytes, 0))
     FROM account_counters c LEFT JOIN kept k USING (account_id)
    WHERE c.persistent_bytes <> coalesce(k.bytes, 0)`,
);

/** The rules in the order in which violations are reported: sums first, then their components. */
const LEDGER_RULES: readonly Statement[] = [
  balances,
  lastEntries,
  counters,
  spendCaps,
  storage,
  tasks,
  textCalls,
  entries,
  succession,
];
