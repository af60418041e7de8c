/**
 * How long a stage of a task may take, as SQL over the row `t` of `tasks`. What was generated is paid for: from then
 * on a task waits a day for its turn to be archived (workflows/activity-options.ts), whether no worker has reached it
 * yet or no slot was free, and the limit of its model applies only once its turn has come.
 */

/** How long an archiving activity may wait in its queue for a worker, as in workflows/activity-options.ts. */
const TURN = `interval '1 day'`;

export const STAGE_DEADLINE = `CASE t.status
    WHEN 'queued' THEN t.queue_deadline_at
    WHEN 'handling' THEN greatest(
      t.deadline_at,
      (SELECT g.updated_at + ${TURN} FROM generations g WHERE g.task_id = t.id AND g.state = 'produced'))
    ELSE coalesce(t.archiving_deadline_at, t.updated_at + ${TURN}) END`;
