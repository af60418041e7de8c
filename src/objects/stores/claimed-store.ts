/**
 * Which installation owns a store, and the store of a process, closed until that is known. Objects that no record names
 * are deleted after a day, and two installations on one store would each take the other's for such: so a store belongs
 * to the installation that wrote its name there first. A process that is given another, such as a directory of its own
 * on a second machine, would store outputs where no other process finds them, and their owners would pay for nothing:
 * so the database remembers that there is a marked one (docs/decisions/0006).
 */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Database, Statement } from '../../database/database.ts';
import { createPoller } from '../../database/poller.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { inTime } from '../../telemetry/dependency-checks.ts';
import type { Logger } from '../../telemetry/log.ts';
import { ObjectNotFoundError, StoreUnavailableError } from './object-store.ts';
import type { ObjectStore, StoreOperation } from './object-store.ts';

const OWNER_KEY = 'installation';

/** Names the owner of a store. @param installationId of the database. */
export async function markStore(store: Pick<ObjectStore, 'put'>, installationId: string): Promise<void> {
  await store.put(OWNER_KEY, Buffer.from(installationId), { mimeType: 'text/plain' });
}

/** @returns the installation that owns the store; undefined: none. */
export async function readOwner(store: Pick<ObjectStore, 'read'>): Promise<string | undefined> {
  try {
    return (await text(await store.read(OWNER_KEY))).trim();
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return undefined;
    throw error;
  }
}

/** What is wrong where the owner of a store is another installation than the database's. */
export function describeForeignOwner(owner: string, installationId: string): string {
  return `STORE_URL names the store of the installation ${owner}, and the database is that of ${installationId}`;
}

/**
 * Reads one small thing from the store, and writes nothing: a store that is full can still be emptied.
 *
 * @throws {StoreUnavailableError} it does not respond.
 */
export async function assertAnswers(store: ObjectStore): Promise<void> {
  try {
    await store.head(OWNER_KEY);
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
  }
}

/** `STORE_URL` names a store that is not this installation's. */
export class ForeignStoreError extends DarkroomError {
  override readonly name = 'ForeignStoreError';
  override readonly kind = 'configuration_invalid';
}

const selectMark: Statement = {
  name: 'select_store_mark',
  text: 'SELECT id, store_marked_at IS NOT NULL AS "isMarked" FROM installation',
};

/** Waits for another process that does the same: its store is marked then. */
const recordMark: Statement = {
  name: 'record_store_mark',
  text: 'UPDATE installation SET store_marked_at = now() WHERE store_marked_at IS NULL RETURNING id',
};

/**
 * Marks the store, if the installation has none yet.
 *
 * @throws {ForeignStoreError} it is the store of another installation, or none while this one has another store.
 * @throws {StoreUnavailableError} @throws {DatabaseUnavailableError} nothing is known.
 */
export async function claimStore(database: Database, store: Pick<ObjectStore, 'read' | 'put'>): Promise<void> {
  const [row] = await database.query<{ id: string; isMarked: boolean }>(selectMark);
  if (row === undefined) throw new Error('the database was never migrated');
  const { id, isMarked } = row;
  // After it: a store whose mark is remembered has it.
  const owner = await readOwner(store);
  if (owner !== undefined && owner !== id) {
    throw new ForeignStoreError(describeForeignOwner(owner, id));
  }
  if (isMarked && owner === undefined) {
    throw new ForeignStoreError(
      'STORE_URL names a store without the mark of this installation, which has another one. Set it to the store that ' +
        'all its processes use: a directory of one machine cannot be that of another, and objects that were moved are ' +
        'found where they are now. Only if the store is lost, and this one is to take its place, run ' +
        '`admin outputs adopt-store`',
    );
  }
  if (isMarked) return;
  const isFirst = await database.transaction(async (transaction) => {
    const recorded = await transaction.query(recordMark);
    // Before the commit: the database never remembers a mark that is not there.
    if (recorded.length > 0 && owner === undefined) await markStore(store, id);
    return recorded.length > 0;
  });
  // Another process was first, perhaps with another store.
  if (!isFirst) await claimStore(database, store);
}

/** As other dependencies are retried at a start (processes/wait-for-dependencies.ts). */
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

/**
 * The store of a process, closed until the installation's claim on it is confirmed. A process may start while its store
 * or its database is away: until both have answered, the store may be a wrong one, so nothing is written to it and
 * nothing is missed in it. To callers, a store that is not confirmed is one that does not respond.
 *
 * @param store as it is opened. @param retryMs between two attempts.
 */
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
