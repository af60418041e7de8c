/**
 * Tokens that are derived from a credential and expire: kept in this process until shortly before they do, obtained
 * once for all who wait for the same, and never stored.
 */
import { LRUCache } from 'lru-cache';

/** A token and how long it is valid from now. */
export interface IssuedToken {
  readonly token: string;
  readonly lifetimeSeconds: number;
}

export interface Tokens {
  /**
   * @param key identifies the credential and everything else that the token depends on.
   * @throws what `issue` throws; the next call issues again.
   */
  get(key: string, issue: () => Promise<IssuedToken>): Promise<string>;
  /**
   * Forgets a token, so that the next call obtains another. One that is younger than a few seconds stays: another one
   * would not be accepted either.
   *
   * @returns whether it was forgotten.
   */
  forget(key: string): boolean;
}

/** A token is replaced this long before it expires, in seconds, or a tenth of its life before: what is shorter. */
const MARGIN_SECONDS = 60;
const YOUNG_MS = 10_000;
const MAX_TOKENS = 500;

/** @param now monotonic milliseconds, for tests. */
export function createTokens(now: () => number = () => performance.now()): Tokens {
  const cache = new LRUCache<string, { token: string; issuedAtMs: number }, () => Promise<IssuedToken>>({
    max: MAX_TOKENS,
    ttlResolution: 0,
    perf: { now },
    async fetchMethod(_key, _stale, { options, context: issue }) {
      const { token, lifetimeSeconds } = await issue();
      const margin = Math.min(MARGIN_SECONDS, lifetimeSeconds / 10);
      options.ttl = Math.max(1, (lifetimeSeconds - margin) * 1_000);
      return { token, issuedAtMs: now() };
    },
  });
  return {
    async get(key, issue) {
      const issued = await cache.forceFetch(key, { context: issue });
      return issued.token;
    },
    forget(key) {
      const known = cache.peek(key);
      if (known === undefined || now() - known.issuedAtMs < YOUNG_MS) return false;
      return cache.delete(key);
    },
  };
}
