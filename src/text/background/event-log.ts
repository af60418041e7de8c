/**
 * The stream of a response in the background, as an attempt records it and readers in any process follow it: the events
 * in groups, not one by one, numbered through all attempts. Each group is written only while its attempt is the call's
 * last one, so that no two attempts can write the same numbers.
 */
import { setMaxListeners } from 'node:events';
import type { Queryable, Statement } from '../../database/database.ts';
import { backoffMs } from '../../domain/waits.ts';
import { isRecord } from '../../domain/json.ts';
import type { Logger } from '../../telemetry/log.ts';
import { dataOf, frameOf } from '../encoder.ts';
import type { BackgroundCall } from './call-record.ts';

type Json = Readonly<Record<string, unknown>>;

/** How long events wait for others. */
const FLUSH_AFTER_MS = 200;
/** The size of a group at which it is written at once, in characters. */
const FLUSH_CHARACTERS = 64 * 1024;
/** How far the record may be behind the answer, in characters, before the answer waits for it. */
const MAX_PENDING_CHARACTERS = 4 * FLUSH_CHARACTERS;
/** The polling interval of readers in milliseconds, and the longest one while the database is unavailable. */
const POLL_INTERVAL_MS = 250;
const MAX_BACKOFF_MS = 4_000;
/** The maximum number of groups of events that a reader gets from one poll. */
const GROUPS_AT_ONCE = 16;

