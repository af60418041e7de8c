/**
 * Delivers the outbox to Temporal: in every api process, woken at once after a commit of that process and polling
 * otherwise (architecture, "One outbox"). Any number of launchers may run.
 *
 * Rows are claimed a little ahead of the deliveries in progress, so that no delivery slot stays unused while the next
 * claim is made. While Temporal is unavailable a few rows are tried once a second, so that the leases of all others do
 * not run out meanwhile; when it is back, failed rows are due at once and not after their lease.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createStalledRows } from '../limits/row-databases.ts';
import type { StalledRows } from '../limits/row-databases.ts';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import { LockTimeoutError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import { backoffMs } from '../domain/waits.ts';
import type { Backoff } from '../domain/waits.ts';
import { claimOutbox, claimOutboxOfAccount, releaseOutboxLease, removeOutbox } from '../tasks/outbox/outbox.ts';
import type { OutboxItem } from '../tasks/outbox/outbox.ts';
import type { Logger } from '../telemetry/log.ts';
import type { OutboxMetrics } from '../telemetry/metrics-traffic.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { rejectionOf } from '../temporal/rejections.ts';
import { createDelivery } from './outbox-delivery.ts';
import type { DeliveryDependencies } from './outbox-delivery.ts';

/**
 * The polling interval in milliseconds: the longest delay before rows that another process or a settlement wrote are
 * seen (architecture, "One outbox").
 */
const POLL_INTERVAL_MS = 200;
/**
 * The maximum number of concurrent deliveries: enough for a large Temporal server, few enough not to overload a small
 * one.
 */
export const MAX_IN_FLIGHT = 64;
/** The maximum number of rows claimed ahead: as many again, so that a claim may take as long as a delivery. */
const MAX_AHEAD = 64;
/**
 * With a server slower than this, deliveries do not wait for claims, and rows claimed ahead would use up their lease.
 */
const SLOW_MS = 1_000;
/**
 * After a failure nothing is claimed for this long: rows claimed for an unavailable server would only exceed their
 * lease.
 */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/** How long removals wait while the database is unavailable: what is delivered meanwhile is delivered again. */
const REMOVAL_RETRY: Backoff = { firstMs: 1_000, maxMs: 10_000 };
/**
 * The maximum number of accounts for whose locked rows the process waits at the same time. Each occupies a connection.
 */
const LOCKED_ACCOUNTS = 2;
/**
 * The maximum number of those accounts whose row could not be locked before. The other slot is for accounts that are
 * only busy.
 */
const STALLED_ACCOUNTS = 1;
/**
 * The maximum number of undelivered rows that are remembered during an outage; any others become due when their lease
 * ends.
 */
const MAX_UNDELIVERED = 10_000;

export interface Launcher {
  /** The outbox may have new rows; a row that is already claimed for this process is delivered at once. */
  wake(claimed?: OutboxItem): void;
  /** Whether it can deliver now: it is not busy, and Temporal did not just fail. */
  hasRoom(): boolean;
  /** Stops claiming, and waits for the deliveries in progress. */
  close(): Promise<void>;
}

export interface LauncherDependencies extends DeliveryDependencies {
  readonly database: Database;
  /** The accounts whose rows stay locked, as far as this process has observed; absent: the launcher's own. */
  readonly stalledAccounts?: StalledRows;
  readonly logger: Logger;
  readonly shareMetrics?: ShareMetrics;
  readonly outboxMetrics?: OutboxMetrics;
}

