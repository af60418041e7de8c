/**
 * The transactions that a migration waits for. Queried on another connection while it runs: once its wait ends,
 * they can no longer be determined.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../telemetry/log.ts';
import type { Database, Statement } from './database.ts';

/** A transaction that holds what a migration waits for. Its statement may contain secrets and is not read. */
export interface Blocker {
  readonly pid: number;
  readonly application: string;
  readonly state: string | null;
  /** How long its transaction has lasted. */
  readonly seconds: number | null;
}

export interface BlockerWatch {
  /** Those that were seen last; empty: none. */
  last(): readonly Blocker[];
  stop(): Promise<void>;
}

/** The longest interval between two looks, and how many there are within a wait at least, on a machine that is idle. */
const CHECK_INTERVAL_MS = 200;
const LEAST_LOOKS = 10;
const LOG_EVERY_MS = 10_000;

const selectBlockers: Statement = {
  name: 'select_lock_blockers',
  text: `SELECT pid, application_name AS application, state,
                round(extract(epoch FROM now() - xact_start))::integer AS seconds
           FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1)) ORDER BY xact_start LIMIT 5`,
};

/**
 * Watches until it is stopped, and logs every 10 s of waiting which transactions the connection `client` waits for.
 *
 * @param longestWaitMs after which a wait ends: some looks have to fall into it.
 */
export async function watchBlockers(
  client: pg.Client,
  database: Database,
  logger: Logger,
  longestWaitMs: number,
): Promise<BlockerWatch> {
  const intervalMs = Math.min(CHECK_INTERVAL_MS, longestWaitMs / LEAST_LOOKS);
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const findBlockers = () => database.query<Blocker>(selectBlockers, [rows[0]?.pid]).catch(() => []);
  // The first look opens the connection, which can take longer than the wait.
  await findBlockers();
  const stopped = new AbortController();
  let last: readonly Blocker[] = [];
  const look = async (): Promise<void> => {
    let waitedMs = 0;
    while (!stopped.signal.aborted) {
      await sleep(intervalMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopped.signal.aborted) return;
      const blockers = await findBlockers();
      waitedMs = blockers.length === 0 ? 0 : waitedMs + intervalMs;
      if (blockers.length > 0) last = blockers;
      if (waitedMs >= LOG_EVERY_MS) {
        logger.info({ blockers }, 'migration waits for other transactions');
        waitedMs = 0;
      }
    }
  };
  const looking = look();
  return {
    last: () => last,
    async stop() {
      stopped.abort();
      await looking;
    },
  };
}
