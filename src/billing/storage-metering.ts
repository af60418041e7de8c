/**
 * The metering of persistent storage (contract §5, §7 "Money"): for each account and each UTC day that has ended, how
 * many bytes were stored for how long, what that costs, and as much of it as is available. Byte-microseconds are exact
 * integers; the price is rounded up once, to the micro, per account and day. When storage was stored is recorded as
 * periods (`storage_periods`), so that it does not matter when or how often this runs.
 */
import type { Database, Queryable, Statement } from '../database/database.ts';
import { inOrder } from '../database/failing-items.ts';
import type { Isolation } from '../database/failing-items.ts';
import { IS_WALLET, lockAccountAndWallet } from '../accounts/wallet.ts';

const BYTES_PER_GB = 1_000_000_000n;
const MS_PER_DAY = 86_400_000;
const MICROSECONDS_PER_DAY = 86_400_000_000n;

/**
 * A day is metered only this long after it ended: what was begun in its last moment has been committed by then (no
 * statement of ours takes longer than 15 s).
 */
const LATE_COMMIT_MS = 60_000;

/** An output unpaid for this long returns to `temp` (contract §5). */
export const UNPAID_DAYS = 7;

/**
 * What keeping bytes costs.
 *
 * @param byteMicroseconds bytes times microseconds. @param priceMicroUsdPerGbMonth the price of 1e9 bytes for a month.
 * @param at any moment of the UTC month whose length counts, in milliseconds since 1970.
 * @returns micro-USD, rounded up.
 */
export function storageCost(byteMicroseconds: bigint, priceMicroUsdPerGbMonth: bigint, at: number): bigint {
  const date = new Date(at);
  const daysOfMonth = BigInt(new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate());
  const whole = BYTES_PER_GB * daysOfMonth * MICROSECONDS_PER_DAY;
  return (byteMicroseconds * priceMicroUsdPerGbMonth + whole - 1n) / whole;
}

/** What one day of keeping this many bytes costs in the month of `at`. */
export function storageCostOfDay(sizeBytes: number, priceMicroUsdPerGbMonth: bigint, at: number): bigint {
  return storageCost(BigInt(sizeBytes) * MICROSECONDS_PER_DAY, priceMicroUsdPerGbMonth, at);
}

/** An account with days that are still to be metered, from this one on (`2026-11-21`). */
interface DueAccount {
  readonly accountId: string;
  readonly fromDay: string;
}

/**
 * Days are metered in order, so that everything up to the last one is done. Days without storage have no row. Of each
 * account the periods that are open, or ended after its last metered day, are found by index: the others only grow.
 */
const selectDue: Statement = {
  name: 'select_accounts_to_meter',
  text: `SELECT a.account_id AS "accountId",
                to_char(greatest(f.first AT TIME ZONE 'UTC', coalesce(m.last + 1, '-infinity')), 'YYYY-MM-DD') AS "fromDay"
           FROM account_counters a
           LEFT JOIN LATERAL (SELECT max(day) AS last FROM storage_days s WHERE s.account_id = a.account_id) m ON true
           JOIN LATERAL (
                SELECT min(p.began_at) AS first
                  FROM (SELECT began_at FROM storage_periods WHERE account_id = a.account_id AND ended_at IS NULL
                        UNION ALL
                        SELECT began_at FROM storage_periods
                         WHERE account_id = a.account_id
                           AND ended_at > coalesce((m.last + 1)::timestamp AT TIME ZONE 'UTC', '-infinity')) p
                 WHERE p.began_at < ($1::date + 1)::timestamp AT TIME ZONE 'UTC') f ON f.first IS NOT NULL
          WHERE m.last IS NULL OR m.last < $1::date
          ORDER BY a.account_id`,
};

/** An interval of at most a day: its epoch is exact, in microseconds. */
const selectStored: Statement = {
  name: 'select_kept_bytes_of_day',
  text: `SELECT coalesce(sum(p.size_bytes::numeric * (1000000 * extract(epoch FROM
                  least(coalesce(p.ended_at, 'infinity'), d.ends) - greatest(p.began_at, d.begins)))::bigint), 0)::text
                  AS "byteMicroseconds"
           FROM storage_periods p,
                (SELECT $2::date::timestamp AT TIME ZONE 'UTC' AS begins,
                        ($2::date + 1)::timestamp AT TIME ZONE 'UTC' AS ends) d
          WHERE p.account_id = $1 AND p.began_at < d.ends AND (p.ended_at IS NULL OR p.ended_at > d.begins)`,
};

/**
 * A statement of its own, before the one that books: a balance that grew while that waited for a row would be checked
 * against its constraint with what was taken from the new balance, and the old one to take it from.
 */
const lockCounters: Statement = {
  name: 'lock_counters_to_meter',
  text: lockAccountAndWallet('1'),
};