/** Those that every attempt would begin with, or that its outcome decides. */
const NOT_RECORDED: ReadonlySet<string> = new Set([
  'response.created',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

/** An event without its number. */
export interface StreamEvent extends Json {
  readonly type: string;
}

const insertFrames: Statement = {
  name: 'insert_background_events',
  text: `INSERT INTO background_events (call_id, first, next, frames)
         SELECT b.id, $3, $4, $5
           FROM (SELECT id FROM background_calls
                  WHERE id = $1 AND ($2::integer IS NULL OR (attempts = $2 AND ended_at IS NULL)) FOR SHARE) b
         ON CONFLICT (call_id, first) DO NOTHING
         RETURNING call_id`,
};
const selectNext: Statement = {
  name: 'select_next_background_event',
  text: 'SELECT coalesce(max(next), 0)::integer AS next FROM background_events WHERE call_id = $1',
};

/** The number of the next event of a call. */
async function readNextNumber(database: Queryable, callId: string): Promise<number> {
  const [row] = await database.query<{ next: number }>(selectNext, [callId]);
  return row?.next ?? 0;
}

function framesOf(events: readonly StreamEvent[], first: number): readonly string[] {
  return events.map(({ type, ...data }, index) => frameOf({ type, sequence_number: first + index, ...data }, type));
}

/** Appends events in the transaction that creates, ends or cancels the call. */
export async function appendEvents(
  transaction: Queryable,
  callId: string,
  events: readonly StreamEvent[],
): Promise<void> {
  const first = await readNextNumber(transaction, callId);
  const values = [callId, null, first, first + events.length, framesOf(events, first)];
  await transaction.query(insertFrames, values);
}

/** Records the stream of one attempt. */
export class EventRecorder {
  readonly #database: Queryable;
  readonly #call: Pick<BackgroundCall, 'id' | 'attempt'>;
  #pending: string[] = [];
  #pendingCharacters = 0;
  #next: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failed: Json | undefined;
  #isClosed = false;
  #isUnsure = false;

  private constructor(database: Queryable, call: Pick<BackgroundCall, 'id' | 'attempt'>, next: number) {
    this.#database = database;
    this.#call = call;
    this.#next = next;
  }

  /** For an attempt that has begun: no other one can record any more. */
  static async open(database: Queryable, call: Pick<BackgroundCall, 'id' | 'attempt'>): Promise<EventRecorder> {
    return new EventRecorder(database, call, await readNextNumber(database, call.id));
  }

  /** The number of the next event. */
  get next(): number {
    return this.#next;
  }

  /** The response object of an answer that broke off, with what was generated until then. */
  get failedResponse(): Json | undefined {
    return this.#failed;
  }

  /** @param frame one server-sent event. Resolves when the answer may go on. */
  async add(frame: string): Promise<void> {
    const event = eventOf(frame);
    if (event === undefined) return;
    if (event.type === 'response.failed' && isRecord(event['response'])) this.#failed = event['response'];
    if (NOT_RECORDED.has(event.type)) return;
    const [numbered = ''] = framesOf([event], this.#next);
    this.#next += 1;
    this.#pending.push(numbered);
    this.#pendingCharacters += numbered.length;
    if (this.#pendingCharacters >= FLUSH_CHARACTERS) void this.#flush();
    this.#flushLater();
    if (this.#pendingCharacters >= MAX_PENDING_CHARACTERS) await this.#writing;
  }

  /** Writes what is not written yet, within the transaction that records the outcome. */
  async finish(transaction: Queryable, last: readonly StreamEvent[]): Promise<void> {
    const first = await readNextNumber(transaction, this.#call.id);
    const unwritten = this.#next - first;
    const pending = unwritten > 0 ? this.#pending.slice(-unwritten) : [];
    const frames = [...pending, ...framesOf(last, this.#next)];
    await transaction.query(insertFrames, [this.#call.id, null, first, first + frames.length, frames]);
  }

  /** Waits until nothing is being written, and writes no more by itself. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
  }

  #flushLater(): void {
    if (this.#isClosed || this.#pending.length === 0) return;
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_AFTER_MS).unref();
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      this.#flushLater();
    });
    return this.#writing;
  }

  /** Never throws: what could not be written is written with the next group, and with the last one at the latest. */
  async #write(): Promise<void> {
    const { id, attempt } = this.#call;
    try {
      // A group that seemed to fail may have been written all the same.
      if (this.#isUnsure) this.#drop((await readNextNumber(this.#database, id)) - this.#first);
      const frames = [...this.#pending];
      const first = this.#first;
      this.#isUnsure = true;
      const values = [id, attempt, first, first + frames.length, frames];
      const written = frames.length === 0 ? [] : await this.#database.query(insertFrames, values);
      if (written.length === 0) return;
      this.#isUnsure = false;
      this.#drop(frames.length);
    } catch {
      // The next group contains it.
    }
  }

  /** The number of the first event that is not known to be written. */
  get #first(): number {
    return this.#next - this.#pending.length;
  }

  #drop(count: number): void {
    if (count <= 0) return;
    this.#pending = this.#pending.slice(count);
    this.#pendingCharacters = this.#pending.reduce((sum, frame) => sum + frame.length, 0);
  }
}

/** The event of a frame; undefined: it has none, like the mark at the end of a stream. */
function eventOf(frame: string): StreamEvent | undefined {
  const { sequence_number: _, type, ...data } = dataOf(frame) ?? {};
  return typeof type === 'string' ? { ...data, type } : undefined;
}

const deleteOld: Statement = {
  name: 'delete_old_background_events',
  text: `DELETE FROM background_events e
          USING (SELECT o.call_id, o.first FROM background_calls b JOIN background_events o ON o.call_id = b.id
                  WHERE b.ended_at < now() - interval '1 hour' AND b.batch_id IS NULL LIMIT $1) old
          WHERE e.call_id = old.call_id AND e.first = old.first
          RETURNING e.call_id`,
};

/** Deletes events of calls that ended an hour ago: their streams are rebuilt from then on. @returns how many groups. */
export async function deleteOldEvents(database: Queryable, limit: number): Promise<number> {
  return (await database.query(deleteOld, [limit])).length;
}

/** The recorded stream of a response. */
export interface RecordedStream {
  readonly isOver: boolean;
  /** The number of the next event. */
  readonly next: number;
}

const selectStream: Statement = {
  name: 'select_background_stream',
  text: `SELECT b.ended_at IS NOT NULL AS "isOver", e.next FROM background_calls b
          CROSS JOIN LATERAL (SELECT max(next)::integer AS next FROM background_events WHERE call_id = b.id) e
          WHERE b.id = $1 AND b.account_id = $2 AND b.is_streamed AND b.batch_id IS NULL AND e.next IS NOT NULL
            AND (b.ended_at IS NULL
                 OR EXISTS (SELECT FROM text_responses r WHERE r.id = b.id AND r.deleted_at IS NULL))`,
};

/** @returns undefined if the response has none that can be read: it was not streamed, or is rebuilt by now. */
export async function findRecordedStream(
  database: Queryable,
  accountId: string,
  id: string,
): Promise<RecordedStream | undefined> {
  const [stream] = await database.query<RecordedStream>(selectStream, [id, accountId]);
  return stream;
}

const eraseStatement: Statement = {
  name: 'erase_background_call',
  text: `WITH erased AS (
           UPDATE background_calls SET response = NULL, error = NULL
            WHERE id = $1 AND account_id = $2 AND ended_at IS NOT NULL AND batch_id IS NULL RETURNING id)
         DELETE FROM background_events WHERE call_id IN (SELECT id FROM erased)`,
};

/** Removes what is recorded of a response that was deleted. */
export async function eraseRecord(database: Queryable, accountId: string, id: string): Promise<void> {
  await database.query(eraseStatement, [id, accountId]);
}

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

/**
 * Follows the recorded streams, whichever process generates them: one poller per process, which runs only while there
 * are readers, as for events of tasks (tasks/listing/feed.ts).
 */
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
