/**
 * Token buckets in memory whose tokens are leased from PostgreSQL (contract §7, stack.md "rate limits"): a tenth of a
 * minute's tokens at a time, so that any number of processes share one limit and hardly a request asks the database.
 *
 * A lease keeps its place in the bucket until its process takes the next one, or a minute is over: tokens in the bucket
 * and tokens in other processes' leases are together never more than a minute's, however many processes there are. What
 * a process did not use within a tenth of a minute it uses no more; it returns that with its next lease. The lease of
 * the process that asks has no place any more: while it was unused the bucket filled up behind it, so that in a moment
 * at most one lease more than a minute's tokens can be used, which is the tenth that the limit may be exceeded by.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../database/database.ts';
import type { Budget, RateLimiter } from './rate-limiter.ts';

/** Of the tokens of a minute, and of the minute. */
const LEASE_SHARE = 10;
const LEASE_MS = 60_000 / LEASE_SHARE;
/** A process that was not heard of for this long has died, or has nothing to return: its place is filled again. */
const FORGIVEN_SECONDS = 60;
/** A machine whose clock is further ahead than this is wrong: nobody else waits until that time has come. */
const WRONG_CLOCK_SECONDS = 60;
/** Some 200 B each: bounds what a flood of addresses can occupy. Whoever is forgotten loses a lease at most. */
const REMEMBERED_BUDGETS = 20_000;

/**
 * Refills by the time that passed, takes back what is returned, and gives out whole tokens, as many as there are. What is
 * returned counts only as long as the lease it comes from has its place. What was spent beyond a lease is below 0 and counts always.
 *
 * $1 budget, $2 its tokens per minute, $3 tokens wanted, $4 tokens returned, $5 process, $6 Unix seconds.
 */
const leaseTokens: Statement = {
  name: 'lease_rate_tokens',
  text: `INSERT INTO rate_buckets AS b (id, tokens, leases, updated_at)
         SELECT $1, fresh.free - fresh.tokens,
                jsonb_build_object($5::text, jsonb_build_array(fresh.tokens, $6::float8)), to_timestamp($6::float8)
           FROM (SELECT full_bucket.free, least($3::float8, full_bucket.free) AS tokens
                   FROM (SELECT greatest(0, $2::float8 + least($4::float8, 0)) AS free) AS full_bucket) AS fresh
         ON CONFLICT (id) DO UPDATE SET (tokens, leases, updated_at) = (
           SELECT given.free - given.tokens,
                  given.others || jsonb_build_object($5::text, jsonb_build_array(given.tokens, $6::float8)),
                  least(greatest(b.updated_at, to_timestamp($6::float8)), to_timestamp($6::float8 + ${WRONG_CLOCK_SECONDS}))
             FROM (SELECT coalesce(jsonb_object_agg(l.key, l.value) FILTER (WHERE l.key <> $5::text), '{}') AS others,
                          coalesce(sum((l.value ->> 0)::float8) FILTER (WHERE l.key <> $5::text), 0) AS lent,
                          coalesce(sum((l.value ->> 0)::float8) FILTER (WHERE l.key = $5::text), 0) AS own
                     FROM jsonb_each(b.leases) l
                    WHERE (l.value ->> 1)::float8 > $6::float8 - ${FORGIVEN_SECONDS}) AS held,
                  LATERAL (SELECT greatest(0, least($2::float8 - held.lent, b.tokens + least($4::float8, held.own)
                             + $2::float8 * greatest($6::float8 - extract(epoch FROM b.updated_at), 0) / 60)) AS free)
                    AS bucket,
                  LATERAL (SELECT held.others, bucket.free, least($3::float8, floor(bucket.free)) AS tokens) AS given)
         RETURNING tokens, (leases -> $5::text ->> 0)::float8 AS leased`,
};

