/**
 * Rows that have been locked for longer than a transaction waits for one (src/database/database.ts): of
 * accounts, or of upstreams. Each transaction that needs such a row holds a connection until it has waited in vain,
 * so that the stalled rows of one stopped process could take all that there are. They are therefore tried by a few
 * transactions at a time, in turns, until one of these succeeds. All others wait in memory.
 */

/**
 * The server ends the session of a stopped process after 10 s (src/database/database.ts); many rows are tried in
 * turns.
 */
const FORGOTTEN_AFTER_MS = 60_000;

export interface StalledRows {
  /** A transaction has waited for this row in vain. */
  add(row: string): void;
  /** A transaction has locked it. */
  delete(row: string): void;
  has(row: string): boolean;
  /**
   * How many units a row may take of what it shares with others (tenant-shares.ts, `mostOf`): one if it is stalled
   * and has its turn, none until then, and its whole share otherwise.
   *
   * @param trials units for all stalled rows together.
   * @param heldBy how many of them a row holds.
   */
  mostOf(row: string, trials: number, heldBy: (row: string) => number): number;
}

/** @param now milliseconds; only differences count. */
export function createStalledRows(now: () => number = () => performance.now()): StalledRows {
  /** When each was last waited for in vain, longest ago first. */
  const since = new Map<string, number>();

  const forgetOld = (): void => {
    for (const [row, at] of since) {
      if (now() - at < FORGOTTEN_AFTER_MS) return;
      since.delete(row);
    }
  };

  return {
    add(row) {
      forgetOld();
      since.delete(row);
      since.set(row, now());
    },
    delete(row) {
      since.delete(row);
    },
    has(row) {
      forgetOld();
      return since.has(row);
    },
    mostOf(row, trials, heldBy) {
      if (!since.has(row)) return Infinity;
      forgetOld();
      let heldByOthers = 0;
      for (const other of since.keys()) if (other !== row) heldByOthers += heldBy(other);
      return heldByOthers < trials ? 1 : 0;
    },
  };
}
