/**
 * Limits each tenant's share of a scarce resource in one process: threads, child processes, lookups, bytes,
 * connections, delivery and archive slots. One implementation for all of them, so that each has the same bounds: how
 * much there is, how much of it one tenant may hold, and how many may wait for it. Counted in memory, because it ends
 * with the process.
 *
 * Waiting requests are served fairly: the tenant that holds least goes first, and equals take turns, so that no request
 * waits behind all those of another tenant. If the line is full, a newcomer displaces the last request of the tenant
 * that has most of them. A tenant is an account, or an IP address if the client is not authenticated.
 */
import type { SharedResource, ShareMetrics, ShareUsage } from '../telemetry/metrics.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** Which share is exhausted: `tenant`, its own share is used up; `process`, all of it is in use. */
export type ExhaustedBy = 'tenant' | 'process';

/** No unit was available, and the request could not wait for one. Nothing was done. */
export class ShareExhaustedError extends DarkroomError {
  override readonly name = 'ShareExhaustedError';
  /** `rate_limited`: the caller's own share is used up. */
  override readonly kind: 'rate_limited' | 'unavailable';
  readonly resource: SharedResource;
  readonly by: ExhaustedBy;
  /** Whole seconds, at least 1, after which a retry is worthwhile. */
  override readonly retryAfterSeconds: number;

