/**
 * The limit on concurrent jobs at an upstream, across all workers: a slot is a row for the task that has it, so a
 * worker that dies loses none, and the worker that takes the task over finds it taken. A cap is checked against the
 * count in addition to the rows, because an update sees the newest version of one row, and a count over rows would not.
 *
 * When all are taken, tasks queue, one queue for all workers. It is fair by account: the account with the fewest jobs
 * there comes next, equals take turns, and within an account the task that has been handled longest comes first. No
 * task overtakes the next one, even if that one's model caps the upstream lower than the others' do. A released slot is
 * passed on in the same transaction, so that none is free while the next task may have it, and no task has to poll. A
 * task's row ends with the task, so that a task that died keeps no other waiting.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/**
 * A provider may still be notified of a task that has ended (workflows/activity-options.ts: 30 s an attempt); a slot
 * that is taken after that was forgotten.
 */
const FORGOTTEN_SECONDS = 60;
/** The maximum number of admissions in one transaction. Others wait for the upstream's row during it. */
export const MAX_ADMISSIONS = 100;

/** A task that was admitted. */
export interface Admission {
  readonly taskId: TaskId;
  readonly accountId: string;
}

const find: Statement = {
  name: 'find_upstream_slot',
  text: `SELECT CASE WHEN EXISTS (SELECT 1 FROM upstream_slots WHERE upstream = $1 AND task_id = $2) THEN 'own'
                     WHEN EXISTS (SELECT 1 FROM upstream_waits w WHERE w.upstream = $1)
                       OR EXISTS (SELECT 1 FROM upstream_states s WHERE s.upstream = $1
                                     AND s.slots_taken >= CASE WHEN s.cap_since IS NULL THEN $3::integer ELSE s.cap END)
                     THEN 'none' ELSE 'free' END AS found`,
};

/**
 * Whether a task has a slot, or could take one: what is true at this moment, without a lock.
 *
 * @param cap as for `acquireSlot`.
 */
export async function findSlot(
  database: Queryable,
  upstream: string,
  taskId: TaskId,
  cap: number,
): Promise<'own' | 'free' | 'none'> {
  const [row] = await database.query<{ found: 'own' | 'free' | 'none' }>(find, [upstream, taskId, cap]);
  return row?.found ?? 'free';
}

const take: Statement = {
  name: 'take_upstream_slot',
  text: `WITH held AS (SELECT 1 FROM upstream_slots WHERE upstream = $1 AND task_id = $2),
         counted AS (
           INSERT INTO upstream_states AS s (upstream, slots_taken)
           SELECT $1, 1 WHERE NOT EXISTS (SELECT 1 FROM held)
                          AND NOT EXISTS (SELECT 1 FROM upstream_waits w WHERE w.upstream = $1)
           ON CONFLICT (upstream) DO UPDATE SET slots_taken = s.slots_taken + 1
              WHERE (s.slots_taken >= CASE WHEN s.cap_since IS NULL THEN $3 ELSE s.cap END) IS NOT TRUE
           RETURNING s.upstream),
         slot AS (
           INSERT INTO upstream_slots (upstream, task_id, account_id) SELECT upstream, $2, $4 FROM counted RETURNING task_id)
         SELECT 1 FROM held UNION ALL SELECT 1 FROM slot`,
};

/**
 * Takes a free slot for a task, if no task waits; a task that has one keeps it.
 *
 * @param cap how many there are, at least 1, if no API process has published the cap in force (published-caps.ts).
 * @returns false: all are taken, or others come first.
 */
export async function acquireSlot(
  database: Queryable,
  upstream: string,
  { taskId, accountId }: Admission,
  cap: number,
): Promise<boolean> {
  return (await database.query(take, [upstream, taskId, cap, accountId])).length > 0;
}

const giveBack: Statement = {
  name: 'give_back_upstream_slot',
  text: `WITH gone AS (DELETE FROM upstream_slots WHERE upstream = $1 AND task_id = $2 RETURNING upstream)
         UPDATE upstream_states s SET slots_taken = s.slots_taken - 1 FROM gone WHERE s.upstream = gone.upstream
         RETURNING s.upstream`,
};

/** Releases a task's slot. @returns whether it had one. */
export async function releaseSlot(transaction: Queryable, upstream: string, taskId: string): Promise<boolean> {
  return (await transaction.query(giveBack, [upstream, taskId])).length > 0;
}

