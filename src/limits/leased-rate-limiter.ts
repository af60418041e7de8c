/**
 * Token buckets in memory whose tokens are leased from PostgreSQL (contract §7, docs/decisions/0015), so that any
 * number of processes share one limit and a process that serves many requests hardly ever queries the database.
 *
 * At most 1.1 minutes' worth of tokens can be used at any moment. A lease has the tokens that waiting requests need,
 * and spare tokens for the next ones: all processes with a live lease share a tenth of a minute's tokens as spare
 * ones. If many processes share a small limit, there are none, and each request queries the database. A process that
 * does not use its spare tokens takes fewer the next time. If a request needs more than there is, the process gets
 * nothing: the remaining tokens stay in the bucket, for its retry at any process.
 *
 * Spare tokens are used within a tenth of a minute, or returned with the next lease, or lost if that is some
 * seconds later. Until then they count against the capacity of the bucket, so that it and all leases together never
 * have more than a minute's tokens. The lease of the requesting process no longer counts: while it was unused the
 * bucket filled up behind it, which is the tenth by which a limit may be exceeded.
 *
 * What is spent beyond a lease is written to the bucket at once, which is below 0 then: every process waits until
 * time has paid it.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Queryable, Statement } from '../database/database.ts';
import type { Budget, RateLimiter } from './rate-limiter.ts';

/** The fraction of a minute's tokens in one lease, and of the minute for which it is valid. */
const LEASE_SHARE = 10;
const LEASE_MS = 60_000 / LEASE_SHARE;
/**
 * For this long a lease counts against the capacity, and can be returned. It is longer than the tokens may be used,
 * so that neither clocks nor responses have to be exact.
 */
const LIVE_SECONDS = LEASE_MS / 1000 + 4;
/** A bucket whose time is further in the future than this was written with a wrong clock: no request waits for that. */
const WRONG_CLOCK_SECONDS = 60;
/**
 * The longest time before a process that found a bucket empty queries it again, regardless of the number of processes.
 */
const MOST_PAUSE_MS = 1_000;
/**
 * The most that can be spent beyond the available tokens, in minutes of the limit. It is above what responses that all
 * started within the limit can use (100 streams of 32,000 tokens are 3.2 minutes of the default), and absurd reports
 * from an upstream do not lock an account out for longer.
 */
const MOST_DEBT_MINUTES = 5;
/**
 * The maximum number of budgets in memory, some 200 B each. It bounds the memory that a flood of IP addresses can
 * occupy. An evicted budget loses one lease at most.
 */
const REMEMBERED_BUDGETS = 20_000;

/**
 * SQL: what the waiting requests need, the smallest first, as many of them as there are tokens for; and what all
 * need.
 */
const NEEDED = `(SELECT coalesce(max(s) FILTER (WHERE s <= bucket.free), 0) AS tokens, coalesce(max(s), 0) AS most
                   FROM unnest($3::float8[]) AS s) AS needed`;

/** SQL: what is given out. If a request is rejected nothing is to spare: its retry may reach another process. */
function givenTo(processes: string): string {
  return `(SELECT CASE WHEN needed.tokens < needed.most THEN needed.tokens
                       ELSE greatest(needed.tokens, least($7::float8, floor($2::float8 / (${LEASE_SHARE} * (${processes}))),
                                                          floor(bucket.free))) END AS tokens) AS given`;
}

/**
 * Refills by the time that passed, takes back what is returned, and gives out whole tokens: what is needed, as far as
 * it is enough for a request, and this process's share of the spare tokens. What is returned counts only as far as
 * the lease it comes from had as many. What was spent beyond a lease is below 0 and always counts: it is taken from
 * what there was when it was spent, and paid by what has come back since then.
 *
 * A lease is recorded as [tokens to spare, Unix seconds, all tokens].
 *
 * $1 budget, $2 its tokens per minute, $3 what the smallest waiting request needs, the two smallest together and so
 * on, $4 tokens returned, $5 process, $6 Unix seconds (null: the database's clock), $7 the most tokens that this
 * process could use, $8 seconds since tokens were first spent beyond the lease.
 */
