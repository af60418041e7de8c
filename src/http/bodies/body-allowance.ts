/**
 * How much of request bodies a sender may send: bytes per minute, charged before they are read, and bytes that are in
 * memory at the same moment, its own and those of all senders (contract §1). A sender is an account, or an address
 * where the client is not authenticated. The budget of bytes is separate from that of requests, because a replay of
 * an Idempotency-Key is answered regardless of the rate limit for creating tasks (contract §2).
 */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import type { BodyConfig } from '../../config/config.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import type { Budget, RateLimiter } from '../../limits/rate-limiter.ts';
import { ShareExhaustedError, createTenantShares } from '../../limits/tenant-shares.ts';
import type { Lease, TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import { addressBlock } from '../app/client-address.ts';

const MB = 1_000_000;
/** Tokens of the budget are kilobytes. */
const BYTES_PER_TOKEN = 1_000;
/** The divisor for one account: it may have a quarter of the bytes that all accounts may have in memory. */
const ACCOUNTS_SHARE = 4;
/**
 * What one piece of work counts as at most, as a part of its account's share: more than half, so that there is one such
 * piece at a time, and not all, because requests of the account that never stop hold some.
 */
const MOST_OF_SHARE = 3 / 4;
/**
 * The limits for requests without an account: sign-ins and the callbacks of providers, whose bodies have 256 kB at
 * most.
 */
const UNKNOWN = { perMinute: 60 * MB, inFlight: 32 * MB, inFlightPerAddress: 2 * MB };
const RETRY_AFTER_SECONDS = 2;

/** What the body of one request may still take. */
export interface BodyAllowance {
  /** The sender: an account, or a block of addresses. */
  readonly tenant: string;
  /** Charges bytes to the sender's budget per minute, before they are read. @throws {RateLimitedError} */
  charge(bytes: number): Promise<void>;
  /** Counts the memory that received data takes, held until the release. @throws {ShareExhaustedError} */
  hold(bytes: number): void;
  /** Whether it could hold so much more if nothing else of the sender was in memory: otherwise it never can. */
  canHold(bytes: number): boolean;
  /** Nothing of the body is in memory any more; a second call does nothing. */
  release(): void;
}

export interface BodyAllowances {
  /** What work in the background holds at most for one piece: with more it would wait for ever (json-body.ts). */
  readonly mostAtOnce: number;
  ofAccount(caller: Pick<Caller, 'accountId'>): BodyAllowance;
  ofAddress(request: IncomingMessage): BodyAllowance;
  /** For the admin listener: not charged. */
  ofOperator(): BodyAllowance;
}

export function createBodyAllowances(options: {
  readonly limits: BodyConfig;
  readonly rateLimiter: Pick<RateLimiter, 'take' | 'spendLocally'>;
  readonly clientAddress: (request: IncomingMessage) => string;
  readonly metrics?: ShareMetrics | undefined;
}): BodyAllowances {
  const { limits, rateLimiter, clientAddress, metrics } = options;
  const common = { resource: 'request_bytes', retryAfterSeconds: RETRY_AFTER_SECONDS, metrics } as const;
  const perAccount = (limits.inFlightMb * MB) / ACCOUNTS_SHARE;
  const accounts = createTenantShares({
    ...common,
    capacity: limits.inFlightMb * MB,
    perTenant: perAccount,
    leavesFree: true,
  });
  // Separate, so that clients without an account take nothing from those that have one.
  const addresses = createTenantShares({
    ...common,
    capacity: UNKNOWN.inFlight,
    perTenant: UNKNOWN.inFlightPerAddress,
  });

  const allowance = (shares: TenantShares, most: number, tenant: string, budget?: Budget): BodyAllowance => {
    let lease: Lease | undefined;
    return {
      tenant,
      async charge(bytes) {
        if (budget === undefined || bytes <= 0) return;
        const tokens = Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), budget.perMinute);
        const waitSeconds = await rateLimiter.take(budget, tokens).catch((error: unknown) => {
          // A request can be validated without a database: its bytes are counted in this process meanwhile.
          if (!(error instanceof DatabaseUnavailableError)) throw error;
          rateLimiter.spendLocally(budget, tokens);
          return 0;
        });
        if (waitSeconds > 0) throw new RateLimitedError(waitSeconds, 'bytes');
      },
      hold(bytes) {
        if (lease === undefined) {
          const taken = shares.tryTake(tenant, bytes);
          if (typeof taken === 'string') throw new ShareExhaustedError('request_bytes', taken, RETRY_AFTER_SECONDS);
          lease = taken;
          return;
        }
        const by = lease.grow(bytes);
        if (by !== undefined) throw new ShareExhaustedError('request_bytes', by, RETRY_AFTER_SECONDS);
      },
      canHold: (bytes) => (lease?.units ?? 0) + bytes <= most,
      release() {
        lease?.release();
      },
    };
  };

  return {
    mostAtOnce: Math.floor(perAccount * MOST_OF_SHARE),
    ofAccount({ accountId }) {
      const perMinute = (limits.mbPerMinute * MB) / BYTES_PER_TOKEN;
      return allowance(accounts, perAccount, accountId, { id: `bytes:${accountId}`, perMinute });
    },
    ofAddress(request) {
      const address = addressBlock(clientAddress(request));
      return allowance(addresses, UNKNOWN.inFlightPerAddress, address, {
        id: `bytes:${address}`,
        perMinute: UNKNOWN.perMinute / BYTES_PER_TOKEN,
      });
    },
    ofOperator: () => allowance(accounts, perAccount, 'operator'),
  };
}
