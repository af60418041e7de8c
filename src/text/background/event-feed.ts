/**
 * Follows the recorded streams of responses in the background, whichever process generates them: one poller per
 * process, which runs only while there are readers, as for events of tasks (tasks/listing/feed.ts).
 */
import { setMaxListeners } from 'node:events';
import type { Queryable, Statement } from '../../database/database.ts';
import { backoffMs } from '../../domain/backoff.ts';
import type { Logger } from '../../telemetry/log.ts';

/** The polling interval in milliseconds, and the longest one while the database is unavailable. */
const POLL_INTERVAL_MS = 250;
const MAX_BACKOFF_MS = 4_000;
/** The maximum number of groups of events that a reader gets from one poll. */
const GROUPS_AT_ONCE = 16;

const selectGroups: Statement = {
  name: 'select_background_events',
  text: `SELECT r.reader, b.ended_at IS NOT NULL OR b.id IS NULL AS "isOver", e.next, e.frames
           FROM unnest($1::integer[], $2::text[], $3::integer[]) AS r (reader, id, position)
           LEFT JOIN background_calls b ON b.id = r.id
           LEFT JOIN LATERAL (
                SELECT first, next, frames FROM background_events
                 WHERE call_id = r.id AND first >= r.position ORDER BY first LIMIT ${GROUPS_AT_ONCE}) e ON true
          ORDER BY r.reader, e.first`,
};

interface GroupRow {
  readonly reader: number;
  readonly isOver: boolean;
  readonly next: number | null;
  readonly frames: readonly string[] | null;
}

interface Reader {
  readonly id: string;
  /** Where the next group begins. */
  position: number;
  readonly waiting: string[];
  isOver: boolean;
  wake: () => void;
}

export interface BackgroundFeed {
  /**
   * The events of a response from the first one on, until it has ended and all were read, or until the signal is
   * aborted.
   */
  follow(id: string, until: AbortSignal): AsyncGenerator<string, void, undefined>;
  /** Aborted by `close`: no stream will come to its end here. */
  readonly closing: AbortSignal;
  close(): void;
}

export function createBackgroundFeed({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): BackgroundFeed {
  const readers = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  let failures = 0;
  const closing = new AbortController();
  // Each reader adds a listener.
  setMaxListeners(0, closing.signal);

  const poll = async (): Promise<void> => {
    // A client may be slower than the model.
    const waiting = [...readers].filter((reader) => reader.waiting.length === 0);
    if (waiting.length === 0) return;
    const rows = await database.query<GroupRow>(selectGroups, [
      waiting.map((_, index) => index),
      waiting.map(({ id }) => id),
      waiting.map(({ position }) => position),
    ]);
    for (const [index, reader] of waiting.entries()) {
      take(
        reader,
        rows.filter((row) => row.reader === index),
      );
    }
  };

  const tick = async (): Promise<void> => {
    timer = undefined;
    isPolling = true;
    try {
      await poll();
      failures = 0;
    } catch (error) {
      if (failures === 0) logger.warn({ err: error }, 'reading responses in the background failed; retrying');
      failures += 1;
    } finally {
      isPolling = false;
    }
    schedule();
  };

  const schedule = (): void => {
    if (isPolling || timer !== undefined || readers.size === 0) return;
    timer = setTimeout(() => void tick(), backoffMs({ firstMs: POLL_INTERVAL_MS, maxMs: MAX_BACKOFF_MS }, failures));
    timer.unref();
  };

  return {
    closing: closing.signal,
    close: () => closing.abort(),
    async *follow(id, until) {
      const reader: Reader = { id, position: 0, waiting: [], isOver: false, wake: () => {} };
      const onAbort = (): void => reader.wake();
      until.addEventListener('abort', onAbort);
      readers.add(reader);
      try {
        while (!until.aborted) {
          const frame = reader.waiting.shift();
          if (frame !== undefined) {
            yield frame;
            continue;
          }
          if (reader.isOver) return;
          schedule();
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
        }
      } finally {
        readers.delete(reader);
        until.removeEventListener('abort', onAbort);
        if (readers.size === 0) {
          clearTimeout(timer);
          timer = undefined;
        }
      }
    },
  };
}

function take(reader: Reader, rows: readonly GroupRow[]): void {
  for (const { next, frames } of rows) {
    if (next === null || frames === null) continue;
    reader.waiting.push(...frames);
    reader.position = next;
  }
  // The last events are written with the end.
  reader.isOver = rows.length < GROUPS_AT_ONCE && rows.every(({ isOver }) => isOver);
  if (reader.isOver || reader.waiting.length > 0) reader.wake();
}