const leaseTokens: Statement = {
  name: 'lease_rate_tokens',
  text: `WITH clock AS (SELECT coalesce($6::float8, extract(epoch FROM clock_timestamp())::float8) AS seconds),
         fresh AS (
           SELECT bucket.free, needed.tokens AS needed, given.tokens
             FROM (SELECT greatest(-${MOST_DEBT_MINUTES} * $2::float8,
                                   least($2::float8, $2::float8 + $4::float8 + $2::float8 * $8::float8 / 60)) AS free) AS bucket,
                  LATERAL ${NEEDED},
                  LATERAL ${givenTo('1')})
         INSERT INTO rate_buckets AS b (id, tokens, leases, updated_at)
         SELECT $1, fresh.free - fresh.tokens,
                jsonb_build_object($5::text, jsonb_build_array(fresh.tokens - fresh.needed, clock.seconds, fresh.tokens)),
                to_timestamp(clock.seconds)
           FROM fresh, clock
         ON CONFLICT (id) DO UPDATE SET (tokens, leases, updated_at) = (
           SELECT bucket.free - given.tokens,
                  held.others || jsonb_build_object($5::text,
                    jsonb_build_array(given.tokens - needed.tokens, clock.seconds, given.tokens)),
                  least(greatest(b.updated_at, to_timestamp(clock.seconds)),
                        to_timestamp(clock.seconds + ${WRONG_CLOCK_SECONDS}))
             FROM (SELECT coalesce($6::float8, extract(epoch FROM clock_timestamp())::float8) AS seconds) AS clock,
                  LATERAL (SELECT coalesce(jsonb_object_agg(l.key, l.value) FILTER (WHERE l.key <> $5::text), '{}') AS others,
                          coalesce(sum((l.value ->> 0)::float8) FILTER (WHERE l.key <> $5::text), 0) AS spare,
                          count(*) FILTER (WHERE l.key <> $5::text) AS live,
                          coalesce(sum((l.value ->> 2)::float8) FILTER (WHERE l.key = $5::text), 0) AS own
                     FROM jsonb_each(b.leases) l
                    WHERE (l.value ->> 1)::float8 > clock.seconds - ${LIVE_SECONDS}) AS held,
                  LATERAL (SELECT greatest(0, clock.seconds - extract(epoch FROM b.updated_at)::float8) AS seconds) AS passed,
                  LATERAL (SELECT least($8::float8, passed.seconds) AS seconds) AS owed,
                  LATERAL (SELECT least($2::float8 - held.spare,
                                    b.tokens + $2::float8 * (passed.seconds - owed.seconds) / 60) AS free) AS earlier,
                  LATERAL (SELECT greatest(-${MOST_DEBT_MINUTES} * $2::float8,
                                    least($2::float8 - held.spare, earlier.free + least($4::float8, held.own)
                                      + $2::float8 * owed.seconds / 60)) AS free) AS bucket,
                  LATERAL ${NEEDED},
                  LATERAL ${givenTo('held.live + 1')})
         RETURNING tokens, (leases -> $5::text ->> 2)::float8 AS leased,
                   (SELECT count(*) FROM jsonb_object_keys(leases))::integer AS processes`,
};

/** The state of a budget as far as this process has observed it. */
interface Holding {
  /** Whole tokens of the lease that are not used yet. */
  tokens: number;
  /** The tokens that were spent beyond the lease and are not recorded in the database yet. */
  debt: number;
  /** When the first of the debt was spent, if there is any. */
  debtSince: number;
  /** The most tokens that a lease should have: as many as were used of the previous one. */
  useful: number;
  /** The tokens of the lease when it was taken, to compute how many were used. */
  leased: number;
  /** After this the rest of the lease is returned before another is taken; milliseconds, as `now` counts them. */
  leaseEndsAt: number;
  /**
   * What was left at a moment: the database's value, less the debt since then. Below 0 if more was spent than there
   * was.
   */
  left: number;
  leftAt: number;
  /** The bucket had too few tokens: before this moment, no more than it had is requested from it. */
  emptyUntil: number;
  /** A lease in progress, which every request that finds no token waits for. */
  leasing: Promise<void> | undefined;
  /** How many tokens each request needs that waits for the next lease or for the one in progress. */
  waiting: number[];
}

/** @returns the smallest of some numbers, the sum of the two smallest, and so on. */
function sumsOf(numbers: readonly number[]): readonly number[] {
  let sum = 0;
  return [...numbers].sort((one, other) => one - other).map((each) => (sum += each));
}

/**
 * @param now milliseconds since 1970, from a clock that never goes back.
 * @param bucketNow the clock of the bucket, in the same unit; default: the database's, which all processes share.
 */
