/**
 * The record of providers' webhooks: one row for each task that has not ended, which is only a counter. The content
 * that the provider sent is not stored, because it is not trusted (architecture, "A provider's webhook is a hint").
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

const record: Statement = {
  name: 'record_provider_hook',
  text: `INSERT INTO provider_hooks (task_id, upstream)
         SELECT id, $2 FROM tasks WHERE id = $1 AND completed_at IS NULL
         ON CONFLICT (task_id) DO UPDATE SET received = provider_hooks.received + 1, received_at = now()`,
};

/** Records that a provider has called back. Nothing is recorded for a task that has ended or does not exist. */
export async function recordProviderHook(database: Queryable, taskId: TaskId, upstream: string): Promise<void> {
  await database.query(record, [taskId, upstream]);
}

const selectCalled: Statement = {
  name: 'select_task_of_provider_hook',
  text: 'SELECT definition_hash AS "definitionHash", route FROM tasks WHERE id = $1',
};

/** What determines how the providers of a task call back. */
export interface CalledTask {
  readonly definitionHash: string;
  readonly route: string | null;
}

/** @returns undefined: there is no such task. */
export async function findCalledTask(database: Queryable, taskId: TaskId): Promise<CalledTask | undefined> {
  const [task] = await database.query<CalledTask>(selectCalled, [taskId]);
  return task;
}

const select: Statement = {
  name: 'select_provider_hooks',
  text: 'SELECT task_id AS "taskId", upstream, received FROM provider_hooks WHERE task_id = ANY ($1::text[])',
};

/** How often a provider has called back about a task. */
export interface ProviderHook {
  readonly taskId: TaskId;
  readonly upstream: string;
  readonly received: number;
}

/** Reads the webhooks of some tasks; tasks that have none are omitted. */
export function readProviderHooks(database: Queryable, taskIds: readonly TaskId[]): Promise<readonly ProviderHook[]> {
  return database.query<ProviderHook>(select, [taskIds]);
}

const forget: Statement = { name: 'forget_provider_hook', text: 'DELETE FROM provider_hooks WHERE task_id = $1' };

/** Called when nothing waits for the task's provider any more. */
export async function forgetProviderHook(database: Queryable, taskId: TaskId): Promise<void> {
  await database.query(forget, [taskId]);
}
