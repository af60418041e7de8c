/**
 * The tasks that wait for a provider's job, for handing them over when the worker that waits for them has died, or never
 * got the work.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

const PAGE = 500;

const selectWaiting: Statement = {
  name: 'select_waiting_tasks',
  text: `SELECT t.id, t.created_at::text AS "createdAt"
           FROM tasks t JOIN generations g ON g.task_id = t.id
          WHERE t.completed_at IS NULL AND t.status = 'handling' AND g.state = 'submitted'
            AND (t.created_at, t.id) > ($1::timestamptz, $2)
          ORDER BY t.created_at, t.id
          LIMIT ${PAGE}`,
};

interface WaitingTask {
  readonly id: TaskId;
  readonly createdAt: string;
}

/** All of them, oldest first, page by page. */
export async function* listWaitingTasks(database: Queryable): AsyncGenerator<readonly TaskId[]> {
  let last: Pick<WaitingTask, 'createdAt'> & { readonly id: string } = { id: '', createdAt: '-infinity' };
  for (;;) {
    const page = await database.query<WaitingTask>(selectWaiting, [last.createdAt, last.id]);
    if (page.length > 0) yield page.map(({ id }) => id);
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = end;
  }
}

const beginWait: Statement = {
  name: 'record_wait',
  text: `UPDATE generations SET awaited_by = $2
          WHERE task_id = $1 AND awaited_by IS DISTINCT FROM $2 AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'`,
};

/** Records that a worker has begun to wait for the job of a task. Not on disk at once: a crash only has it looked at. */
export async function recordWait(database: Queryable, taskId: TaskId, identity: string): Promise<void> {
  await database.query(beginWait, [taskId, identity]);
}

/** As long as a worker has to begin a wait that it was handed. */
export const BEGINS_WITHIN_MS = 10_000;
/** The maximum number of tasks that are looked at together; others have their turn later, in random order. */
const MAX_UNATTENDED = 20;

const selectUnattended: Statement = {
  name: 'select_unattended_waits',
  text: `SELECT t.id FROM tasks t JOIN generations g ON g.task_id = t.id
          WHERE t.completed_at IS NULL AND t.status = 'handling' AND g.state = 'submitted'
            AND g.updated_at < now() - make_interval(secs => ${BEGINS_WITHIN_MS / 1000})
            AND NOT EXISTS (SELECT 1 FROM worker_processes w WHERE w.id = g.awaited_by)
            AND $1 = (SELECT min(id) FROM worker_processes)
          ORDER BY random() LIMIT ${MAX_UNATTENDED}`,
};

/**
 * Tasks whose job no living worker waits for, as far as is recorded: they may be queued in Temporal, or lost.
 *
 * @param identity of the calling worker. One of all looks for them; to the others there are none.
 */
export async function listUnattendedWaits(database: Queryable, identity: string): Promise<readonly TaskId[]> {
  const rows = await database.query<{ id: TaskId }>(selectUnattended, [identity]);
  return rows.map(({ id }) => id);
}

const selectWorkers: Statement = { name: 'select_workers', text: 'SELECT id FROM worker_processes' };

/** The identities of the workers that run, as far as is known. */
export async function listWorkers(database: Queryable): Promise<ReadonlySet<string>> {
  const rows = await database.query<{ id: string }>(selectWorkers);
  return new Set(rows.map(({ id }) => id));
}