export function createLeasedRateLimiter(options: {
  readonly database: Queryable;
  readonly now: () => number;
  readonly bucketNow?: () => number;
}): RateLimiter {
  const { database, now, bucketNow } = options;
  const processId = randomUUID();
  const holdings = new LRUCache<string, Holding>({ max: REMEMBERED_BUDGETS });

  const holdingOf = ({ id, perMinute }: Budget): Holding => {
    const known = holdings.get(id);
    if (known !== undefined) return known;
    const holding: Holding = {
      tokens: 0,
      debt: 0,
      debtSince: 0,
      useful: Infinity,
      leased: 0,
      leaseEndsAt: 0,
      left: perMinute,
      leftAt: now(),
      emptyUntil: 0,
      leasing: undefined,
      waiting: [],
    };
    holdings.set(id, holding);
    return holding;
  };

  const lease = async (budget: Budget, holding: Holding): Promise<void> => {
    // Requests that arrive at this very moment share this lease.
    await Promise.resolve();
    const sums = sumsOf(holding.waiting);
    const needed = sums.at(-1) ?? 0;
    const returned = holding.tokens - holding.debt;
    const requestedAt = now();
    const { debtSince } = holding;
    if (holding.leased > 0) {
      // A lease that was used up before its end has room for more; of another, what was used is what was useful.
      const used = holding.leased - Math.max(0, returned);
      holding.useful = returned > 0 ? used : Math.max(2 * used, 2);
    }
    holding.tokens = 0;
    holding.debt = 0;
    holding.leased = 0;
    const [row] = await database
      .query<{ leased: number; tokens: number; processes: number }>(leaseTokens, [
        budget.id,
        budget.perMinute,
        sums.filter((sum) => sum <= budget.perMinute),
        returned,
        processId,
        bucketNow === undefined ? null : bucketNow() / 1000,
        needed === 0 || needed > budget.perMinute ? 0 : holding.useful,
        returned < 0 ? Math.max(0, requestedAt - debtSince) / 1000 : 0,
      ])
      .catch((error: unknown) => {
        // What was spent stays spent. Unused tokens are not put back: the database may have taken them.
        if (returned < 0) {
          holding.debt -= returned;
          holding.debtSince = debtSince;
        }
        throw error;
      });
    const { leased = 0, tokens: left = 0, processes = 1 } = row ?? {};
    holding.tokens += leased;
    holding.leased = leased;
    holding.left = left - holding.debt;
    holding.leftAt = requestedAt;
    holding.leaseEndsAt = requestedAt + LEASE_MS;
    // Each of these processes queries once in the time in which they all get a token.
    const isEmpty = leased < needed;
    holding.emptyUntil = isEmpty ? requestedAt + Math.min(MOST_PAUSE_MS, (processes * 60_000) / budget.perMinute) : 0;
  };

  const leaseOnce = (budget: Budget, holding: Holding): Promise<void> =>
    (holding.leasing ??= lease(budget, holding).finally(() => {
      holding.leasing = undefined;
      holding.waiting = [];
    }));

  /** Writes a debt to the bucket, where other processes find it: the next requests may all reach them. */
  const shareDebt = async (budget: Budget, holding: Holding): Promise<void> => {
    while (holding.debt > 0) await leaseOnce(budget, holding);
  };

  /** Tokens that the bucket has by now, as far as this process knows. A debt is paid by the time that passes. */
  const estimatedLeft = ({ perMinute }: Budget, { left, leftAt }: Holding): number =>
    Math.min(perMinute, left + (perMinute * Math.max(0, now() - leftAt)) / 60_000);

  const borrow = (budget: Budget, holding: Holding, tokens: number): void => {
    const left = estimatedLeft(budget, holding);
    const borrowed = Math.max(0, Math.min(tokens, left + MOST_DEBT_MINUTES * budget.perMinute));
    holding.left = left - borrowed;
    holding.leftAt = now();
    if (holding.debt === 0) holding.debtSince = now();
    holding.debt += borrowed;
  };

  const spendFrom = (budget: Budget, holding: Holding, tokens: number): void => {
    const leased = Math.min(holding.tokens, tokens);
    holding.tokens -= leased;
    if (leased < tokens) borrow(budget, holding, tokens - leased);
  };

  const waitSecondsFor = (tokens: number, budget: Budget, holding: Holding): number => {
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
          // There were too few a moment ago: a query before they are back would return nothing.
          const isPaused = now() < holding.emptyUntil && holding.tokens + holding.left < tokens;
          const isEmpty = holding.tokens < tokens && holding.tokens + estimatedLeft(budget, holding) < tokens;
          if (isPaused || isEmpty) return waitSecondsFor(tokens, budget, holding);
        }
        holding.waiting.push(tokens);
        await leaseOnce(budget, holding);
      }
    },
    giveBack(budget) {
      holdingOf(budget).tokens += 1;
    },
    spend(budget, tokens) {
      const holding = holdingOf(budget);
      spendFrom(budget, holding, tokens);
      // If the database is not available the debt stays here, and reaches it with the next lease.
      shareDebt(budget, holding).catch(() => undefined);
    },
    spendLocally(budget, tokens) {
      spendFrom(budget, holdingOf(budget), tokens);
    },
    state(budget) {
      const holding = holdingOf(budget);
      const have = Math.min(budget.perMinute, holding.tokens + estimatedLeft(budget, holding));
      return {
        limit: budget.perMinute,
        remaining: Math.max(0, Math.floor(have)),
        resetAt: Math.ceil(now() / 1000 + ((budget.perMinute - have) * 60) / budget.perMinute),
      };
    },
  };
}

const deleteIdle: Statement = {
  name: 'delete_idle_rate_buckets',
  text: 'DELETE FROM rate_buckets WHERE updated_at < $1',
};

/**
 * Deletes the buckets from which nothing was taken since a moment: a bucket that does not exist is full, and one that
 * was left alone for minutes is full as well.
 *
 * @param before milliseconds since 1970.
 */
export async function deleteIdleBuckets(database: Queryable, before: number): Promise<void> {
  await database.query(deleteIdle, [new Date(before)]);
}
