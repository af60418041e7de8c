/** Whether Temporal still has work of ours on the task queues by the names that they had in every installation. */
import type { Client } from '@temporalio/client';
import type { Database, Statement } from '../database/database.ts';
import { TASK_QUEUES, outputOfWorkflow, taskOfWorkflow } from '../domain/workflow-ids.ts';

/** Workflow ids that the database is asked about at once. */
const BATCH = 200;
/** Where another installation has more than this on its own old names, ours is taken to be over. */
const MOST_LOOKED_AT = 10_000;

const QUERY = `ExecutionStatus = 'Running' AND TaskQueue IN ('${TASK_QUEUES.media}', '${TASK_QUEUES.callbacks}')`;

/**
 * Looks for a running workflow of a task or an output that this database has. Passes that a schedule started do not
 * count: `migrate` has ended them.
 */
export async function hasWorkOnFormerQueues(client: Client, database: Database): Promise<boolean> {
  let ids: string[] = [];
  let lookedAt = 0;
  for await (const { workflowId } of client.workflow.list({ query: QUERY, pageSize: BATCH })) {
    ids.push(workflowId);
    lookedAt++;
    if (ids.length < BATCH) continue;
    if (await isAnyOurs(database, ids)) return true;
    if (lookedAt >= MOST_LOOKED_AT) return false;
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