const sweep: Statement = {
  name: 'sweep_upstream_slots',
  text: `WITH gone AS (
           DELETE FROM upstream_slots s USING tasks t
            WHERE s.upstream = $1 AND t.id = s.task_id
              AND t.completed_at < now() - make_interval(secs => ${FORGOTTEN_SECONDS})
        RETURNING s.upstream),
         freed AS (
           UPDATE upstream_states s SET slots_taken = s.slots_taken - g.number
             FROM (SELECT upstream, count(*)::integer AS number FROM gone GROUP BY upstream) g
            WHERE s.upstream = g.upstream RETURNING g.number)
         SELECT number FROM freed`,
};

/** Frees slots still held by tasks that ended more than a minute ago. @returns how many slots. */
export async function sweepSlots(database: Queryable, upstream: string): Promise<number> {
  const [row] = await database.query<{ number: number }>(sweep, [upstream]);
  return row?.number ?? 0;
}

const lock: Statement = {
  name: 'lock_upstream',
  text: 'SELECT 1 FROM upstream_states WHERE upstream = $1 FOR UPDATE',
};

/**
 * Keeps other transactions from the upstream's slots and queue until this one ends. The functions that change the queue
 * run in a transaction that has called this: what they read is therefore current.
 *
 * @returns false: it never had any.
 */
export async function lockUpstream(transaction: Queryable, upstream: string): Promise<boolean> {
  return (await transaction.query(lock, [upstream])).length > 0;
}

/** An account without waiting tasks starts behind all that wait now. */
const join: Statement = {
  name: 'join_upstream_queue',
  text: `WITH turn AS (
           INSERT INTO upstream_turns AS t (upstream, account_id) VALUES ($1, $3)
           ON CONFLICT (upstream, account_id) DO UPDATE SET turn = excluded.turn
             WHERE NOT EXISTS (SELECT 1 FROM upstream_waits w WHERE w.upstream = $1 AND w.account_id = $3)),
         joined AS (
           INSERT INTO upstream_waits AS w (upstream, task_id, account_id, cap, since)
           VALUES ($1, $2, $3, $4, coalesce((SELECT started_at FROM tasks WHERE id = $2), now()))
           ON CONFLICT (upstream, task_id) DO UPDATE SET cap = excluded.cap
           RETURNING since)
         SELECT greatest(0, extract(epoch FROM now() - since) * 1000)::float8 AS "waitedMs" FROM joined`,
};

/**
 * Adds a task to the queue; one that is in it keeps its position.
 *
 * @param cap how many slots there are for its model, at least 1, if no API process has published the cap in force.
 * @returns for how many milliseconds it has been handled: mostly waiting, if it has waited long.
 */
export async function joinQueue(
  transaction: Queryable,
  upstream: string,
  { taskId, accountId }: Admission,
  cap: number,
): Promise<number> {
  const [row] = await transaction.query<{ waitedMs: number }>(join, [upstream, taskId, accountId, cap]);
  return row?.waitedMs ?? 0;
}

const leave: Statement = {
  name: 'leave_upstream_queue',
  text: 'DELETE FROM upstream_waits WHERE upstream = $1 AND task_id = $2',
};

/** Removes a task from the queue, if it is there. */
export async function leaveQueue(transaction: Queryable, upstream: string, taskId: string): Promise<void> {
  await transaction.query(leave, [upstream, taskId]);
}

/**
 * A task that waits for any member of a pool is in the queues of several, and one slot is enough for it. One that has
 * just been admitted somewhere is on its way, and leaves the other queues when it arrives; if it has not by then, it
 * may have been forgotten there.
 */
const ARRIVES_WITHIN_SECONDS = 30;

/**
 * Tasks that have ended, or are past their deadline, are skipped; the next cleanup removes them. If an API process has
 * published that there is no cap, `cap` is null, and so are comparisons with it.
 */
