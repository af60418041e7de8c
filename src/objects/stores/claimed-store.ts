/**
 * The store of a process, closed until the installation's claim on it is confirmed (claim-store.ts). A process may
 * start while its store or its database is away: until both have answered, the store may be a wrong one, so nothing is
 * written to it and nothing is missed in it. To callers, a store that is not confirmed is one that does not respond.
 */
import type { Readable } from 'node:stream';
import type { Database } from '../../database/database.ts';
import { createPoller } from '../../database/poller.ts';
import { inTime } from '../../telemetry/dependency-checks.ts';
import type { Logger } from '../../telemetry/log.ts';
import { ForeignStoreError, claimStore } from './claim-store.ts';
import type { ObjectStore } from './object-store.ts';
import { StoreUnavailableError } from './store-unavailable-error.ts';
import type { StoreOperation } from './store-unavailable-error.ts';

/** As other dependencies are retried at a start (processes/connect-when-possible.ts). */
const RETRY_MS = 1_000;

export interface StoreClaim {
  /** Whether the store is known to be that of the installation. */
  isConfirmed(): boolean;
  /** Rejects with the `ForeignStoreError` when the store turns out to be a wrong one; pending otherwise. */
  readonly foreign: Promise<never>;
  /** Asks the store and the database, again and again until both have answered. */
  start(): void;
  /**
   * Resolves when the first attempt has ended, or after 3 s: a start does not wait for an outage to end.
   *
   * @throws {ForeignStoreError}
   */
  waitForFirstAttempt(): Promise<void>;
  close(): void;
}

interface Claimed {
  /** Throws `StoreUnavailableError` until the claim is confirmed. */
  readonly store: ObjectStore;
  readonly claim: StoreClaim;
}

/** @param store as it is opened. @param retryMs between two attempts. */
export function createClaimedStore({
  database,
  store,
  logger,
  retryMs = RETRY_MS,
}: {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly logger: Logger;
  readonly retryMs?: number;
}): Claimed {
  let isConfirmed = false;
  let isOver = false;
  let endFirstAttempt = (): void => {};
  const firstAttempt = new Promise<void>((resolve) => {
    endFirstAttempt = resolve;
  });
  let rejectForeign: (error: ForeignStoreError) => void = () => {};
  const foreign = new Promise<never>((_resolve, reject) => {
    rejectForeign = reject;
  });
  // Whether anything waits for it at that moment or not.
  foreign.catch(() => undefined);

  const poller = createPoller({
    what: 'the owner of the store',
    async poll() {
      try {
        await claimStore(database, store);
        isConfirmed = true;
      } catch (error) {
        if (isOver) return;
        if (!(error instanceof ForeignStoreError)) throw error;
        isOver = true;
        rejectForeign(error);
      } finally {
        endFirstAttempt();
      }
    },
    isNeeded: () => !isConfirmed && !isOver,
    waitMs: (failures) => (failures === 0 ? 0 : retryMs),
    logger,
  });

  return {
    store: withheld(store, () => isConfirmed),
    claim: {
      isConfirmed: () => isConfirmed,
      foreign,
      start: () => poller.schedule(),
      waitForFirstAttempt: () => Promise.race([foreign, inTime(firstAttempt, undefined)]),
      close() {
        isOver = true;
        poller.stop();
      },
    },
  };
}

/** @returns the store, which rejects everything while it is not open. Signing a URL needs no store, and may be done. */
function withheld(store: ObjectStore, isOpen: () => boolean): ObjectStore {
  function assertOpen(operation: StoreOperation): void {
    if (!isOpen()) throw new StoreUnavailableError(operation, { cause: new UnconfirmedStoreError() });
  }
  const presign = store.presign?.bind(store);
  return {
    async put(key, body, options) {
      if (!isOpen()) release(body);
      assertOpen('put');
      return store.put(key, body, options);
    },
    async head(key) {
      assertOpen('head');
      return store.head(key);
    },
    async read(key, range) {
      assertOpen('read');
      return store.read(key, range);
    },
    async delete(key, options) {
      assertOpen('delete');
      await store.delete(key, options);
    },
    async *list(prefix, options) {
      assertOpen('list');
      yield* store.list(prefix, options);
    },
    async check() {
      assertOpen('check');
      await store.check();
    },
    close: () => store.close(),
    ...(presign === undefined ? {} : { presign }),
  };
}

/** A `put` releases its body in any case. */
function release(body: Uint8Array | Readable): void {
  if (body instanceof Uint8Array) return;
  // A source that is destroyed early may still report an error, which nothing listens to.
  body.on('error', () => undefined);
  body.destroy();
}

/** The reason that logs show. */
class UnconfirmedStoreError extends Error {
  override readonly name = 'UnconfirmedStoreError';

  constructor() {
    super('it is not known yet whether the store is that of this installation');
  }
}
