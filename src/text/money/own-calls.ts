/**
 * What an API process remembers of its own text calls, in addition to the database. A database that loses its last
 * commits (docs/decisions/0005) loses settlements too: such a call is open again, while its process is still running
 * and considers it settled.
 */
import { LRUCache } from 'lru-cache';
import type { Database, Statement } from '../../database/database.ts';
import { estimatedSettlement } from './text-call.ts';
import type { NewTextCall, TextSettlement } from './text-call.ts';

/** The number of calls whose outcome is remembered: more than are settled in the time whose commits can be lost. */
const MAX_REMEMBERED = 20_000;

/** Calls in the background belong to no process. */
const selectOpen: Statement = {
  name: 'select_open_text_calls_of_process',
  text: `SELECT id, account_id AS "accountId", floor_micro_usd AS "floorMicroUsd", input_tokens AS "inputTokens"
           FROM text_calls c
          WHERE process_id = $1 AND settled_at IS NULL
            AND NOT EXISTS (SELECT FROM background_calls b WHERE b.id = c.id)`,
};

/** The age in milliseconds below which a settlement may not have been committed yet. */
const ON_ITS_WAY_MS = 5_000;

type OpenCall = Pick<NewTextCall, 'id' | 'accountId' | 'floorMicroUsd' | 'inputTokens'>;

export interface OwnCalls {
  /** A hold is about to be requested. The call is in progress from now on until it has ended. */
  begun(id: string): void;
  /** The hold was rejected, so the call does not run. */
  rejected(id: string): void;
  ended(settlement: TextSettlement): void;
  /**
   * @returns how to settle those that are open in the database, and over in this process.
   * @throws {DatabaseUnavailableError}
   */
  findReopened(): Promise<readonly TextSettlement[]>;
}

/** @param now in milliseconds, for tests. */
export function createOwnCalls(database: Database, processId: string, now = () => performance.now()): OwnCalls {
  const underWay = new Set<string>();
  const settlements = new LRUCache<string, { readonly settlement: TextSettlement; readonly at: number }>({
    max: MAX_REMEMBERED,
  });

  return {
    begun: (id) => void underWay.add(id),
    rejected: (id) => void underWay.delete(id),
    ended(settlement) {
      underWay.delete(settlement.id);
      // The first settlement counts, as it does in the database.
      const first = settlements.get(settlement.id)?.settlement ?? settlement;
      settlements.set(settlement.id, { settlement: first, at: now() });
    },
    async findReopened() {
      const open = await database.query<OpenCall>(selectOpen, [processId]);
      return open.flatMap((call) => {
        const known = settlements.get(call.id);
        if (underWay.has(call.id) || (known !== undefined && now() - known.at < ON_ITS_WAY_MS)) return [];
        return [known?.settlement ?? estimatedSettlement(call, call.floorMicroUsd)];
      });
    },
  };
}
