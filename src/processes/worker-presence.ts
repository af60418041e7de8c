/**
 * Notices workers that have died. A wait for a provider's job sends a heartbeat once a minute, so Temporal would miss a
 * dead one only after minutes (docs/decisions/0024). Each worker therefore writes a row every few seconds, and watches
 * those of the others; the attempts of one that is silent are failed in Temporal, which starts them again elsewhere. So
 * are attempts that a living worker never got.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Statement } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

const BEAT_MS = 3_000;
/** Three beats are missing, and it was watched for as long. */
const DEAD_AFTER_MS = 12_000;
/** The database was away, or this process was held up: what the others did meanwhile is not known. */
const LATE_MS = 9_000;

const beatStatement: Statement = {
  name: 'beat_worker_process',
  text: `WITH own AS (
           INSERT INTO worker_processes (id, seen_at, records_waits) VALUES ($1, clock_timestamp(), true)
           ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at)
         SELECT id, seen_at::text AS "seenAt" FROM worker_processes WHERE id <> $1`,
};

const removeStatement: Statement = {
  name: 'remove_worker_process',
  text: `DELETE FROM worker_processes WHERE id = $1 AND ($2::text IS NULL OR seen_at = $2::timestamptz) RETURNING id`,
};

interface OtherWorker {
  readonly id: string;
  readonly seenAt: string;
}

export interface WorkerPresenceOptions {
  readonly database: Pick<Database, 'query'>;
  readonly logger: Logger;
  /** Of this process, under which Temporal knows its workers. */
  readonly identity: string;
  /** Hands over what a dead worker had in hand. Called by one of the processes that noticed it. */
  readonly handOver: (identity: string) => Promise<void>;
  /** Hands back what living workers never got. Called with each beat. */
  readonly handBackLost: () => Promise<void>;
  /** Milliseconds of a steady clock. */
  readonly now?: () => number;
  readonly beatMs?: number;
}

export interface WorkerPresence {
  /** Ends it, and removes its row: this process has nothing in hand any more. */
  close(): Promise<void>;
}

/** Starts to write and to watch. A failure never stops the worker itself. */
export function startWorkerPresence(options: WorkerPresenceOptions): WorkerPresence {
  const {
    database,
    logger,
    identity,
    handOver,
    handBackLost,
    now = () => performance.now(),
    beatMs = BEAT_MS,
  } = options;
  const stopping = new AbortController();
  /** The last beat of each other worker, and since when it has been its last. */
  const watched = new Map<string, { readonly seenAt: string; readonly since: number }>();
  let lastBeatAt = now();

  /** @returns those that are dead. */
  function watch(others: readonly OtherWorker[]): readonly OtherWorker[] {
    const at = now();
    if (at - lastBeatAt > LATE_MS) watched.clear();
    lastBeatAt = at;
    const ids = new Set(others.map(({ id }) => id));
    for (const id of watched.keys()) if (!ids.has(id)) watched.delete(id);
    return others.filter(({ id, seenAt }) => {
      const before = watched.get(id);
      if (before?.seenAt !== seenAt) watched.set(id, { seenAt, since: at });
      return before?.seenAt === seenAt && at - before.since >= DEAD_AFTER_MS;
    });
  }

  async function bury({ id, seenAt }: OtherWorker): Promise<void> {
    // Whoever removes the row hands its work over; if that process dies too, the heartbeat time-out does.
    const removed = await database.query(removeStatement, [id, seenAt]);
    if (removed.length === 0) return;
    logger.warn({ worker: id }, 'a worker has died; handing over what it waited for');
    await handOver(id);
  }

  async function beat(): Promise<void> {
    try {
      for (const dead of watch(await database.query<OtherWorker>(beatStatement, [identity]))) await bury(dead);
    } catch (err) {
      watched.clear();
      logger.debug({ err }, 'watching the other workers failed');
      return;
    }
    await handBackLost().catch((err: unknown) => {
      logger.debug({ err }, 'looking for lost waits failed');
    });
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await beat();
      await sleep(beatMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async close() {
      stopping.abort();
      await running;
      await database.query(removeStatement, [identity, null]).catch(() => undefined);
    },
  };
}
