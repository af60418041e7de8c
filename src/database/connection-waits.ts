/**
 * Finds code that waits for a connection of a pool while it holds one, which ends in a deadlock once every connection
 * is held by a caller that waits: as many simultaneous requests as the pool has connections are enough. Tests enable
 * the check for a whole process; while it is off it costs nothing, because there is no async context to carry.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** A statement or a transaction requested a connection inside another transaction of the same pool. */
export class NestedConnectionError extends Error {
  override readonly name = 'NestedConnectionError';
}

/** Watches the connections of one pool. */
export interface ConnectionWaits {
  /** Runs the work of a transaction, which holds a connection until it ends. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  /**
   * @param what requests a connection: a statement's name, or `a transaction`.
   * @throws {NestedConnectionError} the caller is inside a transaction; both call sites are named.
   */
  assertMayWait(what: string): void;
}

/** Where a transaction began, and whether its connection has been given back. */
interface Held {
  readonly begun: Error;
  isOver: boolean;
}

let isChecking = false;

/**
 * Enables the check for every pool that this process opens from now on. For tests only.
 *
 * @public loaded by test/support/prepare-program.mjs, by a path that is computed.
 */
export function checkConnectionWaits(): void {
  isChecking = true;
}

/** @returns undefined if nothing is checked. */
export function watchConnectionWaits(): ConnectionWaits | undefined {
  if (!isChecking) return undefined;
  const transactions = new AsyncLocalStorage<Held>();
  return {
    async hold(work) {
      const held: Held = { begun: new Error('the transaction began'), isOver: false };
      try {
        return await transactions.run(held, work);
      } finally {
        held.isOver = true;
      }
    },
    assertMayWait(what) {
      const held = transactions.getStore();
      // Work that a transaction started and did not wait for inherits its context, and holds nothing afterwards.
      if (held === undefined || held.isOver) return;
      throw new NestedConnectionError(
        `${what} waits for a connection of the pool inside a transaction that holds one; use the transaction, or acquire it before the transaction begins\nthe transaction began:\n${framesOf(held.begun)}\nrequested at:`,
      );
    },
  };
}

/** The callers in an error's stack, without its message and this file. */
function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !line.includes('connection-waits'))
    .join('\n');
}
