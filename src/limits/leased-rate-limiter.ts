/**
 * Token buckets in memory whose tokens are leased from PostgreSQL (contract §7, stack.md "rate limits"): a tenth of a
 * minute's tokens at a time, so that any number of processes share one limit and hardly a request asks the database.
 * What a process leased and did not use in a tenth of a minute it returns with its next lease.
 */
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../database/database.ts';
import type { Budget, RateLimiter } from './rate-limiter.ts';

/** Of the tokens of a minute, and of the minute. */
const LEASE_SHARE = 10;
const LEASE_MS = 60_000 / LEASE_SHARE;
/** Some 200 B each: bounds what a flood of addresses can occupy. Whoever is forgotten loses a lease at most. */
const REMEMBERED_BUDGETS = 20_000;

/** Refills by the time that passed, takes returned tokens back, and gives out whole ones, as many as there are. */
const REFILLED = `least($2, b.tokens + $4 + $2 * greatest(extract(epoch FROM clock_timestamp() - b.updated_at), 0) / 60)`;
const leaseTokens: Statement = {
  name: 'lease_rate_tokens',
  text: `INSERT INTO rate_buckets AS b (id, tokens, leased, updated_at)
         VALUES ($1, $2::float8 - least($3::float8, $2::float8), least($3::float8, $2::float8), clock_timestamp())
         ON CONFLICT (id) DO UPDATE
            SET leased = least($3::float8, floor(${REFILLED})), tokens = ${REFILLED} - least($3::float8, floor(${REFILLED})),
                updated_at = greatest(clock_timestamp(), b.updated_at)
         RETURNING leased, tokens`,
};

interface Account {
  /** Whole tokens of the lease that are not used yet. */
  tokens: number;
  /** After this the rest of the lease is returned before another is taken; milliseconds since 1970. */
  leaseEndsAt: number;
  /** What the database had left when it was last asked, and when that was. */
  left: number;
  askedAt: number;
  /** A lease under way, which every request that finds no token waits for. */
  leasing: Promise<void> | undefined;
  /** How many requests wait for it. */
  waiting: number;
}

export function createLeasedRateLimiter(options: {
  readonly database: Queryable;
  readonly now: () => number;
}): RateLimiter {
  const { database, now } = options;
  const accounts = new LRUCache<string, Account>({ max: REMEMBERED_BUDGETS });

  const accountOf = ({ id, perMinute }: Budget): Account => {
    const known = accounts.get(id);
    if (known !== undefined) return known;
    const account = { tokens: 0, leaseEndsAt: 0, left: perMinute, askedAt: 0, leasing: undefined, waiting: 0 };
    accounts.set(id, account);
    return account;
  };

  const lease = async (budget: Budget, account: Account): Promise<void> => {
    // Those that begin to wait from here on take another.
    await Promise.resolve();
    const wanted = Math.max(Math.ceil(budget.perMinute / LEASE_SHARE), account.waiting);
    const returned = account.tokens;
    account.tokens = 0;
    const [row] = await database.query<{ leased: number; tokens: number }>(leaseTokens, [
      budget.id,
      budget.perMinute,
      wanted,
      returned,
    ]);
    account.tokens += row?.leased ?? 0;
    account.left = row?.tokens ?? 0;
    account.askedAt = now();
    account.leaseEndsAt = account.askedAt + LEASE_MS;
  };

  /** Tokens that the database has by now, as far as is known here. */
  const estimatedLeft = (budget: Budget, account: Account): number => {
    const refilled = (budget.perMinute * Math.max(0, now() - account.askedAt)) / 60_000;
    return Math.min(budget.perMinute, account.left + (account.askedAt === 0 ? budget.perMinute : refilled));
  };

  const untilNext = (budget: Budget, account: Account): number => {
    const missing = 1 - estimatedLeft(budget, account);
    return Math.max(1, Math.ceil((missing * 60) / budget.perMinute));
  };

  return {
    async take(budget) {
      const account = accountOf(budget);
      for (;;) {
        if (account.tokens >= 1 && now() < account.leaseEndsAt) {
          account.tokens -= 1;
          return 0;
        }
        if (account.leasing === undefined) {
          // The bucket was empty a moment ago: asking again before a token is back would bring nothing.
          if (account.tokens < 1 && estimatedLeft(budget, account) < 1) return untilNext(budget, account);
          account.leasing = lease(budget, account).finally(() => {
            account.leasing = undefined;
          });
        }
        account.waiting += 1;
        await account.leasing.finally(() => {
          account.waiting -= 1;
        });
        if (account.tokens < 1) return untilNext(budget, account);
      }
    },
    giveBack(budget) {
      accountOf(budget).tokens += 1;
    },
    state(budget) {
      const account = accountOf(budget);
      const have = Math.min(budget.perMinute, account.tokens + estimatedLeft(budget, account));
      return {
        limit: budget.perMinute,
        remaining: Math.floor(have),
        resetAt: Math.ceil(now() / 1000 + ((budget.perMinute - have) * 60) / budget.perMinute),
      };
    },
  };
}