const admit: Statement = {
  name: 'admit_to_upstream',
  text: `WITH next AS (
           SELECT head.task_id, s.cap_since IS NOT NULL OR head.cap > s.slots_taken AS has_room
             FROM upstream_states s
             JOIN upstream_turns a ON a.upstream = s.upstream
             LEFT JOIN (SELECT account_id, count(*) AS jobs FROM upstream_slots WHERE upstream = $1 GROUP BY account_id) h
                    ON h.account_id = a.account_id
            CROSS JOIN LATERAL (
                  SELECT w.task_id, w.cap FROM upstream_waits w
                   WHERE w.upstream = $1 AND w.account_id = a.account_id
                     AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = w.task_id
                                        AND (t.completed_at IS NOT NULL OR t.deadline_at <= now()))
                     AND NOT EXISTS (SELECT 1 FROM upstream_slots o WHERE o.task_id = w.task_id AND o.upstream <> $1
                                        AND o.taken_at > now() - make_interval(secs => ${ARRIVES_WITHIN_SECONDS}))
                   ORDER BY w.since, w.task_id LIMIT 1) head
            WHERE s.upstream = $1 AND (s.slots_taken >= s.cap) IS NOT TRUE
            ORDER BY coalesce(h.jobs, 0), a.turn LIMIT 1),
         gone AS (
           DELETE FROM upstream_waits w USING next n WHERE w.upstream = $1 AND w.task_id = n.task_id AND n.has_room
        RETURNING w.task_id, w.account_id),
         slot AS (
           INSERT INTO upstream_slots (upstream, task_id, account_id) SELECT $1, task_id, account_id FROM gone
           ON CONFLICT DO NOTHING RETURNING upstream),
         counted AS (
           UPDATE upstream_states s SET slots_taken = s.slots_taken + 1 FROM slot WHERE s.upstream = slot.upstream),
         turned AS (
           UPDATE upstream_turns a SET turn = nextval('upstream_turn_numbers')
             FROM gone WHERE a.upstream = $1 AND a.account_id = gone.account_id)
         SELECT task_id AS "taskId", account_id AS "accountId" FROM gone`,
};

/** Gives the free slots to the next tasks, up to `MAX_ADMISSIONS`. @returns the tasks that have one now. */
export async function admitWaiting(transaction: Queryable, upstream: string): Promise<readonly Admission[]> {
  const admissions: Admission[] = [];
  while (admissions.length < MAX_ADMISSIONS) {
    const [admission] = await transaction.query<Admission>(admit, [upstream]);
    if (admission === undefined) break;
    admissions.push(admission);
  }
  return admissions;
}

const selectPositions: Statement = {
  name: 'select_upstream_positions',
  text: `SELECT upstream, true AS "hasSlot" FROM upstream_slots WHERE upstream = ANY($2) AND task_id = $1
          UNION ALL
         SELECT upstream, false FROM upstream_waits WHERE upstream = ANY($2) AND task_id = $1`,
};

/** Where a task has a slot, or waits for one: by upstream, whether it has the slot. */
export async function readPositions(
  database: Queryable,
  taskId: TaskId,
  upstreams: readonly string[],
): Promise<Map<string, boolean>> {
  const rows = await database.query<{ upstream: string; hasSlot: boolean }>(selectPositions, [taskId, upstreams]);
  return new Map(rows.map(({ upstream, hasSlot }) => [upstream, hasSlot]));
}

const prune: Statement = {
  name: 'prune_upstream_queue',
  text: `WITH over AS (
           DELETE FROM upstream_waits w USING tasks t
            WHERE w.upstream = $1 AND t.id = w.task_id AND (t.completed_at IS NOT NULL OR t.deadline_at <= now())
        RETURNING w.task_id)
         DELETE FROM upstream_turns a
          WHERE a.upstream = $1
            AND NOT EXISTS (SELECT 1 FROM upstream_waits w
                             WHERE w.upstream = $1 AND w.account_id = a.account_id
                               AND w.task_id NOT IN (SELECT task_id FROM over))
            AND NOT EXISTS (SELECT 1 FROM upstream_slots s WHERE s.upstream = $1 AND s.account_id = a.account_id)`,
};

/** Removes tasks that no longer wait, and the turns of accounts that have nothing there. */
export async function pruneQueue(transaction: Queryable, upstream: string): Promise<void> {
  await transaction.query(prune, [upstream]);
}

const listQueues: Statement = {
  name: 'list_upstream_queues',
  text: `SELECT upstream FROM upstream_turns UNION SELECT upstream FROM upstream_states WHERE slots_taken > 0
          ORDER BY upstream`,
};

/** The upstreams where tasks have slots, or wait, or did a while ago. */
export async function listQueuesOf(database: Queryable): Promise<readonly string[]> {
  const rows = await database.query<{ upstream: string }>(listQueues);
  return rows.map(({ upstream }) => upstream);
}