/**
 * One statement: the day's row, the counters and both entries, or nothing if the day was metered before. A hold and
 * its capture, so that holds are captures plus releases for storage too.
 */
const bookDay: Statement = {
  name: 'book_storage_day',
  text: `WITH metered AS (
           INSERT INTO storage_days (account_id, day, byte_seconds, due_micro_usd, paid_micro_usd)
           SELECT c.account_id, $2::date, $3::numeric / 1000000, $4::bigint, least($4::bigint, w.available_micro_usd)
             FROM account_counters c JOIN account_counters w ON ${IS_WALLET} WHERE c.account_id = $1
           ON CONFLICT (account_id, day) DO NOTHING
           RETURNING account_id, due_micro_usd AS due, paid_micro_usd AS paid),
         paid AS (
           UPDATE account_counters w SET available_micro_usd = w.available_micro_usd - m.paid
             FROM metered m JOIN account_counters c USING (account_id) WHERE ${IS_WALLET} AND m.paid > 0
        RETURNING c.account_id, c.wallet_id, w.available_micro_usd AS available, w.held_micro_usd AS held, m.paid),
         entries AS (
           INSERT INTO ledger_entries (account_id, wallet_id, kind, reference, amount_micro_usd,
                                       available_after_micro_usd, held_after_micro_usd)
           SELECT p.account_id, p.wallet_id, e.kind, concat_ws(':', 'storage', p.account_id, $2), p.paid, p.available,
                  p.held + CASE e.kind WHEN 'hold' THEN p.paid ELSE 0 END
             FROM paid p, (VALUES (1, 'hold'), (2, 'capture')) AS e (place, kind)
            ORDER BY e.place)
         SELECT 1 FROM metered`,
};

export interface MeteringOptions {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The price of 1e9 bytes stored for a month, in micro-USD. */
  readonly priceMicroUsdPerGbMonth: bigint;
  /** Called after each day of each account; an error that it throws ends that account's turn. */
  readonly onDay?: () => void;
  /** Isolates accounts: one that cannot be metered stops no other. */
  readonly isolate?: Isolation;
}

/**
 * Meters every ended UTC day of every account that was not metered yet. Safe to run twice and at the same moment.
 *
 * @returns how many days were booked.
 */
export async function meterStorage(database: Database, options: MeteringOptions): Promise<number> {
  const lastDay = lastMeterableDay(options.now);
  const { isolate = inOrder, priceMicroUsdPerGbMonth, onDay } = options;
  let booked = 0;
  await isolate({
    kind: 'storage_metering',
    items: await database.query<DueAccount>(selectDue, [lastDay]),
    idOf: ({ accountId }) => accountId,
    // Days in their order: one that failed is metered again before those after it.
    async work({ accountId, fromDay }) {
      for (let day = fromDay; day <= lastDay; day = dayAfter(day)) {
        if (await meterDay(database, accountId, day, priceMicroUsdPerGbMonth)) booked += 1;
        onDay?.();
      }
    },
  });
  return booked;
}

async function meterDay(
  database: Database,
  accountId: string,
  day: string,
  priceMicroUsdPerGbMonth: bigint,
): Promise<boolean> {
  const [stored] = await database.query<{ byteMicroseconds: string }>(selectStored, [accountId, day]);
  const byteMicroseconds = BigInt(stored?.byteMicroseconds ?? '0');
  if (byteMicroseconds === 0n) return false;
  const due = storageCost(byteMicroseconds, priceMicroUsdPerGbMonth, Date.parse(day));
  return database.transaction(async (transaction) => {
    await transaction.query(lockCounters, [accountId]);
    const rows = await transaction.query(bookDay, [accountId, day, byteMicroseconds, due]);
    return rows.length === 1;
  });
}

const selectUnpaid: Statement = {
  name: 'select_accounts_with_unpaid_storage',
  text: `SELECT account_id AS "accountId" FROM storage_days
          WHERE paid_micro_usd < due_micro_usd AND day > $1::date - $2::integer AND day <= $1::date
          GROUP BY account_id HAVING count(*) = $2::integer`,
};

/** Accounts that could not pay all of their storage on any of the last seven ended days. @param now milliseconds. */
export async function listUnpaidAccounts(database: Queryable, now: number): Promise<readonly string[]> {
  const rows = await database.query<{ accountId: string }>(selectUnpaid, [lastMeterableDay(now), UNPAID_DAYS]);
  return rows.map((row) => row.accountId);
}

function lastMeterableDay(now: number): string {
  return dayOf(now - LATE_COMMIT_MS - MS_PER_DAY);
}

/** The UTC day of a moment: `2026-11-21`. */
function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function dayAfter(day: string): string {
  return dayOf(Date.parse(day) + MS_PER_DAY);
}
