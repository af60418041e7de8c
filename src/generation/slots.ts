/**
 * Tenants' shares of what a worker has for tasks: slots for activities of one kind, decoders, fetches. A task that gets
 * no slot waits in Temporal and not here, where it would hold that very slot: its attempt ends at once, and another one
 * comes later.
 */
import os from 'node:os';
import { backoffMs } from '../domain/waits.ts';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShareOptions, TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { retryableFailure } from './failure.ts';

/**
 * The first retry interval of a task that found no slot, in milliseconds: most slots are held for less than a second.
 */
const FIRST_RETURN_MS = 1_000;
/**
 * A poller hands out several hundred activities a second, and each one that is denied a slot again costs two or three
 * statements.
 */
const RETURNS_PER_SECOND = 100;

interface SlotShareOptions extends Pick<
  TenantShareOptions,
  'resource' | 'capacity' | 'perTenant' | 'leavesFree' | 'metrics'
> {
  /** The longest wait of a task that is denied a slot again and again, while there are few of them. */
  readonly longestReturnMs: number;
}

export interface SlotShares {
  /**
   * Runs work in a slot of this tenant.
   *
   * @param attempt of the activity, from 1: the wait until the next attempt grows with it.
   * @throws {GenerationFailure} retryable: there is no free slot. Also whatever the work throws.
   */
  run<T>(tenant: string, attempt: number, work: () => Promise<T>): Promise<T>;
}

export function createSlotShares({ longestReturnMs, ...options }: SlotShareOptions): SlotShares {
  const shares = createTenantShares(options);
  const returns = createRetryDelays({
    firstMs: FIRST_RETURN_MS,
    longestMs: longestReturnMs,
    perSecond: RETURNS_PER_SECOND,
  });
  return {
    async run(tenant, attempt, work) {
      const lease = shares.tryTake(tenant);
      if (typeof lease === 'string') throw retryableFailure('provider_unavailable', returns.delayMs(tenant, attempt));
      try {
        return await work();
      } finally {
        lease.release();
      }
    },
  };
}

