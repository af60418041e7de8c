/**
 * How many requests a client may make: the port that requests pass, and what headers report about it (contract §7). Its
 * implementation leases tokens from PostgreSQL (leased-rate-limiter.ts), so that several processes share one limit and
 * no request pays a round trip for it.
 */
import { DarkroomError } from '../domain/darkroom-error.ts';

/** Whose requests are counted, and how many there may be. */
export interface Budget {
  /** `create:<account>`, `read:<account>`, `bytes:<account>`, `auth:<address>`. */
  readonly id: string;
  /** Tokens that come back per minute; as many can be used at once. */
  readonly perMinute: number;
}

/** The state of a budget, as `X-RateLimit-*` reports it. */
export interface BudgetState {
  readonly limit: number;
  /** Whole tokens that are left, as far as this process has observed. */
  readonly remaining: number;
  /** Unix seconds, rounded up: when all tokens are back. */
  readonly resetAt: number;
}

export interface RateLimiter {
  /**
   * Takes the tokens if there are as many, or none.
   *
   * @param tokens whole; default 1. More than a minute's are never there at once.
   * @returns 0, or the whole seconds (1 or more) after which there will be enough.
   */
  take(budget: Budget, tokens?: number): Promise<number>;
  /**
   * Takes tokens that were used already, whether or not there are as many: the next requests wait for them, in every
   * process, and at most for what five minutes bring. Does not wait for the database, and never fails.
   *
   * @param tokens whole, 0 or more.
   */
  spend(budget: Budget, tokens: number): void;
  /** The same if the database is not available: does not query it, and other processes learn of it later. */
  spendLocally(budget: Budget, tokens: number): void;
  /** Returns a token that was taken for a request that costs none: the replay of a key. */
  giveBack(budget: Budget): void;
  /** The state of a budget as this process last observed it; makes no query. */
  state(budget: Budget): BudgetState;
}

/** Too many requests; nothing was done. */
export class RateLimitedError extends DarkroomError {
  override readonly name = 'RateLimitedError';
  override readonly kind = 'rate_limited';
  override readonly retryAfterSeconds: number;
  /** The unit whose limit was exceeded. */
  readonly what: 'requests' | 'tokens' | 'bytes';

  constructor(retryAfterSeconds: number, what: 'requests' | 'tokens' | 'bytes' = 'requests') {
    super(`too many ${what}`);
    this.retryAfterSeconds = retryAfterSeconds;
    this.what = what;
  }

  override get publicMessage(): string {
    return `too many ${this.what}; slow down, and retry after the time in Retry-After`;
  }
}