export function startLauncher(dependencies: LauncherDependencies): Launcher {
  const { stalledAccounts = createStalledRows(), logger, shareMetrics, outboxMetrics, ...delivery } = dependencies;
  const { database } = delivery;
  const deliver = createDelivery(delivery);
  const lockedClaims: TenantShares = createTenantShares({
    resource: 'locked_account_claims',
    capacity: LOCKED_ACCOUNTS,
    perTenant: 1,
    mostOf: (accountId) => stalledAccounts.mostOf(accountId, STALLED_ACCOUNTS, (other) => lockedClaims.heldBy(other)),
    metrics: shareMetrics,
  });
  const closing = new AbortController();
  let wantsAnother = false;
  let claiming: Promise<void> | undefined;
  /** Claims of single accounts. */
  const claims = new Set<Promise<void>>();
  /** Claimed, but delivery has not begun. */
  const ahead: OutboxItem[] = [];
  /** When each began. */
  const underWay = new Map<Promise<void>, number>();
  let isSlow = false;
  /** Not by the wall clock, which may be set back and block it for hours. */
  let pausedUntil = -Infinity;
  /** Temporal seems to be unavailable. */
  let isTemporalUnavailable = false;
  let succeededAt = -Infinity;
  /**
   * When a delivery failed and none has succeeded since: until those that had begun before have ended, it is open
   * whether Temporal is unavailable or only that row is not accepted, and nothing else begins.
   */
  let doubtedAt: number | undefined;
  /** Claimed since the last recovery and not delivered, oldest first. */
  const undelivered = new Map<bigint, OutboxItem>();
  /** Rows that have failed since then. */
  let failed = new Set<bigint>();
  /**
   * Rows that failed before the last recovery: if one of these fails again, the row itself is the problem, and it
   * waits for the end of its lease.
   */
  let suspects: ReadonlySet<bigint> = new Set();
  let delivered: bigint[] = [];
  let removal: Promise<void> | undefined;
  let failedRemovals = 0;

  const isPaused = (): boolean => performance.now() < pausedUntil;

  const mayBegin = (): boolean => !closing.signal.aborted && underWay.size < MAX_IN_FLIGHT && doubtedAt === undefined;

  const hasRoom = (): boolean => mayBegin() && ahead.length === 0 && !isPaused();

  const wake = (claimed?: OutboxItem): void => {
    if (claimed !== undefined) {
      begin(claimed);
      return;
    }
    wantsAnother = true;
    claimMore();
  };

  /** How many rows of each kind may be claimed now: 0 until a claim is worth it. */
  const claimable = (): number => {
    if (closing.signal.aborted || isPaused() || doubtedAt !== undefined) return 0;
    const claimed = underWay.size + ahead.length;
    if (isTemporalUnavailable) return claimed <= 1 ? 1 : 0;
    if (isSlow) return Math.ceil(Math.max(MAX_IN_FLIGHT - claimed, 0) / 2);
    const room = MAX_IN_FLIGHT + MAX_AHEAD - claimed;
    return room < MAX_AHEAD / 2 ? 0 : Math.min(room, MAX_IN_FLIGHT);
  };

  const claimMore = (): void => {
    claiming ??= claimWhileThereIs().finally(() => {
      claiming = undefined;
      // Woken after the last check.
      if (wantsAnother && claimable() > 0) claimMore();
    });
  };

  /** Claims as long as there are rows to claim and room for them; without room, `wantsAnother` stays set. */
  const claimWhileThereIs = async (): Promise<void> => {
    try {
      if (isTemporalUnavailable) tryUndelivered();
      for (let limit = claimable(); wantsAnother && limit > 0; limit = claimable()) {
        wantsAnother = false;
        const items = await claimOutbox(database, limit, claimLocked);
        // Only an empty claim shows that nothing is left: this one may have been small, or skipped rows.
        if (items.length > 0) wantsAnother = true;
        take(items);
      }
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      logger.warn({ err: error }, 'outbox claim failed');
    }
  };

  /** Tests whether Temporal is back: if everything is already claimed, no claim would show it. */
  const tryUndelivered = (): void => {
    const [item] = undelivered.values();
    if (item === undefined || underWay.size > 0 || claimable() === 0) return;
    undelivered.delete(item.id);
    begin(item);
  };

  /** Waits for the row of one account, concurrently with all other claims. */
  const claimLocked = (accountId: string): void => {
    if (closing.signal.aborted) return;
    const lease = lockedClaims.tryTake(accountId);
    if (typeof lease === 'string') return;
    const claim = claimOutboxOfAccount(database, accountId, Math.max(claimable(), 1))
      .then((items) => {
        stalledAccounts.delete(accountId);
        take(items);
        if (items.length > 0) wake();
      })
      .catch((error: unknown) => {
        if (error instanceof LockTimeoutError) stalledAccounts.add(accountId);
        else logger.warn({ err: error, accountId }, 'outbox claim of an account failed');
      })
      .finally(() => {
        lease.release();
        claims.delete(claim);
      });
    claims.add(claim);
  };

  const take = (items: readonly OutboxItem[]): void => {
    ahead.push(...items);
    beginNext();
  };

  const beginNext = (): void => {
    while (mayBegin()) {
      const item = ahead.shift();
      if (item === undefined) return;
      begin(item);
    }
  };

  const begin = (item: OutboxItem): void => {
    const begunAt = performance.now();
    const delivering = deliverOne(item).finally(() => {
      underWay.delete(delivering);
      settleDoubt();
      beginNext();
      if (wantsAnother) claimMore();
    });
    underWay.set(delivering, begunAt);
  };

  const deliverOne = async (item: OutboxItem): Promise<void> => {
    const begunAt = performance.now();
    const isTrial = isTemporalUnavailable;
    try {
      if (await deliver(item)) {
        delivered.push(item.id);
        removeDelivered();
      }
      outboxMetrics?.delivered(item.kind);
      succeededAt = performance.now();
      doubtedAt = undefined;
      isSlow = succeededAt - begunAt > SLOW_MS;
      if (isTemporalUnavailable && isTrial) recover();
    } catch (error) {
      report(item, error);
      if (!suspects.has(item.id)) remember(item);
      if (failed.size < MAX_UNDELIVERED) failed.add(item.id);
      // If another row was delivered meanwhile, the failure is specific to this row: the others do not wait.
      if (succeededAt >= begunAt) return;
      if (isTemporalUnavailable) pause();
      else doubtedAt ??= performance.now();
    }
  };

  /** Temporal is considered unavailable when everything that began before the first failure has failed too. */
  const settleDoubt = (): void => {
    const since = doubtedAt;
    if (since === undefined || [...underWay.values()].some((begunAt) => begunAt <= since)) return;
    doubtedAt = undefined;
    pause();
  };

  /** A rejection persists until an operator acts; a failure passes by itself. */
  const report = ({ subjectId, kind }: OutboxItem, error: unknown): void => {
    const reason = rejectionOf(error);
    if (reason === undefined) {
      logger.warn({ err: error, subjectId, kind }, 'outbox delivery failed; retrying');
      return;
    }
    outboxMetrics?.rejected(kind);
    logger.error(
      { err: error, subjectId, kind, reason },
      'Temporal rejects outbox deliveries; they will be retried. `migrate` reports what is missing in the namespace, or what our credentials do not allow',
    );
  };

  const pause = (): void => {
    isTemporalUnavailable = true;
    pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
    for (const next of ahead.splice(0)) remember(next);
  };

  const remember = (item: OutboxItem): void => {
    if (undelivered.size < MAX_UNDELIVERED) undelivered.set(item.id, item);
  };

  /** Temporal is back: rows that were not delivered meanwhile are due at once. */
  const recover = (): void => {
    isTemporalUnavailable = false;
    suspects = failed;
    failed = new Set();
    const ids = [...undelivered.keys()];
    undelivered.clear();
    void giveBack(ids).then(() => wake());
  };

  const giveBack = async (ids: readonly bigint[]): Promise<void> => {
    if (ids.length === 0) return;
    await releaseOutboxLease(database, ids).catch((error: unknown) =>
      logger.warn({ err: error, rows: ids.length }, 'claimed outbox rows become due only when their lease ends'),
    );
  };

  /** Removes delivered rows, in batches: rows that arrive while one removal runs are removed by the next. */
  const removeDelivered = (): void => {
    removal ??= removeAll().finally(() => {
      removal = undefined;
      if (delivered.length > 0) removeDelivered();
    });
  };

  const removeAll = async (): Promise<void> => {
    while (delivered.length > 0) {
      const batch = delivered;
      delivered = [];
      try {
        await removeOutbox(database, batch);
        failedRemovals = 0;
      } catch (error) {
        if (failedRemovals === 0) {
          logger.warn({ err: error }, 'removing delivered outbox rows failed; they will be delivered again');
        }
        const ms = backoffMs(REMOVAL_RETRY, failedRemovals++);
        await delay(ms, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  };

  const poll = setInterval(() => wake(), POLL_INTERVAL_MS);

  return {
    wake,
    hasRoom,
    async close() {
      closing.abort();
      clearInterval(poll);
      await Promise.allSettled([claiming, ...claims]);
      // For other processes, or the next one.
      await giveBack(ahead.splice(0).map(({ id }) => id));
      await Promise.allSettled(underWay.keys());
      while (removal !== undefined) await removal;
    },
  };
}
