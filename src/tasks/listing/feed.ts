/**
 * Live events for waiting readers: one poller per process, which runs only while there are listeners (contract §4
 * streams, §3 `Prefer: wait`). It polls instead of using NOTIFY, which would serialise the commits of all
 * transactions that write events.
 *
 * No event is lost, whatever the order in which transactions commit: a poll reads what the snapshot of the previous
 * poll could not see. A listener gets each event of its task once and in order; where one is missing, because the
 * poll failed or returned too many, it is read again from that listener's position.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { createPollPace, createPoller } from '../../database/poller.ts';
import { backoffMs } from '../../domain/waits.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { TaskEvent } from '../record/timeline.ts';

/** A listener to a task's events. Neither function may throw. */
export interface EventListener {
  onEvent(event: TaskEvent): void;
  /** The feed ends with its process: no more events will come. */
  onEnd(): void;
}

export interface EventFeed {
  /**
   * Listens to a task's events after a `seq`, those of before this call included.
   *
   * @returns a function that ends the listening; to be called once, also by the listener itself.
   */
  subscribe(taskId: TaskId, after: number, listener: EventListener): () => void;
  /** How many listeners there are. */
  count(): number;
  /** Ends the feed and notifies every listener. */
  close(): void;
}

/** The polling interval while the database is unavailable, in milliseconds; otherwise database/poller.ts. */
const UNAVAILABLE = { firstMs: 500, maxMs: 4_000 };
/** The maximum number of new events of one poll. If there are more, every listener catches up from its own `seq`. */
const MAX_NEW_EVENTS = 10_000;
/** The maximum number of listeners that catch up in one poll, and the number of events that each gets. */
const MAX_JOINING = 1_000;
const MAX_CAUGHT_UP = 1_000;

const COLUMNS = `task_id AS "taskId", seq, floor(extract(epoch FROM at))::float8 AS at, type, detail`;

/**
 * ORDER BY and LIMIT keep both parts on their index, whatever the planner assumes about the table's size. The tasks are
 * a subquery, which is hashed: against an array the server would compare every new event with all of its elements.
 */
const pollStatement: Statement = {
  name: 'poll_task_events',
  text: `WITH fresh AS MATERIALIZED (
           SELECT task_id, seq, at, type, detail FROM task_events
            WHERE xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
              AND task_id IN (SELECT unnest($4::text[]))
            ORDER BY xid LIMIT ${MAX_NEW_EVENTS}),
         caught_up AS (
           SELECT e.* FROM unnest($2::text[], $3::integer[]) AS j (task_id, seq)
            CROSS JOIN LATERAL (
                  SELECT task_id, seq, at, type, detail FROM task_events
                   WHERE task_id = j.task_id AND seq > j.seq ORDER BY seq LIMIT ${MAX_CAUGHT_UP}) e)
         SELECT pg_current_snapshot()::text AS snapshot, NULL AS "taskId", 0 AS seq, NULL AS at, NULL AS type, NULL AS detail
         UNION ALL
         SELECT 'fresh', ${COLUMNS} FROM fresh
         UNION ALL
         SELECT NULL, ${COLUMNS} FROM caught_up
         ORDER BY seq`,
};

interface PollRow extends TaskEvent {
  /** The poll's own snapshot in the row with `seq` 0; 'fresh' for events that the previous poll could not see. */
  readonly snapshot: string | null;
  readonly taskId: string;
}

interface Subscriber {
  readonly taskId: string;
  readonly listener: EventListener;
  /** The last event that the listener has received. */
  seq: number;
}

export function createEventFeed({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): EventFeed {
  const byTask = new Map<string, Set<Subscriber>>();
  /** Those that have yet to catch up by their own `seq`. */
  const joining = new Set<Subscriber>();
  let count = 0;
  let isClosed = false;
  /** What the last poll could see; undefined: every listener joins anew. */
  let snapshot: string | undefined;
  /** The tasks of `byTask` as an array of PostgreSQL; undefined: they have changed. */
  let watched: string | undefined;
  const pace = createPollPace();

  const everybodyJoins = (): void => {
    snapshot = undefined;
    for (const subscribers of byTask.values()) for (const subscriber of subscribers) joining.add(subscriber);
  };

  const offer = (event: PollRow): void => {
    const { taskId, seq, at, type, detail } = event;
    for (const subscriber of byTask.get(taskId) ?? []) {
      if (seq <= subscriber.seq) continue;
      if (seq > subscriber.seq + 1) {
        joining.add(subscriber);
        continue;
      }
      subscriber.seq = seq;
      pace.happened();
      subscriber.listener.onEvent({ seq, at, type, detail });
    }
  };

  const poll = async (): Promise<void> => {
    const joiners = [...joining].slice(0, MAX_JOINING).map((subscriber) => ({ subscriber, after: subscriber.seq }));
    for (const { subscriber } of joiners) joining.delete(subscriber);
    const rows = await database.query<PollRow>(pollStatement, [
      snapshot ?? null,
      joiners.map(({ subscriber }) => subscriber.taskId),
      joiners.map(({ after }) => after),
      // Kept for the next poll: of ten thousand tasks the driver makes it in milliseconds, during which nothing else runs.
      (watched ??= `{${[...byTask.keys()].join(',')}}`),
    ]);
    const [first, ...events] = rows;
    // The listeners may have left meanwhile.
    snapshot = count === 0 ? undefined : (first?.snapshot ?? undefined);
    for (const event of events) offer(event);
    for (const { subscriber, after } of joiners) {
      const isHere = byTask.get(subscriber.taskId)?.has(subscriber) === true;
      if (isHere && subscriber.seq - after >= MAX_CAUGHT_UP) joining.add(subscriber);
    }
    if (events.filter((event) => event.snapshot === 'fresh').length >= MAX_NEW_EVENTS) everybodyJoins();
  };

  const poller = createPoller({
    what: 'the task event feed',
    poll: () => pace.timed(poll),
    isNeeded: () => count > 0 && !isClosed,
    waitMs: (failures) => {
      if (failures > 0) return backoffMs(UNAVAILABLE, failures - 1);
      // More of them wait than one poll can serve.
      return joining.size >= MAX_JOINING ? 0 : pace.waitMs(byTask.size);
    },
    onFailure: everybodyJoins,
    logger,
  });

  return {
    subscribe(taskId, after, listener) {
      if (isClosed) {
        queueMicrotask(() => listener.onEnd());
        return () => {};
      }
      const subscriber: Subscriber = { taskId, listener, seq: after };
      const others = byTask.get(taskId);
      if (others === undefined) {
        byTask.set(taskId, new Set([subscriber]));
        watched = undefined;
      } else others.add(subscriber);
      joining.add(subscriber);
      count += 1;
      pace.happened();
      poller.schedule();
      return () => {
        const subscribers = byTask.get(taskId);
        if (subscribers?.delete(subscriber) !== true) return;
        if (subscribers.size === 0) {
          byTask.delete(taskId);
          watched = undefined;
        }
        joining.delete(subscriber);
        count -= 1;
        if (count > 0) return;
        poller.stop();
        // The next listener begins anew: an old snapshot is not kept.
        snapshot = undefined;
      };
    },
    count: () => count,
    close() {
      isClosed = true;
      poller.stop();
      const subscribers = [...byTask.values()].flatMap((each) => [...each]);
      byTask.clear();
      joining.clear();
      count = 0;
      for (const { listener } of subscribers) listener.onEnd();
    },
  };
}
