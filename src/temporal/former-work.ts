/**
 * Whether Temporal still has work of ours on the task queues under the names that they used to have in every
 * installation.
 */
import type { Client } from '@temporalio/client';
import type { Database, Statement } from '../database/database.ts';
import { TASK_QUEUES, outputOfWorkflow, taskOfWorkflow } from '../domain/workflow-ids.ts';

/** The number of workflows that Temporal lists, and the database looks up, at once. */
const PAGE_SIZE = 1_000;

const QUERY = `ExecutionStatus = 'Running' AND TaskQueue IN ('${TASK_QUEUES.media}', '${TASK_QUEUES.callbacks}')`;

export interface FormerWorkOptions {
  /** Default and maximum: 1,000. */
  readonly pageSize?: number;
  /** Ends the search between two pages. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks for a running workflow of a task or an output that this database has. Passes started by a schedule do not
 * count: `migrate` has ended them. Temporal lists the newest first, so ours may come after the workflows that another
 * installation has under the same old names: only the end of the list shows that nothing is left.
 *
 * @throws what Temporal, the database or the signal throws: the result is then unknown.
 */
export async function hasWorkOnFormerQueues(
  client: Client,
  database: Database,
  { pageSize = PAGE_SIZE, signal }: FormerWorkOptions = {},
): Promise<boolean> {
  let ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query: QUERY, pageSize })) {
    signal?.throwIfAborted();
    ids.push(workflowId);
    if (ids.length < pageSize) continue;
    if (await isAnyOurs(database, ids)) return true;
    ids = [];
  }
  return ids.length > 0 && isAnyOurs(database, ids);
}

async function isAnyOurs(database: Database, workflowIds: readonly string[]): Promise<boolean> {
  const tasks = workflowIds.flatMap((id) => taskOfWorkflow(id) ?? []);
  const outputs = workflowIds.flatMap((id) => outputOfWorkflow(id) ?? []);
  const [row] = await database.query<{ isOurs: boolean }>(selectIsAnyOurs, [tasks, outputs]);
  return row?.isOurs === true;
}

const selectIsAnyOurs: Statement = {
  name: 'select_is_any_workflow_ours',
  text: `SELECT EXISTS (SELECT FROM tasks WHERE id = ANY ($1::text[]))
             OR EXISTS (SELECT FROM outputs WHERE id = ANY ($2::text[])) AS "isOurs"`,
};
