/**
 * The stream of a response in the background, as it is recorded for readers in any process: the events in groups, not
 * one by one, numbered through all attempts. Each group is written only while its attempt is the call's last one, so
 * that no two attempts can write the same numbers.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { isRecord } from '../../domain/json-members.ts';
import { dataOf, frameOf } from '../encoder.ts';
import type { BackgroundCall } from './call-record.ts';

type Json = Readonly<Record<string, unknown>>;

/** How long events wait for others. */
const FLUSH_AFTER_MS = 200;
/** The size of a group at which it is written at once, in characters. */
const FLUSH_CHARACTERS = 64 * 1024;
/** How far the record may be behind the answer, in characters, before the answer waits for it. */
const MAX_PENDING_CHARACTERS = 4 * FLUSH_CHARACTERS;

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