interface RetryDelaysOptions {
  /** Spread up to twice that. */
  readonly firstMs: number;
  /** The longest interval of a task that is denied repeatedly, as long as few others are. */
  readonly longestMs: number;
  /** The number of retries per second, of all tenants together. */
  readonly perSecond: number;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

interface RetryDelays {
  /** @param attempt from 1. @returns whole milliseconds. */
  delayMs(tenant: string, attempt: number): number;
}

/**
 * When tenants that were denied a share of a worker's slots retry. Soon at first, then ever less often; and however
 * many they are, so many a second at most, each tenant as often as any other, because all of them pass through the
 * one poll of their queue (docs/decisions/0024). Counted in memory: they are forgotten with the process, and it
 * learns of them as they retry.
 */
export function createRetryDelays(options: RetryDelaysOptions): RetryDelays {
  const { firstMs, longestMs, perSecond, now = () => performance.now() } = options;
  /** When the last of each tenant retries. */
  const lasts = new Map<string, number>();

  /** After the others of its tenant. */
  function inTurnMs(tenant: string): number {
    const at = now();
    for (const [id, last] of lasts) if (last <= at) lasts.delete(id);
    const last = lasts.get(tenant);
    const tenants = last === undefined ? lasts.size + 1 : lasts.size;
    const next = (last ?? at) + (tenants * 1_000) / perSecond;
    lasts.set(tenant, next);
    return next - at;
  }

  return {
    delayMs(tenant, attempt) {
      const grown = backoffMs({ firstMs, maxMs: longestMs / 2 }, attempt - 1);
      return Math.round(Math.max(grown * (1 + Math.random()), inTurnMs(tenant)));
    },
  };
}

/** Concurrent archivings in one worker: bounded by the store and the database pool. */
export const ARCHIVING_SLOTS = 40;
/** The share of these slots for tasks of video models. */
export const VIDEO_ARCHIVING_SLOTS = ARCHIVING_SLOTS / 2;
/** A slow file takes minutes: tasks that wait for a slot retry at least this often. */
const LONGEST_ARCHIVING_RETURN_MS = 10_000;

/**
 * Limits how many tasks of one account may be archived at the same time. Each holds a slot of the worker for as long as
 * the provider's server and the decoding of its videos take; so an account holds at most as many slots as it leaves
 * free.
 *
 * @param slots for tests; default `ARCHIVING_SLOTS`.
 */
export function createArchivingSlots(metrics?: ShareMetrics, slots: number = ARCHIVING_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_ARCHIVING_RETURN_MS;
  return createSlotShares({ resource: 'archiving_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

/**
 * The same for tasks of models that generate videos. They have half of the slots, because they wait for one of a few
 * decoders while images are archived quickly.
 *
 * @param slots for tests; default `VIDEO_ARCHIVING_SLOTS`.
 */
export function createVideoArchivingSlots(metrics?: ShareMetrics, slots: number = VIDEO_ARCHIVING_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_ARCHIVING_RETURN_MS;
  return createSlotShares({ resource: 'film_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

/**
 * Limits how many videos one worker decodes at the same time to extract their frames. Each decoding needs a copy of the
 * video on the scratch disk and a child process that may use a gigabyte, and its duration depends on the file that the
 * provider delivered. There is one decoder more than there are cores, and one account may hold at most one decoder more
 * than it leaves free. On a machine with two cores a single account can therefore use both, and another account still
 * finds a free decoder. Archiving activities wait for a decoder in a fair order; a local activity does not wait,
 * because other workflow tasks need its slot. A request that gets no decoder fails with a retryable failure.
 *
 * @param metrics the worker's metrics of shares.
 * @param decoders the number of decoders, for tests; default: the number of cores plus one.
 */
export function createFrameDecoders(
  metrics?: ShareMetrics,
  decoders: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'frame_decoders',
    capacity: decoders,
    leavesFree: true,
    // More tasks of video models cannot be archived at the same time; a task of another model releases its slot.
    waiting: { perTenant: VIDEO_ARCHIVING_SLOTS / 2, perProcess: VIDEO_ARCHIVING_SLOTS },
    createError: () => retryableFailure('provider_unavailable'),
    metrics,
  });
}

/**
 * The maximum number of concurrent stop requests in one worker, in addition to its settlements
 * (src/processes/worker.ts).
 */
export const STOP_SLOTS = 40;
/**
 * Fewer than one upstream may have, so that an upstream with many requests of one account still receives those of
 * other tasks.
 */
export const STOP_SLOTS_OF_ACCOUNT = 12;
/** The answer is awaited for 20 s in total (`CANCEL_BEFORE_SETTLEMENT_OPTIONS`). */
const LONGEST_STOP_RETURN_MS = 2_000;

export interface StopSlots {
  /**
   * Sends a request to an upstream if there is a free slot for it.
   *
   * @param attempt of the activity, from 1.
   * @throws {GenerationFailure} retryable: there is none. Also whatever the request throws.
   */
  run<T>(whose: { accountId: string; upstreamName: string }, attempt: number, request: () => Promise<T>): Promise<T>;
}

/**
 * Limits how many stop requests may be in progress at providers at the same time, per account and per upstream. Each
 * holds a slot of the worker for as long as the upstream does not answer, and other tasks need these slots: the cost of
 * a cancelled task is known in time only if its stop request has one.
 */
export function createStopSlots(metrics?: ShareMetrics): StopSlots {
  const shared = { capacity: STOP_SLOTS, leavesFree: true, longestReturnMs: LONGEST_STOP_RETURN_MS, metrics };
  const accounts = createSlotShares({ ...shared, resource: 'stop_requests', perTenant: STOP_SLOTS_OF_ACCOUNT });
  const upstreams = createSlotShares({ ...shared, resource: 'upstream_stop_requests' });
  return {
    run: ({ accountId, upstreamName }, attempt, request) =>
      accounts.run(accountId, attempt, () => upstreams.run(upstreamName, attempt, request)),
  };
}

/**
 * The maximum number of concurrent fetches of one account in one worker: fewer than its staging slots
 * (src/processes/worker.ts), so that other accounts find a free slot.
 */
const FETCHES_AT_ONCE = 2;
/**
 * The retry interval of a task that found no slot, in milliseconds. Most fetches take less than a second. The interval
 * is randomized, so that waiting tasks do not all retry at the same moment.
 */
const FETCH_RETRY_MS = 1_000;

/**
 * Limits how many tasks of one account may fetch files of their inputs at the same time. A fetch holds a slot of the
 * worker, or of an upstream, for as long as a third-party server takes; with this limit no account can hold them all.
 * A task that gets no slot fails with a retryable failure.
 */
export function createInputFetches(metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'input_fetches',
    perTenant: FETCHES_AT_ONCE,
    createError: () => retryableFailure('provider_unavailable', Math.round(FETCH_RETRY_MS * (1 + Math.random()))),
    metrics,
  });
}