/** What this process knows of a budget. */
interface Holding {
  /** Whole tokens of the lease that are not used yet; below 0 where more were spent than there were. */
  tokens: number;
  /** After this the rest of the lease is returned before another is taken; milliseconds since 1970. */
  leaseEndsAt: number;
  /** What the database had left when it was last asked, and when that was: undefined before. */
  left: number;
  askedAt: number | undefined;
  /** A lease under way, which every request that finds no token waits for. */
  leasing: Promise<void> | undefined;
  /** How many tokens are waited for. */
  waiting: number;
}

/** @param now milliseconds since 1970. */
export function createLeasedRateLimiter(options: {
  readonly database: Queryable;
  readonly now: () => number;
}): RateLimiter {
  const { database, now } = options;
  const processId = randomUUID();
  const holdings = new LRUCache<string, Holding>({ max: REMEMBERED_BUDGETS });

  const holdingOf = ({ id, perMinute }: Budget): Holding => {
    const known = holdings.get(id);
    if (known !== undefined) return known;
    const holding = {
      tokens: 0,
      leaseEndsAt: 0,
      left: perMinute,
      askedAt: undefined,
      leasing: undefined,
      waiting: 0,
    };
    holdings.set(id, holding);
    return holding;
  };

  const lease = async (budget: Budget, holding: Holding): Promise<void> => {
    // Whoever asks in this very moment has a share in this lease.
    await Promise.resolve();
    const wanted = Math.max(Math.ceil(budget.perMinute / LEASE_SHARE), holding.waiting);
    const returned = holding.tokens;
    holding.tokens = 0;
    const askedAt = now();
    const [row] = await database
      .query<{ leased: number; tokens: number }>(leaseTokens, [
        budget.id,
        budget.perMinute,
        wanted,
        returned,
        processId,
        askedAt / 1000,
      ])
      .catch((error: unknown) => {
        // What was spent stays spent. Unused tokens are not put back: the database may have taken them.
        holding.tokens += Math.min(0, returned);
        throw error;
      });
    holding.tokens += row?.leased ?? 0;
    holding.left = row?.tokens ?? 0;
    holding.askedAt = askedAt;
    holding.leaseEndsAt = now() + LEASE_MS;
  };

  /** Tokens that the database has by now, as far as is known here. */
  const estimatedLeft = (budget: Budget, holding: Holding): number => {
    if (holding.askedAt === undefined) return budget.perMinute;
    const refilled = (budget.perMinute * Math.max(0, now() - holding.askedAt)) / 60_000;
    return Math.min(budget.perMinute, holding.left + refilled);
  };

  const untilThereAre = (tokens: number, budget: Budget, holding: Holding): number => {
    const missing = tokens - holding.tokens - estimatedLeft(budget, holding);
    return Math.max(1, Math.ceil((missing * 60) / budget.perMinute));
  };

  return {
    async take(budget, tokens = 1) {
      const holding = holdingOf(budget);
      for (;;) {
        if (holding.tokens >= tokens && now() < holding.leaseEndsAt) {
          holding.tokens -= tokens;
          return 0;
        }
        if (holding.leasing === undefined) {
          // There were too few a moment ago: asking again before they are back would bring nothing.
          const isEmpty = holding.tokens < tokens && holding.tokens + estimatedLeft(budget, holding) < tokens;
          if (isEmpty) return untilThereAre(tokens, budget, holding);
          holding.leasing = lease(budget, holding).finally(() => {
            holding.leasing = undefined;
          });
        }
        holding.waiting += tokens;
        await holding.leasing.finally(() => {
          holding.waiting -= tokens;
        });
      }
    },
    giveBack(budget) {
      holdingOf(budget).tokens += 1;
    },
    spend(budget, tokens) {
      holdingOf(budget).tokens -= tokens;
    },
    state(budget) {
      const holding = holdingOf(budget);
      const have = Math.max(0, Math.min(budget.perMinute, holding.tokens + estimatedLeft(budget, holding)));
      return {
        limit: budget.perMinute,
        remaining: Math.floor(have),
        resetAt: Math.ceil(now() / 1000 + ((budget.perMinute - have) * 60) / budget.perMinute),
      };
    },
  };
}
