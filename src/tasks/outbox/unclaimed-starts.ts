/**
 * Queued tasks whose account has a free slot, and which no launcher claims: a launcher claims and so makes ready what
 * it can deliver (docs/decisions/0011), and where Temporal was never reached there is none. Tasks of accounts at
 * their cap only wait.
 *
 * Since when the slot has been free is not stored, and a busy account has a free one for a moment after each of its
 * tasks. So the age is how long the same start has been found to be next, from one read to the next.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Backlog } from '../../telemetry/metrics-service.ts';

export interface UnclaimedStarts {
  read(database: Queryable): Promise<Backlog>;
}

/**
 * The maximum number of accounts whose next start is tracked, always the same ones. They suffice to measure the age of
 * the queue at a bounded cost.
 */
const FOLLOWED_ACCOUNTS = 1_000;

/** By the partial indexes of the claim: `account_counters_launchable`, `outbox_waiting`. */
const selectUnclaimed: Statement = {
  name: 'select_unclaimed_starts',
  text: `WITH launchable AS MATERIALIZED (
           SELECT account_id, least(queued, running_cap - running) AS starts FROM account_counters WHERE is_launchable)
         SELECT next.id, (SELECT sum(starts) FROM launchable)::integer AS count
           FROM (SELECT account_id FROM launchable ORDER BY account_id LIMIT ${FOLLOWED_ACCOUNTS}) followed
          CROSS JOIN LATERAL (
                SELECT id FROM outbox WHERE account_id = followed.account_id AND NOT is_ready ORDER BY id LIMIT 1) next`,
};

/** @param now milliseconds of a monotonic clock. */
export function createUnclaimedStarts(now: () => number = () => performance.now()): UnclaimedStarts {
  let seenSince: ReadonlyMap<bigint, number> = new Map();
  return {
    async read(database) {
      const rows = await database.query<{ id: bigint; count: number }>(selectUnclaimed);
      const at = now();
      seenSince = new Map(rows.map(({ id }) => [id, seenSince.get(id) ?? at]));
      const oldest = Math.min(at, ...seenSince.values());
      return { count: rows[0]?.count ?? 0, oldestSeconds: (at - oldest) / 1000 };
    },
  };
}
