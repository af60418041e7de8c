/** The tasks that wait for a provider's job, for handing them over when the worker that waits for them has died. */
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
