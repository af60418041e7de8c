/**
 * The limit on concurrent jobs at an upstream, across all workers: a slot is a row for the task that has it, so a
 * worker that dies loses none, and the worker that takes the task over finds it taken. A cap is checked against the
 * count in addition to the rows, because an update sees the newest version of one row, and a count over rows would not.
 * The order in which tasks wait when all are taken is in queue.ts.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Admission } from './queue.ts';

/**
 * A provider may still be notified of a task that has ended (workflows/activity-options.ts: 30 s an attempt); a slot
 * that is taken after that was forgotten.
 */
const FORGOTTEN_SECONDS = 60;

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
 * Takes a free slot for a task, if no task waits (queue.ts); a task that has one keeps it.
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
