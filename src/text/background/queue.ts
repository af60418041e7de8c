/**
 * The queue of text calls in the background: one for each account, in order of arrival, in which the lines of batches
 * are behind all responses. A call that is not admitted is not attempted. As many are admitted as may use half of the
 * account's concurrent calls, and as many responses whatever lines there are, which may wait for long; one that ends
 * admits the next. The half itself is enforced where a call is held (money/move.ts), because other
 * calls of the account come and go meanwhile: an admitted call begins once there is room for it and for those before
 * it.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { backgroundCap } from '../money/text-call.ts';

/** How long a call that cannot begin is tried again. */
export const WAITS_HOURS = 24;

const WAITED_TOO_LONG = `created_at < now() - make_interval(hours => ${WAITS_HOURS})`;

const lockQueue: Statement = {
  name: 'lock_background_calls',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('background_calls:' || $1::text, 0))`,
};

/**
 * Lets a transaction change the queue of an account alone. It waits with its connection, and so has to be one of those
 * that the account may have (limits/row-databases.ts).
 */
export async function lockBackgroundQueue(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(lockQueue, [accountId]);
}

/** Where a call is in the queue of its account. */
export const placeOf = (call: string): string =>
  `(${call}.batch_id IS NOT NULL, ${call}.created_at, coalesce(${call}.line, 0), ${call}.id)`;

/** Those of the account that may be admitted. One that has waited for as long as it may is, and then fails. */
const nextOf = (calls: string, room: string): string =>
  `SELECT id FROM background_calls
    WHERE account_id = $1 AND ended_at IS NULL AND NOT is_admitted AND ${calls}
    ORDER BY created_at, line, id
    LIMIT (SELECT greatest(${room}, (
                    SELECT count(*) FROM background_calls
                     WHERE account_id = $1 AND ended_at IS NULL AND NOT is_admitted AND ${calls} AND ${WAITED_TOO_LONG}))
             FROM room)
      FOR NO KEY UPDATE SKIP LOCKED`;

const admit: Statement = {
  name: 'admit_background_calls',
  text: `WITH room AS (
           SELECT ${backgroundCap.sql('c.text_streams_cap')} - a.responses AS responses,
                  ${backgroundCap.sql('c.text_streams_cap')} - a.calls AS calls
             FROM account_counters c,
                  (SELECT count(*) AS calls, count(*) FILTER (WHERE batch_id IS NULL) AS responses
                     FROM background_calls WHERE account_id = $1 AND ended_at IS NULL AND is_admitted) a
            WHERE c.account_id = $1),
         responses AS (
           ${nextOf('batch_id IS NULL', 'responses')}),
         lines AS (
           ${nextOf('batch_id IS NOT NULL', 'calls - (SELECT count(*) FROM responses)')}),
         next AS (
           SELECT id FROM responses UNION ALL SELECT id FROM lines)
         UPDATE background_calls b SET is_admitted = true, due_at = now() FROM next n WHERE b.id = n.id`,
};

/** Admits the calls that are next, in a transaction that has locked the queue. */
export async function admitNext(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(admit, [accountId]);
}

const selectWaiting: Statement = {
  name: 'select_accounts_with_waiting_background_calls',
  text: `SELECT DISTINCT account_id AS "accountId" FROM background_calls w
          WHERE ended_at IS NULL AND NOT is_admitted
            AND ($1::text IS NULL OR account_id = (SELECT account_id FROM background_calls WHERE id = $1))`,
};

/**
 * Admits what is next in the queue of the account of a call that has ended, or in all queues: a process may have died
 * before it did, or a limit was raised.
 */
export async function admitWaiting(
  { database, accountDatabase }: { readonly database: Queryable; readonly accountDatabase: AccountDatabase },
  endedId?: string,
): Promise<void> {
  const accounts = await database.query<{ accountId: string }>(selectWaiting, [endedId ?? null]);
  for (const { accountId } of accounts) {
    await accountDatabase(accountId).transaction(async (transaction) => {
      await lockBackgroundQueue(transaction, accountId);
      await admitNext(transaction, accountId);
    });
  }
}

const selectRoom: Statement = {
  name: 'select_room_for_background_call',
  text: `SELECT c.text_streams + (
                  SELECT count(*) FROM background_calls e
                   WHERE e.account_id = b.account_id AND e.ended_at IS NULL AND e.is_admitted AND NOT e.is_running
                     AND ${placeOf('e')} < ${placeOf('b')}
                     AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = e.id AND t.settled_at IS NULL))
                  < ${backgroundCap.sql('c.text_streams_cap')}
                  OR b.${WAITED_TOO_LONG}
                  OR EXISTS (SELECT FROM text_calls t WHERE t.id = b.id AND t.settled_at IS NULL) AS "hasRoom"
           FROM background_calls b JOIN account_counters c ON c.account_id = b.account_id
          WHERE b.id = $1 AND b.ended_at IS NULL`,
};

/**
 * Whether an admitted call may begin: a check that is cheaper than an attempt to hold.
 *
 * @returns undefined if it has ended.
 */
export async function hasRoomFor(database: Queryable, id: string): Promise<boolean | undefined> {
  const [row] = await database.query<{ hasRoom: boolean }>(selectRoom, [id]);
  return row?.hasRoom;
}