  constructor(resource: SharedResource, by: ExhaustedBy, retryAfterSeconds: number) {
    super(by === 'tenant' ? `this account's share of ${resource} is in use` : `all of ${resource} is in use`);
    this.kind = by === 'tenant' ? 'rate_limited' : 'unavailable';
    this.resource = resource;
    this.by = by;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  override get publicMessage(): string {
    return this.by === 'tenant'
      ? 'too many requests of this account at the same moment; retry after the time in Retry-After'
      : 'the service is too busy for this request at this moment; retry after the time in Retry-After';
  }
}

export interface TenantShareOptions {
  readonly resource: SharedResource;
  /** Units in all; absent: only tenants are bounded. */
  readonly capacity?: number;
  /** Units that one tenant may hold; absent: as many as there are. */
  readonly perTenant?: number;
  /** Whether a tenant may hold at most one unit more than it leaves free, so that the next tenant always finds some. */
  readonly leavesFree?: boolean;
  /**
   * Units that a tenant may hold at this moment, if that is less than its share. Called whenever units are taken or
   * given back: anything that changes its result should happen before that.
   */
  readonly mostOf?: (tenant: string) => number;
  /** How many requests may wait for units; absent: none. */
  readonly waiting?: { readonly perTenant: number; readonly perProcess: number };
  /** Reported to the callers that got none; default 1. */
  readonly retryAfterSeconds?: number;
  /** The error in place of `ShareExhaustedError`. */
  readonly createError?: (by: ExhaustedBy) => Error;
  readonly metrics?: ShareMetrics | undefined;
}

export interface TakeOptions {
  /** Default 1. */
  readonly units?: number;
  /** Ends the wait with its reason; what was taken before is not affected. */
  readonly signal?: AbortSignal | undefined;
  /** The longest wait, after which it is as if waiting were not possible; absent: as long as it takes. */
  readonly waitMs?: number | undefined;
  /**
   * Whether the request is served before other waiting requests of the same tenant, so that work that has begun is
   * completed first. It does not overtake other tenants.
   */
  readonly isFirstOfTenant?: boolean;
}

/** Units that are held until they are released. */
export interface Lease {
  readonly units: number;
  /**
   * Takes more for the same lease, at once or not at all. @returns which share is exhausted, or undefined if it was
   * taken.
   */
  grow(units: number): ExhaustedBy | undefined;
  /** Gives everything back; a second call does nothing. */
  release(): void;
  /**
   * Gives everything back, first of all to a waiting tenant that holds less than this one, even if the tenant's own
   * others have waited longer. @returns false if there is none; then nothing was done.
   */
  passOn(): boolean;
}

export interface TenantShares {
  /** Takes units at once. @returns which share is exhausted, if there were none. */
  tryTake(tenant: string, units?: number): Lease | ExhaustedBy;
  /**
   * Takes units, waiting for them if that is allowed. @throws {ShareExhaustedError} or what `createError` returns, or
   * the signal's reason.
   */
  take(tenant: string, options?: TakeOptions): Promise<Lease>;
  /** Does work while units are held. Throws as `take` does, and what the work throws. */
  run<T>(tenant: string, work: (lease: Lease) => Promise<T>, options?: TakeOptions): Promise<T>;
  /** Units that a tenant holds. */
  heldBy(tenant: string): number;
  /** Whether a tenant waits that holds less than this one, and would be admitted if this one released something now. */
  isOutranked(tenant: string): boolean;
  usage(): ShareUsage;
}

interface Waiter {
  readonly units: number;
  readonly admit: (lease: Lease) => void;
  /** Another request takes its position. */
  readonly displace: () => void;
}

interface Tenant {
  readonly id: string;
  held: number;
  /** The number of leases that are not released; a lease without units may grow. */
  leases: number;
  readonly waiters: Waiter[];
  /** Counts up: when it joined the line, or was last admitted; the lowest has waited longest for its turn. */
  turn: number;
}

/** A bound of NaN would bound nothing. */
function requireBound(name: string, bound: number): void {
  if (!(bound >= 0)) throw new RangeError(`${name}: ${bound}`);
}

/** Creates the shares of one resource, all of it free. @throws {RangeError} a bound is negative or not a number. */
export function createTenantShares(options: TenantShareOptions): TenantShares {
  const { resource, metrics, leavesFree = false, mostOf, retryAfterSeconds = 1 } = options;
  const capacity = options.capacity ?? Number.POSITIVE_INFINITY;
  const perTenant = options.perTenant ?? capacity;
  const waiting = options.waiting ?? { perTenant: 0, perProcess: 0 };
  requireBound('capacity', capacity);
  requireBound('perTenant', perTenant);
  requireBound('waiting.perTenant', waiting.perTenant);
  requireBound('waiting.perProcess', waiting.perProcess);
  const tenants = new Map<string, Tenant>();
  /** The tenants with waiting requests, so that a release checks only those. */
  const queued = new Map<string, Tenant>();
  /** The most that one tenant can have. */
  const most = Math.min(perTenant, leavesFree && Number.isFinite(capacity) ? (capacity + 1) / 2 : capacity);
  let inUse = 0;
  let waiters = 0;
  let turns = 0;

  const tenantOf = (id: string): Tenant => {
    let tenant = tenants.get(id);
    if (tenant === undefined) tenants.set(id, (tenant = { id, held: 0, leases: 0, waiters: [], turn: 0 }));
    return tenant;
  };
  const forgetIdle = (id: string, tenant: Tenant): void => {
    if (tenant.waiters.length === 0) queued.delete(id);
    if (tenant.leases === 0 && tenant.waiters.length === 0) tenants.delete(id);
  };

  /**
   * Which share has too few units left; the tenant's own is checked first, because only that can be changed by the
   * tenant.
   */
  function exhaustedBy({ id, held }: Tenant, units: number): ExhaustedBy | undefined {
    if (held + units > perTenant) return 'tenant';
    if (mostOf !== undefined && held + units > mostOf(id)) return 'tenant';
    if (inUse + units > capacity) return 'process';
    // Counted after the units are taken; one unit that cannot be halved is the tenant's.
    if (leavesFree && held + units > Math.max(capacity - inUse - units, 0) + 1) return 'tenant';
    return undefined;
  }

  function hold(id: string, tenant: Tenant, units: number): Lease {
    let own = 0;
    let isReleased = false;
    const add = (more: number): void => {
      own += more;
      tenant.held += more;
      inUse += more;
    };
    add(units);
    tenant.leases += 1;
    const end = (): void => {
      isReleased = true;
      add(-own);
      tenant.leases -= 1;
      forgetIdle(id, tenant);
    };
    return {
      get units() {
        return own;
      },
      grow(more) {
        if (isReleased) throw new TypeError('a lease that was released cannot grow');
        const by = exhaustedBy(tenant, more);
        if (by === undefined) add(more);
        else metrics?.rejected(resource, by);
        return by;
      },
      release() {
        if (isReleased) return;
        end();
        admitWaiters();
      },
      passOn() {
        const next = nextInLine();
        if (isReleased || next === undefined || next.tenant.held >= tenant.held) return false;
        end();
        if (exhaustedBy(next.tenant, next.first.units) === undefined) admit(next);
        admitWaiters();
        return true;
      },
    };
  }

  /**
   * The next in line: of those whose own share has room, the one that holds least, then the one whose last turn is
   * longest ago.
   */
  function nextInLine(): { id: string; tenant: Tenant; first: Waiter } | undefined {
    let next: { id: string; tenant: Tenant; first: Waiter } | undefined;
    for (const [id, tenant] of queued) {
      const [first] = tenant.waiters;
      if (first === undefined || exhaustedBy(tenant, first.units) === 'tenant') continue;
      const isBefore =
        next === undefined ||
        tenant.held < next.tenant.held ||
        (tenant.held === next.tenant.held && tenant.turn < next.tenant.turn);
      if (isBefore) next = { id, tenant, first };
    }
    return next;
  }

  function admitWaiters(): void {
    for (let next = nextInLine(); next !== undefined; next = nextInLine()) {
      const { tenant, first } = next;
      // The next in line needs more than is free: no other overtakes it, or it would wait for ever.
      if (exhaustedBy(tenant, first.units) !== undefined) return;
      admit(next);
    }
  }

  function admit({ id, tenant, first }: { id: string; tenant: Tenant; first: Waiter }): void {
    leaveQueue(id, tenant, first);
    tenant.turn = turns += 1;
    first.admit(hold(id, tenant, first.units));
  }

  function leaveQueue(id: string, tenant: Tenant, waiter: Waiter): void {
    const index = tenant.waiters.indexOf(waiter);
    if (index < 0) return;
    tenant.waiters.splice(index, 1);
    waiters -= 1;
    if (tenant.waiters.length === 0) queued.delete(id);
  }

  /** Joins the line for whatever is free at this moment. */
  function enqueue(id: string, waiter: Waiter, isFirst = false): void {
    const tenant = tenantOf(id);
    if (tenant.waiters.length === 0) tenant.turn = turns += 1;
    if (isFirst) tenant.waiters.unshift(waiter);
    else tenant.waiters.push(waiter);
    queued.set(id, tenant);
    waiters += 1;
    admitWaiters();
  }

  /** Makes room in a full line for a tenant that has this many in it. @returns whether there is room. */
  function findRoomInLine(own: number): boolean {
    if (waiters < waiting.perProcess) return true;
    let [longest] = queued.values();
    for (const tenant of queued.values()) {
      if (tenant.waiters.length > (longest?.waiters.length ?? 0)) longest = tenant;
    }
    // Otherwise the two would only trade positions.
    if (longest === undefined || longest.waiters.length <= own + 1) return false;
    longest.waiters.at(-1)?.displace();
    return waiters < waiting.perProcess;
  }

  function requireUnits(units: number): void {
    if (!(units >= 0 && Number.isFinite(units))) throw new RangeError(`units: ${units}`);
  }

  /** Units that are free at this moment, and that no request waits for. */
  function takeFree(id: string, units: number): Lease | ExhaustedBy {
    let lease: Lease | undefined;
    const waiter: Waiter = { units, admit: (admitted) => (lease = admitted), displace: () => {} };
    enqueue(id, waiter);
    if (lease !== undefined) return lease;
    const tenant = tenantOf(id);
    leaveQueue(id, tenant, waiter);
    // A tenant that has room of its own and got none is behind a waiting request.
    const by = exhaustedBy(tenant, units) ?? 'process';
    forgetIdle(id, tenant);
    // Those behind the one that left may fit.
    admitWaiters();
    return by;
  }

  function tryTake(id: string, units = 1): Lease | ExhaustedBy {
    requireUnits(units);
    const taken = takeFree(id, units);
    if (typeof taken === 'string') metrics?.rejected(resource, taken);
    return taken;
  }

  function rejection(by: ExhaustedBy): Error {
    metrics?.rejected(resource, by);
    return options.createError?.(by) ?? new ShareExhaustedError(resource, by, retryAfterSeconds);
  }

  async function take(id: string, takeOptions: TakeOptions = {}): Promise<Lease> {
    const { units = 1, signal, waitMs, isFirstOfTenant = false } = takeOptions;
    signal?.throwIfAborted();
    requireUnits(units);
    const ownWaiters = tenants.get(id)?.waiters.length ?? 0;
    const mayWait = units <= most && waitMs !== 0 && ownWaiters < waiting.perTenant;
    if (!mayWait || waiters >= waiting.perProcess) {
      // A request that finds some free overtakes no other in the line.
      const lease = takeFree(id, units);
      if (typeof lease !== 'string') return lease;
      if (!mayWait || !findRoomInLine(ownWaiters)) throw rejection(lease);
    }
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const stopWaiting = (error: Error): void => {
        settle();
        const tenant = tenantOf(id);
        leaveQueue(id, tenant, waiter);
        forgetIdle(id, tenant);
        admitWaiters();
        reject(error);
      };
      // Registered at the signal, so that there is one; whoever aborts it gives it an error.
      const abort = (): void => stopWaiting(signal?.reason as Error);
      const fail = (by: ExhaustedBy): void => stopWaiting(rejection(by));
      let isAdmitted = false;
      const admit = (lease: Lease): void => {
        isAdmitted = true;
        settle();
        resolve(lease);
      };
      const waiter: Waiter = { units, admit, displace: () => fail('process') };
      enqueue(id, waiter, isFirstOfTenant);
      if (isAdmitted) return;
      signal?.addEventListener('abort', abort, { once: true });
      if (waitMs === undefined) return;
      timer = setTimeout(() => fail(exhaustedBy(tenantOf(id), units) ?? 'process'), waitMs);
    });
  }

  const shares: TenantShares = {
    tryTake,
    take,
    async run(id, work, takeOptions) {
      const lease = await take(id, takeOptions);
      try {
        return await work(lease);
      } finally {
        lease.release();
      }
    },
    heldBy: (id) => tenants.get(id)?.held ?? 0,
    isOutranked(id) {
      const held = shares.heldBy(id);
      const next = nextInLine();
      return next !== undefined && next.tenant.held < held;
    },
    usage: () => ({ inUse, capacity, tenants: tenants.size, waiting: waiters }),
  };
  metrics?.watch(resource, () => shares.usage());
  return shares;
}
