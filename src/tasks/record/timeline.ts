/**
 * A task's timeline (contract §4 `events`): what happened, in order. Events are written in the transaction that
 * causes them, under the lock of the task's row, which is what keeps `seq` without gaps. Readers that wait for events
 * get them from feed.ts.
 */
import { UniqueViolationError } from '../../database/database.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { missingTask } from './read.ts';
import { MAX_EVENTS_PER_PAGE } from '@darkroom/api/facts/limits';
import type { EventDetail } from '@darkroom/api/facts/event-detail';

/** The kinds of events, an open set for readers. */
export type TaskEventType =
  | 'accepted'
  | 'started'
  | 'cancel_requested'
  | 'provider_refused'
  | 'provider_unanswered'
  | 'provider_failed'
  | 'submitted'
  | 'produced'
  | 'archiving'
  | 'archived'
  | 'settled'
  | 'restarted'
  | 'storage_fell_back'
  | 'callback_attempted'
  | 'callback_redelivery'
  | 'output_promoted'
  | 'output_deleted'
  | 'erased';

/** An event as its readers get it. */
export interface TaskEvent {
  /** 1 for the first of a task, without gaps. */
  readonly seq: number;
  /** Unix seconds. */
  readonly at: number;
  readonly type: string;
  readonly detail: EventDetail | null;
}

/** An event to be written. */
export type NewEvent = readonly [type: TaskEventType, detail?: EventDetail];

const insertEvents: Statement = {
  name: 'insert_task_events',
  text: `INSERT INTO task_events (task_id, seq, type, detail)
         SELECT $1, (SELECT coalesce(max(seq), 0) FROM task_events WHERE task_id = $1) + n.place, n.type, n.detail
           FROM unnest($2::text[], $3::jsonb[]) WITH ORDINALITY AS n (type, detail, place)`,
};

/**
 * Adds an event.
 *
 * @param transaction one that has written or locked the task's row, so that no other adds an event at the same moment.
 */
export async function addEvent(
  transaction: Queryable,
  taskId: TaskId,
  type: TaskEventType,
  detail?: EventDetail,
): Promise<void> {
  await addEvents(transaction, taskId, [detail === undefined ? [type] : [type, detail]]);
}

/** Adds events in their order, in one statement; see `addEvent`. */
export async function addEvents(transaction: Queryable, taskId: TaskId, events: readonly NewEvent[]): Promise<void> {
  await transaction.query(insertEvents, [
    taskId,
    events.map(([type]) => type),
    events.map(([, detail]) => (detail === undefined ? null : JSON.stringify(detail))),
  ]);
}

const lockStatement: Statement = {
  name: 'lock_task_for_event',
  text: 'SELECT 1 FROM tasks WHERE id = $1 FOR NO KEY UPDATE',
};

/** Locks a task's row for an event that changes nothing in the row itself: events after its end. */
export async function lockTask(transaction: Queryable, taskId: TaskId): Promise<void> {
  await transaction.query(lockStatement, [taskId]);
}

/** The maximum number of attempts to insert an event; no more writers of one task collide. */
const SEQ_ATTEMPTS = 5;

/**
 * Runs a single statement that changes a task and adds its event at once. Where it had to wait for another writer of
 * the task, it computed `seq` before that writer's event existed: PostgreSQL rejects it, whole, and it runs again.
 */
export async function withFreeSeq<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isTaken = error instanceof UniqueViolationError && error.constraint === 'task_events_pkey';
      if (!isTaken || attempt === SEQ_ATTEMPTS) throw error;
    }
  }
}

/** A part of a timeline, with the state of the task at that very moment. */
export interface TimelinePart {
  readonly status: TaskStatus;
  /** The `seq` of the last existing event. */
  readonly lastSeq: number;
  readonly events: readonly TaskEvent[];
}

const selectTimeline: Statement = {
  name: 'select_timeline',
  text: `SELECT t.status, (SELECT coalesce(max(seq), 0) FROM task_events WHERE task_id = t.id) AS "lastSeq",
                (SELECT coalesce(json_agg(json_build_object('seq', e.seq, 'at', floor(extract(epoch FROM e.at)),
                                                            'type', e.type, 'detail', e.detail) ORDER BY e.seq), '[]')
                   FROM (SELECT seq, at, type, detail FROM task_events
                          WHERE task_id = t.id AND seq > $3 ORDER BY seq LIMIT ${MAX_EVENTS_PER_PAGE}) e) AS events
           FROM tasks t WHERE t.id = $1 AND t.account_id = $2`,
};

/**
 * Reads a task's events after a `seq`, at most `MAX_EVENTS_PER_PAGE` of them.
 *
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError}
 */
export async function readTimeline(
  database: Queryable,
  taskId: TaskId,
  accountId: string,
  after: number,
): Promise<TimelinePart> {
  const [part] = await database.query<TimelinePart>(selectTimeline, [taskId, accountId, after]);
  if (part === undefined) throw await missingTask(database, taskId, accountId);
  return part;
}

/** An attempt at an upstream, as the timeline has it. */
interface UpstreamAttempt {
  /** Unix seconds. */
  readonly at: number;
  /** Its id, else its position in the route, from 1, or its name in records. */
  readonly upstream: string;
  readonly outcome: 'accepted' | 'rejected' | 'unanswered' | 'failed';
  readonly reason: string | undefined;
}

const ATTEMPTS: ReadonlyMap<string, UpstreamAttempt['outcome']> = new Map([
  ['submitted', 'accepted'],
  ['provider_refused', 'rejected'],
  ['provider_unanswered', 'unanswered'],
  ['provider_failed', 'failed'],
]);

/** What is recorded of the upstream that has or had the work of a task. */
interface RecordedWork {
  readonly upstream: string;
  /** `intent`: it is not known whether the upstream has accepted it. */
  readonly state: 'intent' | 'submitted' | 'produced';
  /** When that was recorded, in Unix seconds. */
  readonly at: number;
}

/**
 * What upstreams did with a task, in order.
 *
 * @param work undefined: no upstream has it. One that answers a submit with the result is in the timeline by that alone.
 */
export function attemptsAt(events: readonly TaskEvent[], work: RecordedWork | undefined): readonly UpstreamAttempt[] {
  const attempts = events.flatMap(({ at, type, detail }): readonly UpstreamAttempt[] => {
    const outcome = ATTEMPTS.get(type);
    if (outcome === undefined) return [];
    const { upstream = '', reason } = detail ?? {};
    return [{ at, upstream: String(upstream), outcome, reason: reason === undefined ? undefined : String(reason) }];
  });
  if (work === undefined || work.state === 'intent' || attempts.at(-1)?.outcome === 'accepted') return attempts;
  return [...attempts, { at: work.at, upstream: work.upstream, outcome: 'accepted', reason: undefined }];
}
