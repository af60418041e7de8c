/**
 * Receivers of an account that do not accept its callbacks (contract §6): since when every delivery to one was given
 * up, which is reported to its account, and for how long before deliveries to it get one attempt instead of the whole
 * schedule.
 *
 * A row exists from the first delivery that is given up until one arrives. One to which nothing was sent for a week
 * is deleted: the URL may be long out of use.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { MAX_LISTED_RECEIVERS } from '@darkroom/api/facts/limits';

/** A failing receiver, as it is reported to its account. */
export interface FailingReceiver {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly failingSince: Date;
  readonly lastFailedAt: Date;
  /** The HTTP status of the last attempt; null if there was no response, which the error class then explains. */
  readonly lastHttpStatus: number | null;
  readonly lastErrorClass: 'tls' | 'timeout' | 'unreachable' | null;
  /** Deliveries given up since then. */
  readonly givenUp: number;
}

/** How the last attempt of a delivery ended that was given up. */
interface LastAttempt {
  readonly httpStatus?: number;
  readonly errorClass?: 'tls' | 'timeout' | 'unreachable';
}

/** How long after its last failure a receiver is kept. SQL, because every query of the table needs it. */
const REMEMBERED = `interval '7 days'`;

/** How many receivers of the account `k.account_id` fail: read with its keys (authenticate.ts), never by itself. */
export const FAILING_RECEIVERS_OF_KEY = `(SELECT count(*)::integer FROM callback_receivers r
                  WHERE r.account_id = k.account_id AND r.last_failed_at > now() - ${REMEMBERED})`;

const upsertFailed: Statement = {
  name: 'receiver_failed',
  text: `WITH forgotten AS (
           DELETE FROM callback_receivers
            WHERE account_id = $1 AND origin <> $2 AND last_failed_at <= now() - ${REMEMBERED})
         INSERT INTO callback_receivers AS r
                (account_id, origin, failing_since, last_failed_at, last_http_status, last_error_class)
         VALUES ($1, $2, now(), now(), $3, $4)
         ON CONFLICT (account_id, origin) DO UPDATE
            SET failing_since = CASE WHEN r.last_failed_at > now() - ${REMEMBERED} THEN r.failing_since ELSE now() END,
                given_up = CASE WHEN r.last_failed_at > now() - ${REMEMBERED} THEN r.given_up + 1 ELSE 1 END,
                last_failed_at = now(), last_http_status = $3, last_error_class = $4`,
};

/** A delivery was given up, in the transaction that records it for the callback. */
export async function recordReceiverFailure(
  transaction: Queryable,
  accountId: string,
  origin: string,
  { httpStatus, errorClass }: LastAttempt,
): Promise<void> {
  await transaction.query(upsertFailed, [accountId, origin, httpStatus ?? null, errorClass ?? null]);
}

const deleteFailed: Statement = {
  name: 'receiver_answered',
  text: 'DELETE FROM callback_receivers WHERE account_id = $1 AND origin = $2',
};

/** A delivery arrived there: the failures are cleared. */
export async function recordReceiverAnswer(database: Queryable, accountId: string, origin: string): Promise<void> {
  await database.query(deleteFailed, [accountId, origin]);
}

const selectFailing: Statement = {
  name: 'select_failing_receivers',
  text: `SELECT origin, failing_since AS "failingSince", last_failed_at AS "lastFailedAt",
                last_http_status AS "lastHttpStatus", last_error_class AS "lastErrorClass", given_up AS "givenUp"
           FROM callback_receivers
          WHERE account_id = $1 AND ($2::text IS NULL OR origin = $2) AND last_failed_at > now() - ${REMEMBERED}
          ORDER BY failing_since, origin LIMIT ${MAX_LISTED_RECEIVERS}`,
};

/** Lists failing receivers, the longest failing first; or only the one that is named, if it fails. */
export async function listFailingReceivers(
  database: Queryable,
  accountId: string,
  origin?: string,
): Promise<readonly FailingReceiver[]> {
  return database.query<FailingReceiver>(selectFailing, [accountId, origin ?? null]);
}

/**
 * Whether deliveries to a receiver get one attempt only.
 *
 * @param afterDays of nothing but failures; 0: never.
 * @param now milliseconds since 1970.
 */
export function isReduced({ failingSince }: FailingReceiver, afterDays: number, now: number): boolean {
  return afterDays > 0 && now - failingSince.getTime() >= afterDays * 86_400_000;
}
